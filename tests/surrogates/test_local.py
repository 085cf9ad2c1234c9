import numpy as np
import pytest

from piste.surrogates.slalom.local import fit_local

PLAYERS = 30


def removals(rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    alone = np.eye(PLAYERS)
    return np.vstack([alone, (rng.random((rows, PLAYERS)) < 0.1).astype(float)])


def test_planted_effects_are_found():
    effects = np.random.default_rng(1).normal(size=PLAYERS)
    removed = removals(30)
    local = fit_local(removed, np.zeros(len(removed)), removed @ effects)
    assert local.effects == pytest.approx(effects, abs=0.5)
    assert np.corrcoef(local.effects, effects)[0, 1] > 0.98
    assert local.scale == 0


def test_a_surrogate_that_is_right_up_to_its_scale_needs_no_effects():
    removed = removals(10)
    predicted = np.random.default_rng(2).normal(size=len(removed))
    local = fit_local(removed, predicted, 0.3 * predicted)
    assert local.scale == pytest.approx(0.3)
    assert np.abs(local.effects).max() < 1e-9
    assert local.change(removed, predicted) == pytest.approx(0.3 * predicted)


def test_a_surrogate_that_points_the_wrong_way_is_not_used():
    removed = removals(10)
    predicted = removed.sum(axis=1)
    local = fit_local(removed, predicted, -predicted)
    assert local.scale == 0


def test_errors_are_smaller_for_players_removed_more_often():
    removed = removals(40)
    rng = np.random.default_rng(3)
    true = removed @ rng.normal(size=PLAYERS) + 0.3 * rng.normal(size=len(removed))
    local = fit_local(removed, np.zeros(len(removed)), true)
    times = removed.sum(axis=0)
    often, seldom = local.errors[times >= 6].mean(), local.errors[times <= 4].mean()
    assert often < seldom


def test_ninety_per_cent_intervals_of_noisy_effects_hold_the_truth():
    inside = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        effects = rng.normal(size=PLAYERS)
        removed = removals(30, seed)
        noise = np.sqrt(0.2) * rng.normal(size=len(removed))
        local = fit_local(removed, np.zeros(len(removed)), removed @ effects + noise)
        inside.append(np.abs(local.effects - effects) <= 1.645 * local.errors)
    assert 0.85 <= np.mean(inside) <= 0.95
