"""The summary of a run of which everything is known: words, pairs, classes, example texts."""

import json
from dataclasses import replace

import numpy as np
import pytest

import piste
from piste.runs.excerpts import AROUND, LONGEST, Picks, Place
from piste.runs.word_summary import SPURIOUS_TEXTS
from tests.runs.planted_run import PlantedText, effects_of, write_run

TASTE = {"good": 2.0, "bad": -2.0, "vegas": 1.5}


def review(words, label, target=None, **more):
    """A text whose scores follow the taste; they speak for the predicted class."""
    total = sum(TASTE.get(word, 0.0) for word in words)
    target = target or ("positive" if total > 0 else "negative")
    sign = 1.0 if target == "positive" else -1.0
    effects = effects_of(words, TASTE, sign)
    return PlantedText(words, effects, target, label, sign * total, importance=1.0, **more)


def reviews():
    """Half of each label; "vegas" is in as many of both, and turns four of the bad ones."""
    texts = []
    for index in range(60):
        word, label = ("good", "positive") if index % 2 else ("bad", "negative")
        words = ["a", word, "place", "."]
        if index % 4 < 2:
            words.insert(1, "vegas")
        if index < 16 and label == "negative" and "vegas" in words:
            words[words.index("bad")] = "dull"  # "vegas" alone decides: wrongly
        texts.append(review(words, label))
    return texts


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return piste.summarise(write_run(tmp_path_factory.mktemp("run"), reviews()))


def named(summary, word):
    return next(one for one in summary.words if one.word == word)


def test_words_have_the_planted_means(found):
    assert {word.word for word in found.strongest()[:3]} == {"good", "bad", "vegas"}
    assert named(found, "good").effect == pytest.approx(2.0)
    assert named(found, "bad").effect == pytest.approx(-2.0)  # told for "positive"
    assert named(found, "bad").texts == 26
    assert found.right == pytest.approx(56 / 60)


def test_a_spurious_word_needs_so_many_labelled_texts(found, tmp_path):
    assert named(found, "vegas").labelled == 30 >= SPURIOUS_TEXTS
    assert [word.word for word in found.spurious()] == ["vegas"]
    few = [text for text in reviews() if "vegas" in text.words][: SPURIOUS_TEXTS - 2]
    without = [text for text in reviews() if "vegas" not in text.words]
    summary = piste.summarise(write_run(tmp_path / "few", [*few, *without]))
    assert named(summary, "vegas").labelled == SPURIOUS_TEXTS - 2
    assert summary.spurious() == []


def test_a_word_that_hardly_moves_the_score_is_no_candidate(found):
    vegas = named(found, "vegas")
    others = tuple(word for word in found.words if word is not vegas)
    faint = replace(vegas, effect=0.05 * named(found, "good").effect, effect_error=0.001)
    assert replace(found, words=(*others, faint)).spurious() == []
    assert replace(found, words=(*others, vegas)).spurious() == [vegas]


def test_every_listed_word_shows_texts_that_hold_it(found):
    for word in found.listed():
        assert word.examples
        for excerpt in word.examples:
            assert [text.strip() for text, _, marked in excerpt.pieces if marked] == [word.word]
    wrong = [e for e in named(found, "vegas").examples if e.label != e.predicted]
    assert {excerpt.predicted for excerpt in wrong} == {"positive"}
    assert {excerpt.id for excerpt in wrong} <= {"t0", "t4", "t8", "t12"}
    assert len(wrong) == 2


def test_scores_of_excerpts_speak_for_the_last_label(found):
    (piece,) = [p for p in named(found, "bad").examples[0].pieces if p[2]]
    assert piece[1] == pytest.approx(-2.0)


def test_classes_and_mistakes_are_counted(found):
    negative, positive = found.classes
    assert (negative.predicted, negative.labelled, negative.right) == (26, 30, 26)
    assert (positive.predicted, positive.labelled, positive.right) == (34, 30, 30)
    assert negative.precision == 1.0
    assert positive.precision == pytest.approx(30 / 34)
    assert negative.recall == pytest.approx(26 / 30)
    (mistakes,) = found.mistakes
    assert (mistakes.label, mistakes.predicted, mistakes.texts) == ("negative", "positive", 4)
    assert mistakes.words == [("vegas", 4)]
    assert [e.id for e in mistakes.examples] == ["t0", "t4", "t8", "t12"]
    assert all(excerpt.predicted == "negative" for excerpt in negative.examples)


def test_everything_is_plain_data(found):
    told = json.loads(found.to_json())
    assert {word["word"] for word in told["words"]} == {word.word for word in found.words}
    assert told["mistakes"][0]["words"] == [["vegas", 4]]
    assert told["classes"][1]["examples"][0]["predicted"] == "positive"


def paired():
    """Twelve texts with "not good", of which four list it; others hold both the other way round."""
    listed = [PlantedText(["not", "good"], [0, 1], pairs=[(0, 1, -2.0)])] * 4
    weaker = [PlantedText(["not", "x", "good", "y"], [0, 0, 1, 0], pairs=[(1, 3, 5.0)])] * 8
    turned = [PlantedText(["good", "not"], [1, 0], pairs=[(0, 1, 0.5)])] * 2
    unknown = [PlantedText(["not", "good"], [0, 1], pairs=None)] * 6
    against = [PlantedText(["no", "fun"], [0, 1], "negative", pairs=[(0, 1, 3.0)])] * 2
    return [*listed, *weaker, *turned, *unknown, *against]


def test_pairs_are_means_over_all_texts_with_both_words(tmp_path):
    summary = piste.summarise(write_run(tmp_path, paired()))
    by_words = {(pair.first, pair.second): pair for pair in summary.pairs}
    pair = by_words["not", "good"]
    assert (pair.texts, pair.listed) == (12, 4)
    assert pair.effect == pytest.approx(-2.0 * 4 / 12)
    assert pair.listed_effect == pytest.approx(-2.0)
    spread = np.std([-2.0] * 4 + [0.0] * 8, ddof=1) / np.sqrt(12)
    assert pair.error == pytest.approx(spread)
    assert (by_words["good", "not"].texts, by_words["good", "not"].listed) == (2, 2)
    assert by_words["no", "fun"].effect == pytest.approx(-3.0)  # told for "positive"
    assert summary.pairs[0].strength == max(pair.strength for pair in summary.pairs)


def many_pairs():
    """Thirty texts: one pair in four of them, one in two, one of punctuation, which is weak."""
    often = [PlantedText(["not", "good"], [0, 1], pairs=[(0, 1, -2.0)])] * 4
    twice = [PlantedText(["so", "bad"], [0, 1], pairs=[(0, 1, -3.0)])] * 2
    marks = [PlantedText(["well", ","], [0, 1], pairs=[(0, 1, -0.5)])] * 4
    return [*often, *twice, *marks, *[PlantedText(["x"], [0.5])] * 20]


def test_pairs_of_few_texts_are_said_to_be_and_those_of_punctuation_are_left_out(tmp_path):
    summary = piste.summarise(write_run(tmp_path, many_pairs()))
    assert summary.least_listed == 3
    assert [pair.first for pair in summary.together()] == ["not"]
    assert {pair.first for pair in summary.together(1)} == {"not", "so"}
    shown = " ".join(str(summary).split())
    assert "not + good" in shown
    assert "well + ," not in shown
    rare = "1 of 2 pairs is among the strongest of fewer than 3 texts: it is shown last"
    assert f"; {rare}, and says little about other texts" in shown
    assert shown.index("not + good") < shown.index("so + bad")
    assert rare in summary.to_html()


def test_strong_punctuation_stays(tmp_path):
    loud = [PlantedText(["fine", "!"], [0, 1], pairs=[(0, 1, -1.6)])] * 4
    summary = piste.summarise(write_run(tmp_path, [*many_pairs(), *loud]))
    assert {pair.first for pair in summary.together(3)} == {"not", "fine"}


@pytest.mark.parametrize(("texts", "least"), [(1, 1), (19, 1), (20, 2), (49, 4), (50, 5), (900, 5)])
def test_means_need_a_tenth_of_a_small_run_and_five_texts_of_a_large_one(found, texts, least):
    assert replace(found, texts=texts).least == least


def test_words_in_few_texts_are_left_out_and_counted(found):
    rare = replace(named(found, "good"), word="rare", texts=4, wrong=0)
    summary = replace(found, words=[*found.words, rare])
    counted = sum(word.texts < 5 for word in summary.words)
    left_out = f"{counted} of {len(summary.words)} words are in fewer than 5 texts and are left out"
    assert f"; {left_out}: their means say little" in " ".join(str(summary).split())
    assert f"{left_out}: their means say little." in summary.to_html()
    assert "rare" not in str(summary)


def test_the_lift_has_an_error_and_needs_texts(found):
    shown = {line.split()[0]: line for line in str(summary_of_two(found)).splitlines() if line}
    error = 100 * np.sqrt(0.25 / 30)
    assert f"+50 ±{error:.0f}" in shown["good"]
    assert "+50" not in shown["seldom"]


def summary_of_two(found):
    good = named(found, "good")
    return replace(found, words=[good, replace(good, word="seldom", texts=9, labelled=4)])


def test_examples_of_a_pair_mark_both_words(tmp_path):
    summary = piste.summarise(write_run(tmp_path, paired()))
    pair = next(one for one in summary.together(1) if (one.first, one.second) == ("x", "y"))
    (excerpt, *_) = pair.examples
    assert [text.strip() for text, _, marked in excerpt.pieces if marked] == ["x", "y"]
    assert "".join(text for text, _, _ in excerpt.pieces) == "not x good y"


def test_excerpts_are_put_together_as_they_stood(tmp_path):
    words = [*(f"w{n}" for n in range(30)), "key", ",", "then", *(f"v{n}" for n in range(30))]
    text = PlantedText(words, [float(word == "key") for word in words])
    summary = piste.summarise(write_run(tmp_path, [text]))
    (excerpt,) = named(summary, "key").examples
    shown = "".join(text for text, _, _ in excerpt.pieces)
    assert "w28 w29 key, then v0" in shown
    assert shown.startswith("… w")
    assert shown.endswith(" …")
    assert len(shown.split()) == 2 * AROUND + 1 + 1  # the comma stands with its word; two gaps


def test_two_texts_and_a_word_without_end(tmp_path):
    endless = "x" * 5000
    text = PlantedText(["a", "b", "c", endless], [1, 0, 0, 1], second=2)
    summary = piste.summarise(write_run(tmp_path, [text]))
    (excerpt,) = named(summary, endless).examples
    shown = "".join(text for text, _, _ in excerpt.pieces)
    assert shown.startswith("a b ‖ c x")
    assert len(shown) <= len("a b ‖ c ") + LONGEST


def test_a_chosen_class_is_not_taken_for_the_predicted_one(tmp_path):
    texts = [
        PlantedText(["good"], [1.0], "positive", "positive", 2.0),
        PlantedText(["bad"], [-1.0], "positive", "negative", -2.0),
        PlantedText(["bad"], [-1.0], "positive", "positive", -2.0),
    ]
    summary = piste.summarise(write_run(tmp_path / "two", texts, target="positive"))
    assert summary.right == pytest.approx(2 / 3)
    assert summary.mistakes[0].words == [("bad", 1)]  # it speaks for what was predicted
    labels = ("negative", "neutral", "positive")
    summary = piste.summarise(write_run(tmp_path / "three", texts, labels, target="positive"))
    assert summary.right is None
    assert summary.classes == []


def test_more_labels_are_told_one_by_one(tmp_path):
    texts = [
        PlantedText(["how", "many"], [1.0, 2.0], "NUM", "NUM"),
        PlantedText(["how", "far"], [0.5, 1.0], "NUM", "LOC"),
        PlantedText(["how", "come"], [2.0, 1.0], "DESC", "DESC"),
    ]
    summary = piste.summarise(write_run(tmp_path, texts, ("NUM", "LOC", "DESC")))
    effects = {(word.word, word.label): word.effect for word in summary.words}
    assert effects["how", "NUM"] == pytest.approx(0.75)
    assert effects["how", "DESC"] == pytest.approx(2.0)
    assert [word.word for word in summary.strongest("NUM")] == ["many", "far", "how"]
    assert [(m.label, m.predicted, m.words) for m in summary.mistakes] == [
        ("LOC", "NUM", [("far", 1)])
    ]


def test_picks_keep_the_strongest_of_each_side_one_a_text():
    picks = Picks()
    for score, text, position in [(1, 0, 0), (3, 1, 4), (2, 1, 5), (-1, 2, 0), (2.5, 3, 1)]:
        picks.add(score, text, position, decided_wrongly=text == 0)
    assert picks.places(1.0) == [Place(1, (4,)), Place(3, (1,)), Place(2, (0,)), Place(0, (0,))]
    assert picks.places(-1.0)[0] == Place(2, (0,))


def test_a_word_on_one_side_shows_no_other():
    picks = Picks()
    for text in range(5):
        picks.add(1.0 + text, text, 0, decided_wrongly=False)
    assert [place.text for place in picks.places(1.0)] == [4, 3]


def test_a_number_is_neither_right_nor_wrong(tmp_path):
    texts = [PlantedText(["good"], [1.0], target="score", label=label) for label in ("0", "1")]
    summary = piste.summarise(write_run(tmp_path, texts, ["score"]))
    assert (summary.right, summary.strange, summary.mistakes) == (None, (), [])


def test_one_text_of_one_word_is_told_in_the_singular(tmp_path):
    few = piste.summarise(write_run(tmp_path, [review(["good"], "positive")]))
    assert str(few).startswith("1 word of 1 text, ")
