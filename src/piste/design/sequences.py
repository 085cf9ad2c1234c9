"""Designs: each a `Ragged` of indices, to be read as players or as groups.

Short sequences show what a token is worth alone and against a few others; deletions show what
the model does around the text as it is.
"""

import numpy as np

from piste.ragged import IntArray, Ragged


def singles(count: int) -> Ragged:
    """Every item alone."""
    return Ragged.table(np.arange(count)[:, None])


def short(rng: np.random.Generator, count: int, rows: int, length: int = 3) -> Ragged:
    """Random ordered sequences of `length` distinct items (of all, where there are fewer).

    Rows are cut from random permutations, so that every row is a uniform draw and yet all items
    appear equally often (within one per permutation). No item twice in a row: a sequence is never
    longer than the text its items come from, and so fits the model.
    """
    length = min(length, count)
    cuts = -(-count // length)  # rows out of one permutation
    rounds = -(-rows // cuts)
    orders = rng.permuted(np.tile(np.arange(count), (rounds, 1)), axis=1)
    # The last row of a permutation is filled up from its beginning, whose items differ from it.
    filled = np.concatenate([orders, orders[:, : cuts * length - count]], axis=1)
    return Ragged.table(filled.reshape(-1, length)[:rows])


def subsets(rng: np.random.Generator, sizes: IntArray, count: int) -> Ragged:
    """For each size, a uniform subset of `count` items in their order."""
    ranks = rng.random((len(sizes), count)).argsort(axis=1).argsort(axis=1)
    return Ragged.masked(ranks < np.asarray(sizes)[:, None])


def mixed_sizes(
    rng: np.random.Generator, rows: int, count: int, smallest: float = 0.06
) -> IntArray:
    """Sizes for `subsets`: from the `smallest` share to all but one item, even in the log."""
    shares = np.exp(rng.uniform(np.log(smallest), 0, size=rows))
    return np.clip(np.round(shares * count), 1, max(1, count - 1)).astype(np.int64)


def deletions(
    rng: np.random.Generator, count: int, rows: int, fewest: int = 1, most: int = 5
) -> Ragged:
    """The whole without a random number (`fewest` to `most`, uniform) of its items."""
    deleted = rng.integers(min(fewest, count), min(most, count) + 1, size=rows)
    return subsets(rng, count - deleted, count)


def pairs(first: IntArray, second: IntArray) -> Ragged:
    """Two-item sequences, as SLALOM-Ana asks them."""
    return Ragged.table(np.stack([first, second], axis=1))
