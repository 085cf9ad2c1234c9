"""What words do together, what would turn the decision, and where the effects start."""

from dataclasses import replace

import pytest

from piste.render import together, trust
from piste.render.terminal import as_text
from piste.result.explanation import Explanation, Target
from piste.result.facts import Agreement, Fidelity
from piste.result.parts import PlayerSet
from tests.render.samples import in_context, sample

RAW = Target(0, "stars", "raw score", -1.25, None, ("stars",))


def texts(explanation: Explanation) -> list[str]:
    return [link.text for link in together.links(explanation)]


def said(explanation: Explanation) -> str:
    return "\n".join(statement.text for statement in trust.statements(explanation))


def test_planted_interactions_are_told_strongest_first() -> None:
    first, second, third = texts(in_context())[:3]
    assert first.startswith("“good” speaks for yes only without “not”: ")
    assert second.startswith("“how” and “many” reinforce each other: ")
    assert third.startswith("“great” and “fine” overlap: ")
    amounts = [link.pair.effect for link in together.links(in_context())[:3]]
    assert amounts == pytest.approx([-5.0, 3.0, -1.5], abs=0.4)
    assert all("±" in text for text in (first, second, third))


def test_what_chance_can_explain_is_not_told() -> None:
    for pair in together.sure_pairs(in_context()):
        assert abs(pair.effect) >= 2 * pair.error


def test_methods_that_know_no_parts_have_nothing_to_tell() -> None:
    assert texts(sample()) == []
    assert together.turning(sample()) == []
    assert together.base(sample()) is None


def test_interactions_that_matter_little_are_not_told() -> None:
    explanation = in_context()
    strongest = abs(explanation.pairs(1)[0].effect)
    loud = explanation.scores["effect"].copy()
    loud[0] = 30 * strongest
    assert texts(explanation)
    assert texts(replace(explanation, scores=explanation.scores | {"effect": loud})) == []


def test_a_number_is_raised_only_with_another_word() -> None:
    explanation = replace(in_context(), target=RAW)
    assert texts(explanation)[0].startswith("“good” raises it only without “not”: ")


def test_punctuation_is_told_where_it_does_much() -> None:
    explanation = in_context("not , good how many")
    told = {link.pair.first for link in together.links(explanation)}
    assert told == {0, 3}  # "not" with "good", "how" with "many"
    comma = replace(explanation.players[0], text="!")  # in the place of "not", which does most
    marked = replace(explanation, players=(comma, *explanation.players[1:]))
    assert texts(marked)[0].startswith("“good” speaks for")
    other = replace(explanation.players[3], text="?!")  # in the place of "how"
    marked = replace(explanation, players=(*explanation.players[:3], other, explanation.players[4]))
    loud = explanation.scores["effect"].copy()
    loud[2] = 3 * max(abs(pair.effect) for pair in explanation.pairs())
    marked = replace(marked, scores=explanation.scores | {"effect": loud})
    assert not any("?!" in text for text in texts(marked))


def test_a_single_word_has_no_other() -> None:
    single = in_context("good")
    assert single.pairs() == []
    assert texts(single) == []
    assert "exact" in said(single)


def test_of_two_texts_it_is_said_which() -> None:
    found = texts(in_context("the meal was not", pair="good indeed"))
    assert found[0].startswith("“good” (text 2) speaks for no only with “not” (text 1): ")


def test_equal_words_are_told_apart_by_their_place() -> None:
    twice = in_context("great meal and great wine")
    assert together.named(twice, 0) == "“great” (1st)"
    assert together.named(twice, 3) == "“great” (2nd)"
    assert together.named(twice, 1) == "“meal”"


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")]
)
def test_places_are_counted_in_english(number: int, text: str) -> None:
    assert together.ordinal(number) == text


def test_what_would_turn_it_is_told_with_the_models_own_answer() -> None:
    players = [player.text for player in in_context().players]
    gone, kept = players.index("not"), players.index("good")
    flip = PlayerSet((gone,), -2.0, 0.1, -2.25, "no")
    core = PlayerSet((gone, kept), 3.0, 0.1, 3.5, "yes")
    found = together.turning(replace(in_context(), flip=flip, core=core))
    assert found == [
        "Without “not” it would say no (verified: −2.25).",
        "“not” and “good” alone are enough for yes (verified: +3.50).",
    ]
    other = replace(core, players=(kept,), label="no")
    assert together.turning(replace(in_context(), flip=None, core=other)) == [
        "“good” alone is enough for no, the model's answer (verified: yes scores +3.50)."
    ]


def test_the_sets_of_a_real_explanation_are_told() -> None:
    explanation = in_context()
    assert explanation.flip is not None
    found = together.turning(explanation)
    assert found[0].startswith("Without “")
    assert f"it would say {explanation.flip.label} (verified: " in found[0]


def test_the_base_leads_to_the_score() -> None:
    explanation = in_context()
    assert explanation.base is not None
    total = explanation.base + float(explanation.scores["effect"].sum())
    assert total == pytest.approx(explanation.target.score, abs=1e-6)
    found = together.base(explanation)
    assert found is not None
    assert found.startswith("The empty text scores ")
    assert found.endswith(f"the effects of all words lead from there to +{total:.2f}.")
    pair = together.base(in_context("the meal was not", pair="good indeed"))
    assert pair is not None
    assert pair.startswith("The empty texts score ")


def test_fidelity_is_one_number_on_parts_of_the_text() -> None:
    good = replace(in_context(), fidelity=Fidelity({"parts": Agreement(0.973, 0.25, 80)}))
    assert said(good).startswith(
        "Fidelity: very good. R² 0.97 on 80 held-out parts of this text (typical error 0.25)."
    )
    assert trust.headline(good) == "Fidelity: very good (R² 0.97 on held-out parts of this text)"
    assert trust.warnings(good) == []


@pytest.mark.parametrize(
    ("effort", "remedy"),
    [("normal", "--effort thorough"), ("quick", 'effort="thorough"'), ("thorough", "--budget")],
)
def test_low_fidelity_says_what_to_do(effort: str, remedy: str) -> None:
    settings = in_context().settings | {"effort": effort}
    fidelity = Fidelity({"parts": Agreement(0.31, 1.0, 80)})
    (warning,) = trust.warnings(replace(in_context(), fidelity=fidelity, settings=settings))
    assert warning.text.startswith("Do not rely on this explanation")
    assert "R² 0.31" in warning.text
    assert remedy in warning.text
    assert "piste compare --measure" in warning.text


def test_nothing_is_said_of_sequences_that_slalom_would_ask() -> None:
    found = said(in_context())
    assert "sequences" not in found
    assert "of the weight" not in found
    assert "tolerance" not in found


def test_a_text_of_which_every_part_was_asked_is_exact() -> None:
    few = in_context("not good")
    assert "every part" in said(few)
    assert trust.warnings(few) == []
    assert "known within" not in said(few)
    assert texts(few)[0].startswith("“good” speaks for no only with “not”: ")


def test_a_number_is_never_told_the_opposite() -> None:
    explanation = sample(target=RAW, surrogate_score=0.4)
    assert "opposite" not in said(explanation)
    assert not any("full text" in warning.text for warning in trust.warnings(explanation))


def test_the_terminal_tells_effects_then_pairs_then_what_turns_it() -> None:
    shown = as_text(in_context())
    header = next(line for line in shown.splitlines() if "importance" in line)
    assert header.split()[:5] == ["word", "effect", "value", "alone", "importance"]
    assert "lin " not in shown
    assert "±0 " not in shown
    told = ("Without “", "the meal", "importance", "only with", "Fidelity", "Cost")
    in_a_line = " ".join(shown.split())
    places = [in_a_line.index(part) for part in told]
    assert places == sorted(places)
    poor = as_text(
        replace(in_context(), fidelity=Fidelity({"parts": Agreement(0.2, 1.0, 80)}))
    ).splitlines()
    assert poor[0].startswith("! Warning: Do not rely on this explanation")
