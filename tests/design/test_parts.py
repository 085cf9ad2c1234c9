import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from piste.design.parts import (
    alone,
    grouped,
    left_out,
    most_informative,
    paired_parts,
    parts_between,
    spread_out,
    whole_and_empty,
)
from piste.surrogates.context import distinct


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_ends_players_alone_and_left_out():
    assert whole_and_empty(3).astype(int).tolist() == [[1, 1, 1], [0, 0, 0]]
    assert alone(np.array([2, 0]), 3).astype(int).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert left_out(3).astype(int).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_groups_are_equally_large_and_everyone_is_in_as_many(count, size, each, seed):
    first = np.sort(rng(seed).permutation(60)[:count])
    parts = grouped(rng(seed), first, 60, size, each)
    size = min(size, count)
    assert (parts.sum(axis=1) == size).all()
    times = parts.sum(axis=0)
    assert (np.flatnonzero(times) == first).all()
    assert times[first].min() >= each
    assert times.sum() <= each * (count + size - 1)


# Parts at random


@given(st.integers(1, 30), st.integers(1, 80), st.integers(0, 99))
def test_every_part_is_followed_by_its_complement(players, count, seed):
    parts = paired_parts(rng(seed), players, count)
    assert parts.shape == (count, players)
    pairs = count // 2
    assert (parts[1 : 2 * pairs : 2] == ~parts[: 2 * pairs : 2]).all()
    if players > 1:
        assert (parts.any(axis=1) & ~parts.all(axis=1)).all()  # both ends are asked anyway


def test_pairs_are_spread_out():
    """Worked out by hand: the pair that shares most with the known ones comes last."""
    known = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]], dtype=bool)
    even, odd, also = (
        [[1, 1, 0, 0], [0, 0, 1, 1]],
        [[1, 1, 1, 0], [0, 0, 0, 1]],
        [[1, 0, 1, 0], [0, 1, 0, 1]],
    )
    pairs = np.array([*even, *odd, *also], dtype=bool)
    for by_size, order in ((False, [*also, *odd, *even]), (True, [*also, *odd, *even])):
        spread = spread_out(pairs, known, by_size=by_size)
        assert spread.astype(int).tolist() == order
    pairs = np.array([*odd, *even, *also], dtype=bool)
    spread = spread_out(pairs, known, by_size=True)
    assert spread.astype(int).tolist() == [*odd, *also, *even]


@given(st.integers(2, 40), st.integers(1, 60), st.integers(0, 99), st.booleans())
def test_what_is_spread_out_are_the_same_pairs(players, count, seed, by_size):
    pairs = paired_parts(rng(seed), players, 2 * count)
    spread = spread_out(pairs, whole_and_empty(players), by_size=by_size)
    if by_size:
        sizes = [np.abs(parts[::2].sum(axis=1) - players / 2) for parts in (pairs, spread)]
        assert (sizes[0] == sizes[1]).all()
    assert (spread[1::2] == ~spread[::2]).all()
    assert sorted(map(tuple, spread.tolist())) == sorted(map(tuple, pairs.tolist()))


def test_what_is_spread_out_repeats_nothing_before_it_must():
    players, half = 6, 2**5 - 1  # pairs of complements, without both ends
    pairs = paired_parts(rng(), players, 2000)
    assert (
        len(distinct(spread_out(pairs, whole_and_empty(players), by_size=False)[: 2 * half]))
        == 2 * half
    )


@given(st.integers(2, 20), st.integers(1, 5), st.integers(0, 99))
def test_every_size_is_equally_frequent(players, rounds, seed):
    parts = paired_parts(rng(seed), players, 2 * rounds * (players - 1))
    times = np.bincount(parts.sum(axis=1), minlength=players + 1)
    assert times.tolist() == [0, *[2 * rounds] * (players - 1), 0]


def test_parts_of_a_size_are_uniform_draws():
    parts = paired_parts(rng(), 5, 40_000)[::2]
    kept = parts[parts.sum(axis=1) == 2]
    times = np.unique(kept, axis=0, return_counts=True)[1]
    assert len(times) == 10
    assert stats.chisquare(times).pvalue > 1e-4


@given(st.integers(1, 50), st.floats(0, 1), st.floats(0, 1), st.integers(0, 99))
def test_parts_between_keep_a_share_within_the_bounds(players, one, two, seed):
    least, most = sorted((one, two))
    sizes = parts_between(rng(seed), players, 50, least, most).sum(axis=1)
    assert sizes.min() >= max(1, np.floor(least * players))
    assert sizes.max() <= max(1, np.ceil(most * players))


def test_shares_between_are_uniform():
    shares = parts_between(rng(), 1000, 4000, 0.3, 1.0).mean(axis=1)
    assert stats.kstest(shares, stats.uniform(0.3, 0.7).cdf).pvalue > 1e-4


# Without repeats


@given(arrays.arrays(np.bool_, (12, 4)), arrays.arrays(np.bool_, (5, 4)))
def test_distinct_parts_are_all_that_is_new_in_order_and_once(parts, known):
    fresh = [tuple(row) for row in distinct(parts, [known]).tolist()]
    seen = {tuple(row) for row in known.tolist()}
    expected = dict.fromkeys(tuple(row) for row in parts.tolist() if tuple(row) not in seen)
    assert fresh == list(expected)


def test_nothing_is_left_of_parts_that_are_known():
    parts = paired_parts(rng(), 4, 30)
    assert distinct(parts, [parts[:20], parts[20:]]).shape == (0, 4)
    assert len(distinct(paired_parts(rng(), 3, 500))) == 6  # all but the two ends


# Those that teach most


def a_covariance(seed: int, candidates: int, targets: int) -> np.ndarray:
    """Of candidates and targets together, candidates first."""
    draw = rng(seed).normal(size=(candidates + targets, 6))
    return draw @ draw.T + 0.1 * np.eye(candidates + targets)


def taught(full: np.ndarray, asked: list[int], candidates: int, noise: float) -> float:
    """How much less variance the targets have in sum, once these candidates are asked."""
    cross = full[candidates:, asked]
    own = full[np.ix_(asked, asked)] + noise * np.eye(len(asked))
    return float(np.trace(cross @ np.linalg.solve(own, cross.T)))


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 6), st.floats(0.01, 2))
@settings(max_examples=50, deadline=None)
def test_each_choice_lowers_the_variance_most_for_its_cost(seed, candidates, targets, noise):
    """Against conditioning afresh on every candidate in turn."""
    full = a_covariance(seed, candidates, targets)
    costs = rng(seed).uniform(0.5, 3.0, size=candidates)
    chosen = most_informative(full[:, :candidates], noise, costs, np.inf)
    assert sorted(chosen) == list(range(candidates))
    for step, choice in enumerate(chosen):
        before = chosen[:step]
        now = taught(full, before, candidates, noise)
        gains = {
            other: (taught(full, [*before, other], candidates, noise) - now) / costs[other]
            for other in range(candidates)
            if other not in before
        }
        assert gains[choice] >= max(gains.values()) - 1e-8


def test_asking_ends_when_the_budget_is_spent():
    full = a_covariance(0, 10, 5)
    covariance, costs = full[:, :10], np.full(10, 2.0)
    assert len(most_informative(covariance, 0.1, costs, 6.0)) == 3
    assert len(most_informative(covariance, 0.1, costs, 5.0)) == 3  # the last one goes over
    assert most_informative(covariance, 0.1, costs, 0.0) == []
    assert len(most_informative(covariance, 0.1, costs, 1e9)) == 10


def test_a_part_that_is_known_already_teaches_nothing():
    """Twins of a candidate come last, whatever they cost."""
    full = a_covariance(1, 4, 5)
    twins = [0, 1, 2, 3, 0]
    rows = [*twins, *range(4, 9)]
    covariance = full[np.ix_(rows, rows)][:, :5]
    chosen = most_informative(covariance, 1e-6, np.ones(5), np.inf)
    assert {chosen.index(0), chosen.index(4)} & {4}
    with_noise = most_informative(covariance, 1e6, np.ones(5), np.inf)
    assert abs(with_noise.index(0) - with_noise.index(4)) == 1  # unless answers are but noise


def test_what_was_given_is_left_as_it_was():
    covariance = a_covariance(2, 6, 3)[:, :6]
    before = covariance.copy()
    most_informative(covariance, 0.1, np.ones(6), 3.0)
    assert covariance == pytest.approx(before, abs=0)
