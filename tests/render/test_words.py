"""The sentences say what is there, and no more than that."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import piste
from piste.render import trust, words
from piste.result.explanation import Explanation, Target
from piste.result.facts import Agreement, Cost, Fidelity, FitReport, Stopped, r2_text
from tests.render.samples import sample, weighted

RAW = Target(0, "toxic", "raw score", -1.25, None, ("toxic",))


def said(explanation: Explanation) -> str:
    return "\n".join(statement.text for statement in trust.statements(explanation))


def test_decision_names_label_probability_and_score() -> None:
    assert words.decision(sample().target) == "positive, probability 98 %, log-odds +3.90"


def test_a_raw_score_has_no_probability() -> None:
    assert words.decision(RAW) == "toxic, raw score −1.25"
    assert words.alternatives(dataclasses.replace(sample(), target=RAW)) == ""


def test_other_labels_are_named_or_counted() -> None:
    assert words.alternatives(sample()) == "other label: negative"
    many = Target(0, "l0", "log-odds", 1.0, 0.7, tuple(f"l{i}" for i in range(20)))
    assert words.alternatives(dataclasses.replace(sample(), target=many)) == "one of 20 labels"


@pytest.mark.parametrize(
    ("outputs", "labels", "told"),
    [
        ("logits", ["A", "B"], "other label: B"),
        ("label-logits", ["A", "B"], "independent label: B"),
        ("label-logits", ["A", "B", "C"], "independent labels: B, C"),
        ("label-logits", list("ABCDEFGHI"), "one of 9 independent labels"),
        ("raw", ["A", "B"], "other number: B"),
    ],
)
def test_only_labels_that_exclude_each_other_are_alternatives(
    outputs: Any, labels: list[str], told: str
) -> None:
    model = piste.from_function(
        lambda texts: np.ones((len(texts), len(labels))), labels, outputs=outputs
    )
    explanation = piste.explain("good tea", model, target="A")
    assert words.alternatives(explanation) == told
    assert told in str(explanation)
    assert told in explanation.to_html()


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.5, "50 %"),
        (0.9802, "98 %"),
        (0.9949, "99.5 %"),
        (0.99999, "over 99.9 %"),
        (0.031, "3.1 %"),
        (0.0, "under 0.1 %"),
        (1.0, "over 99.9 %"),
    ],
)
def test_percentages_never_claim_certainty(share: float, text: str) -> None:
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.234, "+1.23"),
        (-3.1, "−3.10"),
        (0.0, "0"),
        (0.00025, "+2.5e−4"),
        (-123456.0, "−1.2e5"),
        (float("nan"), "–"),
    ],
)
def test_scores_carry_their_sign(number: float, text: str) -> None:
    assert words.signed(number) == text


def test_what_is_nothing_beside_the_largest_reads_so() -> None:
    assert words.signed(-4.2e-8, largest=2.0) == "0.00"
    assert words.signed(-4.2e-8, largest=1e-7) == "−4.2e−8"
    assert words.signed(0.0021, largest=2.0) == "0.00"
    assert words.signed(0.0021, largest=0.3) == "+0.002"
    assert words.signed(0.0099, largest=9.0) == "+0.01"
    assert words.give_or_take(0.0099, largest=9.0) == "±0.01"
    assert words.give_or_take(7e-5, largest=2.0) == "±0.00"
    assert words.give_or_take(7e-5) == "±7e−5"


def test_fidelity_is_said_in_plain_words() -> None:
    assert said(sample()).startswith(
        "Fidelity: good. R² 0.81 on 90 new short sequences (typical error 0.5)."
    )


def test_low_fidelity_is_a_warning() -> None:
    poor = sample(fidelity=Fidelity({"short": Agreement(0.4999, 1.0, 90)}))
    warnings = [statement for statement in trust.statements(poor) if statement.warning]
    assert len(warnings) == 1
    assert warnings[0].text.startswith("These scores don't hold")
    assert "--method context" in warnings[0].text
    assert "R² 0.49" in said(poor)
    assert "poor" in trust.headline(poor)


def test_an_r2_is_rounded_down_and_1_is_only_1() -> None:
    shown = {
        1.0: "1.00",
        0.9999999: "above 0.99",
        1 - 1e-15: "above 0.99",
        0.9951: "above 0.99",
        0.994: "0.99",
    }
    shown |= {0.499: "0.49", 0.29: "0.29", -0.042: "−0.05", -11.0: "below −10"}
    assert {r2: r2_text(r2) for r2 in shown} == shown
    assert r2_text(0.9973, 4) == "0.9973"
    assert r2_text(0.9999999, 4) == "above 0.9999"
    assert r2_text(0.9999999, above="> ") == "> 0.99"


def test_no_r2_is_explained() -> None:
    few = sample(fidelity=Fidelity({"short": Agreement(None, 0.01, 1)}))
    assert "1 new short sequence is too few for an R²" in said(few)
    flat = sample(fidelity=Fidelity({"short": Agreement(None, 0.01, 9)}))
    assert "The model's log-odds hardly change on 9 new short sequences" in said(flat)
    assert not any(statement.warning for statement in trust.statements(flat))
    assert "unknown" in trust.headline(flat)


def test_missing_fidelity_is_said() -> None:
    assert "not measured" in said(sample(fidelity=None))
    assert "not measured" in trust.headline(sample(fidelity=None))


def test_an_unknown_kind_of_check_is_named() -> None:
    assert "new sequences (swaps)" in said(
        sample(fidelity=Fidelity({"swaps": Agreement(0.9, 0.1, 7)}))
    )


def test_the_fit_is_mentioned_only_when_it_failed() -> None:
    assert "converge" not in said(sample())
    assert "did not converge in 50 steps" in said(sample(fit=FitReport(False, 50, 1.0)))


def test_whole_text_special_tokens_and_notes() -> None:
    text = said(sample(notes=("Cut at 512 tokens.",)))
    assert "predicts log-odds +3.60 for the full text; the model says +3.90" in text
    assert "18 % of the weight lies on the model's special tokens" in text
    assert "Cut at 512 tokens." in text


def test_what_is_not_there_is_not_said() -> None:
    assert "special tokens" not in said(weighted())
    assert "full text" not in said(weighted())


def test_cost_and_facts() -> None:
    assert words.cost(sample()) == (
        "70 forward passes of the full text (412 sequences, 2,310 tokens), 0.4 s"
    )
    facts = words.facts(sample())
    assert facts["Settings"] == "budget 400, lengths short"
    assert facts["Seed"] == "0"


@pytest.mark.parametrize(
    ("tokens", "full", "shown"),
    [
        (33, 33, "1 forward pass of the full text (7 sequences, 33 tokens), 0.5 s"),
        (50, 33, "1.5 forward passes of the full text (7 sequences, 50 tokens), 0.5 s"),
        (66_000, 33, "2,000 forward passes of the full text (7 sequences, 66,000 tokens), 0.5 s"),
        (66, None, "7 sequences, 66 tokens, 0.5 s"),  # a file of 0.1
        (0, 0, "7 sequences, 0 tokens, 0.5 s"),
    ],
)
def test_the_cost_in_forward_passes(tokens: int, full: int | None, shown: str) -> None:
    spent = Cost(7, tokens, 0.25, 0.25, full)
    assert words.cost(dataclasses.replace(sample(), cost=spent)) == shown


def test_several_explanations_are_counted_together_in_forward_passes() -> None:
    first, second = (
        dataclasses.replace(sample(), cost=Cost(7, tokens, 0.1, 0.1, full))
        for tokens, full in ((300, 10), (50, 5))
    )
    assert words.asked(first) == "30 forward passes"
    assert words.asked(first, second) == "40 forward passes"
    old = dataclasses.replace(sample(), cost=Cost(1, 300, 0.1, 0.1))
    assert words.asked(old) == "1 sequence"
    assert words.asked(first, old) == "8 sequences"


def test_known_and_unknown_scores_have_a_meaning() -> None:
    assert "speaks for “positive”" in words.meanings(sample())["value"]
    assert "adds to the log-odds" in words.meanings(weighted())["weight"]
    unknown = dataclasses.replace(
        weighted(), scores={"fog": weighted().scores["weight"]}, primary="fog"
    )
    assert "a score of the method lime" in words.meanings(unknown)["fog"]


def test_braces_in_names_are_only_text() -> None:
    odd = Target(0, "{unit}", "log-odds", 1.0, 0.7, ("{unit}",))
    assert "“{unit}”" in words.meanings(sample(target=odd))["value"]


def test_an_explanation_that_says_the_opposite_of_the_model_is_a_warning() -> None:
    found = [s for s in trust.statements(sample(surrogate_score=-0.2)) if "full text" in s.text]
    assert found[0].warning
    assert "log-odds −0.20" in found[0].text
    assert "--method context" in found[0].text


def test_a_budget_that_leaves_nothing_to_check_is_a_warning() -> None:
    unchecked = trust.statements(sample(fidelity=None, budget=20))[0]
    assert unchecked.warning
    assert "larger --budget" in unchecked.text
    short = trust.statements(sample("good", fidelity=None, budget=None))[0]
    assert not short.warning  # nothing can be done about a short text


def test_every_warning_says_what_to_do() -> None:
    cut = "The text has 15,000 tokens, more than the model reads: only 510 were used. Use windows."
    checks = {"short": Agreement(0.2, 1.0, 9), "deletions": Agreement(-2.0, 1.0, 9)}
    unsure = Stopped("budget", 4, 0.1, 3.17, 0.5)
    worst = sample(
        fidelity=Fidelity(checks), surrogate_score=-1.0, stopped=unsure, notes=("An aside.", cut),
        fit=FitReport(False, 50, 1.0),
    )  # fmt: skip
    warnings = [one.text for one in trust.warnings(worst)]
    assert len(warnings) == 6
    acting = [text for text in warnings if "Try " in text or "Use " in text]
    assert len(acting) == 5  # what the full text says follows the advice on it
    assert "An aside." not in warnings


def test_every_kind_of_check_is_rated_by_itself() -> None:
    checks = {"short": Agreement(0.97, 0.1, 20), "deletions": Agreement(-0.04, 0.3, 8)}
    found = trust.statements(sample(fidelity=Fidelity(checks)))
    assert "very good" in found[0].text
    assert "poor" in found[1].text
    assert found[2].warning
