"""The answer in one sentence, and the steps from the base to the score."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import piste
from piste.models.protocol import Classifier
from piste.options import WORDS_SHOWN
from piste.render import answer, waterfall
from piste.render.terminal import View, as_text
from piste.render.waterfall_chart import chart
from piste.result.explanation import Explanation
from tests.planted import additive
from tests.render.samples import in_context, sample

REST = "that was seen by us here in town"


def of(text: str, function: Callable[[list[str]], np.ndarray], **more: object) -> Explanation:
    return piste.explain(text, piste.from_function(function, ["no", "yes"]), **more)


def how_many(texts: list[str]) -> np.ndarray:
    """Only both words together say yes."""
    return np.array([4.0 * ({"how", "many"} <= set(text.split())) - 1.0 for text in texts])


def test_words_that_act_together_are_the_reason_together() -> None:
    said = answer.sentence(of("how many people live there", how_many))
    either = ("“how” + “many”", "“many” + “how”")  # their effects differ by rounding
    assert said.startswith(tuple(f"yes (95 %), mainly because of {both}. " for both in either))
    assert "it would say no" in said


def test_a_word_stands_with_the_one_that_it_needs() -> None:
    """“many” has most of the effect, but says what it says only after “how”."""

    def many(texts: list[str]) -> np.ndarray:
        words = [set(text.split()) for text in texts]
        return np.array([("many" in w) + 3.0 * ({"how", "many"} <= w) - 1.0 for w in words])

    said = answer.sentence(of("how many people live there", many))
    assert "mainly because of “how” + “many”." in said


def test_a_punctuation_mark_is_no_partner() -> None:
    def shouted(texts: list[str]) -> np.ndarray:
        return np.array([4.0 * ("good" in text and "!" in text) - 1.0 for text in texts])

    said = answer.sentence(of("good people live there !", shouted))
    assert "+" not in said


def test_words_that_the_model_cannot_tell_apart_are_all_named() -> None:
    found = of(f"good good dull {REST}", additive({"good": 2}))
    first, *others = found.players
    same = replace(found, players=(replace(first, text="qux"), *others))
    assert "mainly because of “qux/good”" in answer.sentence(same)


def test_words_that_only_add_up_are_listed() -> None:
    said = answer.sentence(of(f"good fine dull {REST}", additive({"good": 2, "fine": 1.9})))
    assert "mainly because of “good” and “fine”" in said


def test_one_word_is_enough_where_it_brings_half() -> None:
    said = answer.sentence(of("good fine dull", additive({"good": 4, "fine": 0.5, "dull": -1})))
    assert "mainly because of “good”." in said


def test_no_few_words_are_named_where_many_carry_the_effect() -> None:
    """Twelve equal words: three of them are a quarter of the effect, and not the main reason."""
    words = [f"good{letter}" for letter in "abcdefghijkl"]
    weights = dict.fromkeys(words, 0.5) | {"goodest": 0.8}
    said = answer.sentence(of(" ".join([*words, "goodest"]), additive(weights)))
    assert "mainly because" not in said
    assert "; it rests on many words: the strongest is “goodest” (12 % of the effect in" in said


def test_more_words_are_named_until_they_carry_half() -> None:
    """“good” brings 2 of 4.5: “fine” is named too, though it is not half as strong."""
    weights = {"good": 2.0, "fine": 0.9, "nice": 0.8, "warm": 0.8}
    said = answer.sentence(of(f"good fine nice warm {REST}", additive(weights)))
    assert "mainly because of “good” and “fine”." in said


def test_the_share_is_of_what_all_words_do(demo: Classifier) -> None:
    """What the sentence claims is what the scores say, whatever the text."""
    text = "The plot is thin and the jokes are tired, but the acting is superb and warm and bright."
    for explanation in (piste.explain(text, demo), piste.explain(f"{text} {text}", demo)):
        named = [row.scores["effect"] for row in answer.reasons(explanation)]
        way = 1 if explanation.target.score >= (explanation.base or 0.0) else -1
        rows = explanation.top(len(explanation.players))
        for_it = sum(max(0.0, way * row.scores["effect"]) for row in rows)
        mainly = "mainly because" in answer.sentence(explanation)
        assert not mainly or abs(sum(named)) >= 0.45 * for_it  # chance is left out of the whole


def test_an_answer_that_words_speak_against() -> None:
    text, weights = "a bad film of old", additive({"bad": -1.0})
    lowered = of(text, lambda texts: weights(texts) + 3.0, target="yes")
    said = answer.sentence(lowered)
    assert ", although “bad” speaks against it: the empty text already scores +3.00" in said
    unlikely = of(text, lambda texts: weights(texts) - 1.0, target="yes")
    assert answer.sentence(unlikely).startswith("yes (12 %): “bad” speaks against it.")


def test_the_sentence_has_the_word_at_the_top_of_the_table() -> None:
    """As a reason, or as what speaks for the other side: both go by the same order."""
    said = answer.sentence(of(f"good fine dull {REST}", additive({"good": 3, "dull": -4})))
    assert "“good”" not in said  # it says no, because of “dull”
    mixed = of(f"good fine dull {REST}", additive({"good": 3, "fine": 2.9, "dull": -4}))
    assert mixed.top(1)[0].player.text == "dull"
    said = answer.sentence(mixed)
    assert "mainly because of “good” and “fine”, although “dull” speaks against it." in said
    stars = piste.from_function(
        additive({"good": 3, "fine": 2.9, "dull": -4}), ["stars"], outputs="raw"
    )
    said = answer.sentence(piste.explain(f"good fine dull {REST}", stars))
    assert "raised mainly by “good” and “fine”, although “dull” lowers it." in said
    other = answer.sentence(
        of(f"good fine dull {REST}", additive({"good": 3, "dull": -4}), target="yes")
    )
    assert "“dull” speaks against it" in other
    weaker = answer.sentence(of(f"good dull {REST}", additive({"good": 3, "dull": -2})))
    assert "although" not in weaker


def test_a_stronger_word_for_it_is_told_where_others_speak_against_it() -> None:
    weights = {"good": 3, "dull": -2, "bad": -2}
    said = answer.sentence(of(f"good dull bad {REST}", additive(weights), target="yes"))
    assert "speak against it and “good” for it." in said


def test_a_word_of_two_texts_is_named_with_its_text() -> None:
    def alike(pairs: list[tuple[str, str]]) -> np.ndarray:
        words = [set(first.split()) & set(second.split()) for first, second in pairs]
        return np.array([3.0 * ("sleeps" in same) - 1.0 for same in words])

    def logits(pairs: list[tuple[str, str]]) -> np.ndarray:
        return np.stack([alike(pairs), 0 * alike(pairs), -alike(pairs)], axis=1)

    texts = ("a man sleeps", "nobody here sleeps")
    plain = piste.from_function(alike, ["unlike", "alike"])
    said = answer.sentence(piste.explain(texts[0], plain, pair=texts[1]))
    assert "“sleeps” (text 1) + “sleeps” (text 2)" in said
    labels = ["Entailment", "neutral", "CONTRADICTION"]
    inference = piste.explain(texts[0], piste.from_function(logits, labels), pair=texts[1])
    assert "“sleeps” (premise) + “sleeps” (hypothesis)" in answer.sentence(inference)
    assert "sleeps (hypothesis)" in str(inference)
    assert "(text " not in str(inference)
    page = inference.to_html()
    assert "<small>hypothesis</small>" in page
    assert "<small>text " not in page


def test_punctuation_is_a_reason_only_if_nothing_is_stronger() -> None:
    weights = {"good": 2.0, "!": 1.5, "film": 0.1}
    said = answer.sentence(of("good film ! of old", additive(weights)))
    assert "mainly because of “good”." in said
    said = answer.sentence(of("good film ! of old", additive({**weights, "!": 3.0})))
    assert "mainly because of “!” and “good”." in said


def test_a_number_is_raised_or_lowered() -> None:
    stars = piste.from_function(additive({"good": 2.0, "film": 0.1}), ["stars"], outputs="raw")
    said = answer.sentence(piste.explain("a good film", stars))
    assert said == "stars 2.10, raised mainly by “good”."


def test_weights_have_no_side_and_chance_is_no_reason() -> None:
    scores = {"alpha-avg": np.abs(sample().scores["lin"])}
    attention = sample(scores=scores, primary="alpha-avg", method="attention")
    assert answer.sentence(attention).endswith((" weighs most.", " weigh most."))
    unsure = sample()
    errors = {unsure.primary: np.full(len(unsure.players), 1e3)}
    assert "no single word stands out" in answer.sentence(replace(unsure, errors=errors))


def test_the_steps_lead_from_base_to_score() -> None:
    explanation = in_context()
    steps = waterfall.steps(explanation, most=4)
    assert steps[0].start == explanation.base
    assert steps[-1].end == pytest.approx(explanation.target.score)
    for before, after in pairwise(steps):
        assert before.end == after.start
    strongest = explanation.top(4)
    assert [step.change for step in steps[:4]] == pytest.approx(
        [row.scores["effect"] for row in strongest]
    )
    assert steps[-1].label.endswith(" other words")
    assert len(steps) == 5


@pytest.mark.parametrize("others", [0, 1, 2])
def test_all_surfaces_show_the_same_words(others: int) -> None:
    words = {f"w{chr(97 + place)}": 3.0 - 0.1 * place for place in range(WORDS_SHOWN + others)}
    explanation = of(" ".join(words), additive(words))
    steps = [step.label for step in waterfall.steps(explanation)]
    lines = as_text(explanation, View(brief=True)).split("(empty text)")[1].splitlines()[1:-1]
    # A single other word stands where "1 other word" would.
    named = WORDS_SHOWN + (others if others == 1 else 0)
    assert len(steps) == named + (others > 1)
    assert [line.split("  ")[1] for line in lines] == steps
    drawn = chart(explanation, 600.0)
    assert [bar.label for bar in drawn.bars[1:-1]] == steps
    assert len(explanation.top()) == WORDS_SHOWN


def test_scores_that_do_not_add_up_have_no_steps() -> None:
    assert waterfall.steps(sample()) == []
