import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from piste.design import (
    deletions,
    favoured,
    mixed_shares,
    pairs,
    portions,
    short,
    singles,
    subsets,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_singles():
    assert [row.tolist() for row in map(singles(3).row, range(3))] == [[0], [1], [2]]


@given(st.integers(1, 40), st.integers(0, 60), st.integers(1, 6), st.integers(0, 99))
def test_short_rows_have_their_length_and_no_repeats(count, rows, length, seed):
    design = short(rng(seed), count, rows, length)
    expected = min(length, count)
    assert (design.lengths == expected).all()
    assert len(design) == rows
    assert all(len(set(design.row(i).tolist())) == expected for i in range(rows))


def test_short_rows_use_all_items_equally_often():
    design = short(rng(), 50, 17 * 12, 3)  # twelve permutations
    times = np.bincount(design.values, minlength=50)
    assert times.min() >= 12
    assert times.max() <= 24


def test_short_rows_are_uniform_draws():
    design = short(rng(), 6, 40_000, 3)
    triples = design.values.reshape(-1, 3)
    code = triples @ np.array([36, 6, 1])
    times = np.unique(code, return_counts=True)[1]
    assert len(times) == 6 * 5 * 4
    # Rows of one permutation depend on each other, which makes the counts more even, not less.
    assert stats.chisquare(times).pvalue > 1e-4


def test_subsets_keep_order_and_are_uniform():
    design = subsets(rng(), np.full(20_000, 2), 5)
    kept = design.values.reshape(-1, 2)
    assert (kept[:, 0] < kept[:, 1]).all()
    times = np.unique(kept, axis=0, return_counts=True)[1]
    assert len(times) == 10
    assert stats.chisquare(times).pvalue > 1e-4


@given(st.lists(st.integers(1, 6), min_size=1, max_size=40), st.integers(0, 99))
def test_portions_weigh_their_share_and_are_neither_empty_nor_the_whole(weights, seed):
    weights = np.array(weights)
    design = portions(rng(seed), mixed_shares(10), weights)
    weighed = np.array([weights[design.row(i)].sum() for i in range(10)])
    wanted = np.clip(np.round(mixed_shares(10) * weights.sum()), weights.min(), None)
    assert (weighed <= wanted).all()
    assert (weighed > wanted - weights.max()).all()  # nothing more would have fitted in
    assert (design.lengths >= 1).all()
    assert len(weights) == 1 or (design.lengths < len(weights)).all()
    assert all((np.diff(design.row(i)) > 0).all() for i in range(10))


def test_portions_of_a_text_with_short_words_are_all_equally_long():
    weights = np.array([1, 1, 1, 2, 1, 3, 1, 2, 1, 1] * 10)
    design = portions(rng(), np.full(40, 0.5), weights)
    assert {int(weights[design.row(i)].sum()) for i in range(40)} == {70}


def test_portions_of_equal_items_are_uniform_subsets():
    design = portions(rng(), np.full(20_000, 0.4), np.ones(5, dtype=np.int64))
    times = np.unique(design.values.reshape(-1, 2), axis=0, return_counts=True)[1]
    assert len(times) == 10
    assert stats.chisquare(times).pvalue > 1e-4


def test_mixed_shares_hold_both_lengths_from_the_beginning():
    assert mixed_shares(2).tolist() == [0.2, 0.5]
    assert np.bincount((mixed_shares(40) == 0.5).astype(int)).tolist() == [16, 24]


def test_favoured_items_enter_first_by_their_odds():
    odds = np.array([0.5, 0.3, 0.15, 0.05])
    design = favoured(rng(), odds, 40_000, 2)
    first = np.bincount(design.values.reshape(-1, 2)[:, 0], minlength=4)
    assert stats.chisquare(first, odds * 40_000).pvalue > 1e-4
    assert (design.values.reshape(-1, 2)[:, 0] != design.values.reshape(-1, 2)[:, 1]).all()


def test_deletions_remove_a_uniform_number_of_uniform_items():
    design = deletions(rng(), 10, 20_000, 1, 4)
    removed = 10 - design.lengths
    assert stats.chisquare(np.bincount(removed)[1:]).pvalue > 1e-4
    assert stats.chisquare(np.bincount(design.values)).pvalue > 1e-4
    assert all((np.diff(design.row(i)) > 0).all() for i in range(100))


def test_deletions_never_ask_for_more_than_there_is():
    assert (deletions(rng(), 3, 200, 1, 50).lengths >= 0).all()


def test_pairs():
    design = pairs(np.array([4, 5]), np.array([0, 1]))
    assert design.row(0).tolist() == [4, 0]
    assert design.row(1).tolist() == [5, 1]


@pytest.mark.parametrize("make", [lambda g: short(g, 9, 20), lambda g: deletions(g, 9, 20)])
def test_same_seed_same_design(make):
    assert (make(rng(3)).values == make(rng(3)).values).all()
    assert not np.array_equal(make(rng(3)).values, make(rng(4)).values)
