"""The regression, and the sum over every subset."""

import math
from itertools import combinations

import numpy as np
import pytest

from papers.theory.lime_by_subsets import (
    MOST_WORDS,
    Removal,
    every_subset,
    exact_lime,
    kept_means,
    subset_odds,
    weighted_fit,
    weights,
)
from papers.theory.single_layer import UNK
from piste.methods.lime import lime_samples
from tests.papers.theory.small import random_layer, some_ids


def additive(coefficients: np.ndarray):
    return lambda kept: 0.7 + kept @ coefficients


def test_every_subset_has_the_sampler_s_probability():
    kept = every_subset(4)
    assert len(kept) == 15
    odds = subset_odds(kept)
    assert odds.sum() == pytest.approx(1.0)
    drawn = lime_samples(np.random.default_rng(0), 4, 40_001)[1:]  # the first keeps all
    numbers = np.bincount(drawn @ (1 << np.arange(4)), minlength=16)[:15] / len(drawn)
    assert numbers == pytest.approx(odds, abs=0.01)
    with pytest.raises(ValueError, match="too many subsets"):
        every_subset(MOST_WORDS + 1)


def test_weights_are_those_of_the_cosine_distance():
    kept = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    whole = np.ones(4)
    for row, weight in zip(kept[:2], weights(kept, 0.25), strict=False):
        distance = 1 - row @ whole / np.linalg.norm(row) / np.linalg.norm(whole)
        assert weight == pytest.approx(math.exp(-(distance**2) / (2 * 0.25**2)))
    assert weights(kept, math.inf) == pytest.approx(1.0)


def test_the_fit_is_weighted_least_squares_with_a_free_intercept():
    rng = np.random.default_rng(0)
    kept, answers, weight = rng.random((60, 3)) < 0.5, rng.normal(size=60), rng.random(60)
    design = np.column_stack([np.ones(60), kept])
    expected = np.linalg.solve(design.T @ (design * weight[:, None]), design.T @ (weight * answers))
    assert weighted_fit(kept, answers, weight) == pytest.approx(expected[1:])


@pytest.mark.parametrize("bandwidth", [math.inf, 0.25])
def test_an_additive_game_gives_its_weights(bandwidth):
    coefficients = np.array([1.0, -2.0, 0.5, 3.0])
    assert exact_lime(additive(coefficients), 4, bandwidth) == pytest.approx(coefficients)


def test_kept_means_by_hand():
    rng = np.random.default_rng(0)
    table = {subset: rng.normal() for size in range(4) for subset in combinations(range(4), size)}
    means, empty = kept_means(
        lambda kept: np.array([table[tuple(np.flatnonzero(row))] for row in kept]), 4
    )
    assert empty == table[()]
    two_removed = np.mean([table[pair] for pair in table if len(pair) == 2 and 1 in pair])
    assert means[1, 1] == pytest.approx(two_removed)
    assert means[2, 3] == pytest.approx(table[(3,)])
    assert means[3] == pytest.approx(0.0)


def test_removal_replaces_every_occurrence_in_place():
    seen = []

    def model(ids):
        seen.append(ids.numpy())
        return ids[:, 0].double()

    game = Removal(model, np.array([1, 7, 5, 7]))
    assert game.words.tolist() == [5, 7]
    assert game.owner.tolist() == [-1, 1, 0, 1]
    game(np.array([[True, False], [False, True]]))
    assert seen[0].tolist() == [[1, UNK, 5, UNK], [1, 7, UNK, 7]]


def test_many_rows_go_through_in_parts():
    module, ids = random_layer(), some_ids(12)
    game = Removal(module, ids)
    kept = every_subset(12)
    assert game(kept)[-1:] == pytest.approx(game(kept[-1:]), abs=1e-14)
