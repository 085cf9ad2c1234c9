"""Shapley values and interactions of SLALOM's prediction on parts of a text.

SLALOM is a ratio of sums, so what players do in company follows from a few running sums; the
average over company is exact for short texts, and sampled (in antithetic pairs) for longer ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from piste.arrays import BoolArray, FloatArray, IntArray
from piste.result.formula import Formula
from piste.result.parts import NEAR
from piste.surrogates.shapley import (
    EXACT_SHAPLEY,
    all_coalitions,
    exact_shapley,
    part_interactions,
)

STEPS = 100_000  # length of all sampled orders together: their error is a tenth of the effects'
COMPANIES, PAIRS = 48, 500_000  # sampled parts, at least, and pairs in all of them together


def mean_shapley(
    formula: Formula, groups: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Shapley values [players] of the parts' game that the formula plays, and their variances.

    These are 0 for short texts, and otherwise what sampling leaves open.
    """
    players = len(formula.values)
    if players <= EXACT_SHAPLEY:
        member = all_coalitions(players)
        exact = exact_shapley(member, formula.scores(member))
        return exact, np.zeros_like(exact)
    pairs = max(2, STEPS // (2 * players))
    order = rng.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    gains = np.zeros((2, pairs, players))
    for gained, path in zip(gains, (order, order[:, ::-1]), strict=True):
        np.put_along_axis(gained, path, _gains(formula, path), axis=1)
    drawn = _shared(gains.mean(axis=0), groups)
    return drawn.mean(axis=0), drawn.var(axis=0, ddof=1) / pairs


def _shared(gains: FloatArray, groups: IntArray) -> FloatArray:
    """Equal players are interchangeable: their mean is the better estimate of each."""
    order = np.argsort(groups, kind="stable")
    _, first, which, size = np.unique(
        groups[order], return_index=True, return_inverse=True, return_counts=True
    )
    means = np.add.reduceat(gains[:, order], first, axis=1) / size
    shared = np.empty_like(gains)
    shared[:, order] = means[:, which]
    return shared


def _gains(formula: Formula, path: IntArray) -> FloatArray:
    """What each player adds when the players enter in the order of each row [rows, players]."""
    weights, frame_weight, frame_value = formula.weights()
    weight = frame_weight + np.cumsum(weights[path], axis=1)
    worth = frame_weight * frame_value + np.cumsum((weights * formula.values)[path], axis=1)
    sizes = np.arange(1, path.shape[1] + 1)
    empty = formula.scores(np.zeros((1, path.shape[1]), dtype=bool))[0]
    return np.diff(formula.ratio(sizes, weight, worth), prepend=empty, axis=1)


def mean_interactions(
    formula: Formula, chosen: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Interactions of the chosen players near the text [chosen, chosen], and their variances.

    These are 0 for short texts, and otherwise what sampling leaves open.
    """
    players = len(formula.values)
    if players <= EXACT_SHAPLEY:
        member = all_coalitions(players)
        exact = part_interactions(member, formula.scores(member), chosen)
        return exact, np.zeros_like(exact)
    companies = max(COMPANIES, PAIRS // players**2)
    shares = NEAR + (1 - NEAR) * (np.arange(companies) + 0.5) / companies  # all alike
    total = np.zeros((len(chosen), len(chosen)))
    squares = np.zeros_like(total)
    for kept in rng.random((companies, players)) < shares[:, None]:
        differences = _second_differences(formula, kept, chosen)
        np.fill_diagonal(differences, 0.0)
        total += differences
        squares += differences**2
    mean = total / companies
    return mean, np.maximum(squares / companies - mean**2, 0.0) / companies


def _second_differences(formula: Formula, kept: BoolArray, chosen: IntArray) -> FloatArray:
    """f(S + i + j) - f(S + i) - f(S + j) + f(S) for all pairs; S is `kept` without the two."""
    weights, frame_weight, frame_value = formula.weights()
    worths = weights * formula.values
    inside, w, v = kept[chosen].astype(np.int64), weights[chosen], worths[chosen]
    others = kept.copy()
    others[chosen] = False
    size = int(kept.sum()) - _outer_sum(inside)
    weight = frame_weight + weights @ others + _without_two(inside * w)
    worth = frame_weight * frame_value + worths @ others + _without_two(inside * v)
    together = formula.ratio(size + 2, weight + _outer_sum(w), worth + _outer_sum(v))
    first = formula.ratio(size + 1, weight + w[:, None], worth + v[:, None])
    return together - first - first.T + formula.ratio(size, weight, worth)


def _without_two(numbers: FloatArray) -> FloatArray:
    """The sum of all numbers but two, for every two of them [numbers, numbers].

    The largest number is never subtracted: beside it the others would be lost in rounding.
    """
    second, first = np.argsort(np.abs(numbers), kind="stable")[-2:]
    without_first = np.where(np.arange(len(numbers)) == first, 0.0, numbers)
    rest = np.where(np.arange(len(numbers)) == second, 0.0, without_first)
    sums = rest.sum() + numbers[second] - _outer_sum(without_first) + numbers[first]
    beside_first = rest.sum() - rest + numbers[second]
    beside_first[second] = rest.sum()
    sums[first] = sums[:, first] = beside_first
    return np.asarray(sums)


def _outer_sum(numbers: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(numbers[:, None] + numbers[None])
