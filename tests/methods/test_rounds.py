"""Stop when stable: rounds, tolerance, budget, and asking where the fit is least sure."""

import numpy as np
import pytest

import piste
from piste.errors import SettingError
from piste.methods.slalom.fit import Standing
from piste.render import trust
from tests.planted import PlantedSlalom
from tests.test_explain import REVIEW


def explain(planted: PlantedSlalom, noise: float = 0.0, method="slalom", **options):
    function = planted.noisy(noise) if noise else planted
    return piste.explain(
        planted.text, piste.from_function(function), method, target="positive", **options
    )


def test_exact_answers_are_stable_after_few_rounds():
    explanation = explain(PlantedSlalom(60))
    assert explanation.stopped.reason == "stable"
    assert explanation.stopped.rounds <= 2
    assert explanation.stopped.spread <= 0.05
    assert explanation.stopped.ranking >= 0.95


def test_noisy_answers_end_with_the_usual_budget():
    explanation = explain(PlantedSlalom(60), noise=0.6)
    assert explanation.stopped.reason == "budget"
    assert explanation.stopped.spread > 0.05 or explanation.stopped.ranking < 0.95


def test_a_tolerance_asks_more_until_it_is_met():
    planted = PlantedSlalom(40)
    usual = explain(planted, noise=0.15)
    closer = explain(planted, noise=0.15, tolerance=0.08)
    assert closer.cost.forwards > usual.cost.forwards
    assert closer.stopped.reason == "stable"
    assert closer.stopped.spread <= 0.08
    assert closer.tolerance == 0.08


def test_a_wide_tolerance_asks_less():
    planted = PlantedSlalom(60)
    assert (
        explain(planted, noise=0.3, tolerance=0.9).cost.forwards
        < explain(planted, noise=0.3).cost.forwards
    )


def test_a_tolerance_that_cannot_be_met_ends_at_ten_times_the_usual():
    usual = explain(PlantedSlalom(20), noise=1.0)
    patient = explain(PlantedSlalom(20), noise=1.0, tolerance=0.001)
    assert patient.stopped.reason == "budget"
    assert 3 * usual.cost.forwards < patient.cost.forwards <= 11 * usual.cost.forwards


@pytest.mark.parametrize("words", [2, 5, 20, 60])
def test_small_budgets_never_fail_on_the_way(words):
    for budget in (*range(12, 34, 3), 60):
        explanation = explain(PlantedSlalom(words), budget=budget)
        assert explanation.cost.forwards <= budget
        assert all(np.isfinite(scores).all() for scores in explanation.scores.values())


def test_a_model_that_jumps_between_two_answers():
    """Hardly a row reaches the long lengths, and the fit leaves nothing to tell there."""
    text = " ".join(f"w{index}" for index in range(40))

    def both(texts: list[str]) -> np.ndarray:
        return np.array([4.0 if {"w3", "w9"} <= set(t.split()) else -4.0 for t in texts])

    for seed in range(4):
        found = piste.explain(text, piste.from_function(both), "slalom", budget=25, seed=seed)
        assert np.isfinite(found.scores["lin"]).all()


@pytest.mark.parametrize("budget", [30, 60, 150, 400, 1500])
def test_rounds_never_overspend(budget):
    explanation = explain(PlantedSlalom(30), noise=0.5, budget=budget, tolerance=1e-3)
    assert explanation.cost.forwards <= budget
    assert explanation.stopped is None or explanation.stopped.reason == "budget"


def test_a_text_of_three_words_runs_out_of_questions():
    explanation = explain(PlantedSlalom(3), noise=0.3, tolerance=1e-3)
    assert explanation.stopped.reason == "exhausted"


def test_a_number_of_samples_leaves_nothing_to_decide():
    explanation = explain(PlantedSlalom(10), method=piste.Slalom(samples=200), tolerance=0.1)
    assert explanation.stopped is None
    assert any("tolerance had no effect" in note for note in explanation.notes)


@pytest.mark.parametrize("tolerance", [0, -1, 1.5, "0.1", True, float("nan")])
def test_a_tolerance_is_a_share(tolerance):
    with pytest.raises(SettingError, match="tolerance"):
        explain(PlantedSlalom(3), tolerance=tolerance)


def test_the_rounds_do_not_see_the_checks():
    """Fresh sequences must stay fresh over all rounds."""
    fitted, checked = [], []
    planted = PlantedSlalom(30)
    explanation = explain(planted, noise=0.5)
    from piste.methods import slalom as module

    original = module._checked

    def spy(samples, fit, checks):
        fitted.extend(samples.rows.row(i).tolist() for i in range(len(samples.rows)))
        checked.extend(rows.row(i).tolist() for rows in checks.values() for i in range(len(rows)))
        return original(samples, fit, checks)

    module._checked = spy
    try:
        again = explain(planted, noise=0.5)
    finally:
        module._checked = original
    assert again.cost.forwards == explanation.cost.forwards
    assert not {tuple(sorted(row)) for row in fitted} & {tuple(sorted(row)) for row in checked}


def error_of_the_strongest(planted: PlantedSlalom, adaptive: bool, seed: int) -> float:
    explanation = explain(
        planted,
        noise=0.15,
        method=piste.Slalom(adaptive=adaptive),
        seed=seed,
        tolerance=1e-3,
        budget=500,
    )
    values, importances = planted.truth([player.text for player in explanation.players])
    true = values * np.exp(importances - importances.mean())
    top = np.argsort(-np.abs(true))[:10]
    gap = explanation.scores["lin"][top] - true[top]
    return float(np.sqrt(np.mean(gap**2) / np.mean(true[top] ** 2)))


def test_asking_where_the_fit_is_least_sure_beats_asking_at_random():
    """The same number of answers: the strongest scores come out closer to the planted ones."""
    adaptive, even = (
        np.mean([error_of_the_strongest(PlantedSlalom(80, seed), way, seed) for seed in range(8)])
        for way in (True, False)
    )
    assert adaptive < 0.9 * even


def test_standing_by_hand():
    scores = np.array([5.0, -4.0] + [0.1] * 10)
    draws = np.tile(scores, (10, 1))
    draws[:, 0] += np.linspace(-1, 1, 10)
    standing = Standing(scores, draws)
    low, high = np.quantile(np.linspace(-1, 1, 10), (0.1587, 0.8413))
    top = scores[:10]
    assert standing.spread() == pytest.approx(
        (high - low) / 2 / np.sqrt(10) / np.sqrt(np.mean(top**2))
    )
    assert standing.ranking() == 1.0
    odds = standing.odds()
    assert odds.sum() == pytest.approx(1.0)
    assert odds.argmax() == 0
    assert odds.min() > 0


def test_the_output_says_why_it_stopped(demo):
    explanation = piste.explain(REVIEW, demo, "slalom", tolerance=0.9)
    said = [statement.text for statement in trust.statements(explanation)]
    assert any("Stopped when stable, after 1 round of questions" in text for text in said)
    assert "known within" in explanation.to_html()
