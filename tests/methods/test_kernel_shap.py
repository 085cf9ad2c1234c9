"""Shapley values: brute force, games with known values, and the shap package."""

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy import stats

import piste
from piste.methods.kernel_shap import (
    KernelShap,
    constrained,
    paired_coalitions,
)
from piste.surrogates.shapley import all_coalitions, exact_shapley
from tests.planted import PlantedSlalom, additive

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the package warns about its own imports
    import shap


def by_permutations(players: int, worth) -> np.ndarray:
    values = np.zeros(players)
    for order in itertools.permutations(range(players)):
        inside: set[int] = set()
        for player in order:
            before = worth(inside)
            inside = inside | {player}
            values[player] += worth(inside) - before
    return values / math.factorial(players)


class PairGame:
    """Effects of players and of pairs: a Shapley value is the own effect + half of each pair's."""

    def __init__(self, players: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.single = rng.normal(size=players)
        self.pair = np.triu(rng.normal(size=(players, players)), 1)

    def __call__(self, kept: np.ndarray) -> np.ndarray:
        inside = np.asarray(kept, dtype=float)
        return inside @ self.single + np.einsum("ri,ij,rj->r", inside, self.pair, inside)

    @property
    def values(self) -> np.ndarray:
        return self.single + (self.pair.sum(axis=0) + self.pair.sum(axis=1)) / 2


def test_exact_values_by_all_permutations():
    game = PairGame(5)
    member = all_coalitions(5)
    found = exact_shapley(member, game(member))
    expected = by_permutations(
        5, lambda inside: float(game(np.array([[i in inside for i in range(5)]]))[0])
    )
    assert found == pytest.approx(expected)
    assert found == pytest.approx(game.values)


def test_all_coalitions_through_least_squares_are_exact_too():
    """With every coalition, weighted by how often it would be drawn, the fit is the definition."""
    game, players = PairGame(6), 6
    member = all_coalitions(players)[1:-1]
    sizes = member.sum(axis=1)
    # each size equally often: repeat a coalition by the inverse of how many have its size
    times = np.array([math.lcm(*[math.comb(players, s) for s in range(1, players)])]) // np.array(
        [math.comb(players, int(size)) for size in sizes]
    )
    rows = np.repeat(member, times, axis=0)
    whole = float(game(np.ones((1, players)))[0])
    values, _ = constrained(rows, game(rows), whole, 0.0)
    assert values == pytest.approx(game.values, abs=1e-6)


def test_coalitions_come_in_pairs_of_every_size():
    kept = paired_coalitions(np.random.default_rng(0), 9, 8000)
    assert (kept[:8000] == ~kept[8000:]).all()
    sizes = np.bincount(kept[:8000].sum(axis=1), minlength=10)
    assert sizes[0] == sizes[9] == 0
    assert sizes[1:9].tolist() == [1000] * 8
    assert stats.chisquare(kept[:8000].sum(axis=0)).pvalue > 1e-4


def test_values_sum_to_the_whole_less_the_baseline():
    game = PairGame(20)
    kept = paired_coalitions(np.random.default_rng(0), 20, 60)
    whole = float(game(np.ones((1, 20)))[0])
    values, _ = constrained(kept, game(kept), whole, 0.5)
    assert values.sum() == pytest.approx(whole - 0.5)


def test_pairs_make_games_of_pairs_exact():
    """Odd and even parts separate in paired samples: interactions of two do not disturb."""
    game = PairGame(15)
    kept = paired_coalitions(np.random.default_rng(1), 15, 100)
    values, _ = constrained(kept, game(kept), float(game(np.ones((1, 15)))[0]), 0.0)
    assert values == pytest.approx(game.values, abs=1e-6)


@pytest.mark.parametrize("power", [2, 3])
def test_errors_say_how_far_other_samples_move_the_values(power):
    """A game of pairs, which pairs make exact, and one of triples, which they do not."""
    rng = np.random.default_rng(0)
    members = rng.integers(0, 20, size=(60, power))
    strength = rng.normal(size=60)

    def game(kept: np.ndarray) -> np.ndarray:
        return (np.asarray(kept) > 0.5)[:, members].all(axis=2) @ strength

    runs = []
    for seed in range(30):
        kept = paired_coalitions(np.random.default_rng(seed), 20, 100)
        runs.append(constrained(kept, game(kept), float(game(np.ones((1, 20)))[0]), 0.0))
    moved = np.mean(np.std([values for values, _ in runs], axis=0))
    told = np.mean([errors for _, errors in runs])
    assert told == pytest.approx(moved, rel=0.25, abs=1e-6)


def known_values(planted: PlantedSlalom) -> np.ndarray:
    """Exact Shapley values of a SLALOM of a few words; nothing counts as 0."""
    member = all_coalitions(len(planted.words))
    texts = [" ".join(w for w, k in zip(planted.words, row, strict=True) if k) for row in member]
    worth = np.array([planted.margin(text) if text else 0.0 for text in texts])
    return exact_shapley(member, worth)


def test_a_text_of_few_words_is_exact():
    planted = PlantedSlalom(8)
    found = piste.explain(
        planted.text, piste.from_function(planted), "kernel-shap", target="positive"
    )
    assert found.scores["shapley"] == pytest.approx(known_values(planted))
    assert found.cost.forwards <= 2**8
    assert "counted as 0" in found.notes[0]


def test_the_weights_of_an_additive_model_are_its_values():
    weights = {f"w{i}": float(i - 9) for i in range(20)}
    text = " ".join(weights)
    found = piste.explain(
        text, piste.from_function(additive(weights)), "kernel-shap", target="positive"
    )
    assert found.scores["shapley"] == pytest.approx(list(weights.values()), abs=1e-6)
    assert found.fidelity.r2 > 0.999


def shap_values(game, players: int, samples: int | str, seed: int = 0) -> np.ndarray:
    np.random.seed(seed)  # noqa: NPY002 - the package draws from the global state
    explainer = shap.KernelExplainer(game, np.zeros((1, players)))
    return explainer.shap_values(
        np.ones((1, players)), nsamples=samples, silent=True, l1_reg=False
    )[0]


def test_the_shap_package_agrees():
    planted = PlantedSlalom(10)

    def game(kept: np.ndarray) -> np.ndarray:
        texts = [" ".join(np.array(planted.words)[row > 0.5]) for row in kept]
        return np.array([planted.margin(text) if text else 0.0 for text in texts])

    theirs = shap_values(game, 10, 2**10)
    assert known_values(planted) == pytest.approx(theirs, abs=1e-6)


def test_at_equal_budget_the_error_is_smaller_than_the_shap_packages():
    """Games of pairs and of triples of 16 players, whose values are known exactly."""
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        pairs = PairGame(16, seed)
        triples = rng.integers(0, 16, size=(40, 3))
        strength = rng.normal(size=40)

        def game(kept, pairs=pairs, triples=triples, strength=strength):
            kept = np.asarray(kept) > 0.5
            return pairs(kept) + kept[:, triples].all(axis=2) @ strength

        member = all_coalitions(16)
        true = exact_shapley(member, game(member))
        kept = paired_coalitions(rng, 16, 120)
        ours, _ = constrained(kept, game(kept), float(game(np.ones((1, 16)))[0]), 0.0)
        theirs = shap_values(game, 16, 242, seed)
        ratios.append(np.linalg.norm(ours - true) / np.linalg.norm(theirs - true))
    assert np.median(ratios) < 1.0


def test_exact_needs_the_budget_for_it():
    planted = PlantedSlalom(8)
    classifier = piste.from_function(planted)
    short = piste.explain(planted.text, classifier, KernelShap(), target="positive", budget=100)
    assert short.cost.forwards <= 100
    assert np.corrcoef(short.scores["shapley"], known_values(planted))[0, 1] > 0.9


def test_an_odd_number_of_pairs_favours_no_size():
    """Player 0 counts in small coalitions only: sizes drawn unevenly would move its value."""
    players, found = 40, []
    for seed in range(150):
        kept = paired_coalitions(np.random.default_rng(seed), players, 50)
        answers = (kept[:, 0] & (kept.sum(axis=1) <= 10)).astype(float)
        found.append(constrained(kept, answers, 0.0, 0.0)[0][0])
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - 0.25) < 3 * error
