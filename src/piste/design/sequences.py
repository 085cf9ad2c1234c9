"""Designs: each a `Ragged` of indices, to be read as players or as groups.

Short sequences show what a token is worth alone and against a few others; deletions show what
the model does around the text as it is. The last functions keep what a fit is checked with apart
from what it is fitted to. Two sequences are the same to a surrogate that counts groups when they
hold the same groups equally often, in whatever order: such a pair must not be split between fit
and check.
"""

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray, Ragged


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


def portions(rng: np.random.Generator, shares: FloatArray, weights: IntArray) -> Ragged:
    """For each share, random items in their order that weigh that share of all together.

    With tokens as weights, rows of one share are equally long to the model, whatever words they
    hold: it answers them in one batch. No row is empty, and none is the whole.
    """
    return Ragged.masked(weighing(rng, np.round(shares * weights.sum()), weights))


def weighing(rng: np.random.Generator, totals: FloatArray, weights: IntArray) -> BoolArray:
    """For each total, which items to take at random so that they weigh it together [rows, items].

    Items enter in random order if they still fit; where they cannot fill the total, the row stays
    a little lighter. No row is empty, and none is the whole.
    """
    left = np.clip(totals, weights.min(), max(weights.sum() - 1, weights.min()))
    order = rng.random((len(left), len(weights))).argsort(axis=1)
    ordered = weights[order]
    taken = ordered.cumsum(axis=1) <= left[:, None]
    left -= (ordered * taken).sum(axis=1)
    for row in np.flatnonzero(left >= weights.min()):
        for place in np.flatnonzero(~taken[row] & (ordered[row] <= left[row])):
            if ordered[row, place] <= left[row]:
                taken[row, place] = True
                left[row] -= ordered[row, place]
            if left[row] < weights.min():
                break
    keep = np.zeros_like(taken)
    np.put_along_axis(keep, order, taken, axis=1)
    return keep


def mixed_shares(rows: int) -> FloatArray:
    """Shares for `portions`: a fifth of the text and half of it, two to three.

    The two lengths at which the surrogate's scale is told (see `LengthScale`); any
    beginning of them holds both.
    """
    return np.array([0.2, 0.5, 0.5, 0.2, 0.5])[np.arange(rows) % 5]


def check_shares(rows: int) -> FloatArray:
    """Shares for `portions` on which fits are checked: nearly the whole text, or over a half."""
    return np.where(np.arange(rows) % 2 == 0, 0.9, 0.6)


def favoured(rng: np.random.Generator, odds: FloatArray, rows: int, length: int = 3) -> Ragged:
    """Random sequences like `short`, but items enter by their odds [items], all above 0."""
    length = min(length, len(odds))
    # The largest of log odds + Gumbel noise: a draw without replacement, and in random order.
    keys = np.log(odds) + rng.gumbel(size=(rows, len(odds)))
    return Ragged.table(np.argsort(-keys, axis=1)[:, :length])


def deletions(
    rng: np.random.Generator, count: int, rows: int, fewest: int = 1, most: int = 5
) -> Ragged:
    """The whole without a random number (`fewest` to `most`, uniform) of its items."""
    deleted = rng.integers(min(fewest, count), min(most, count) + 1, size=rows)
    return subsets(rng, count - deleted, count)


def pairs(first: IntArray, second: IntArray) -> Ragged:
    """Two-item sequences, as SLALOM-Ana asks them."""
    return Ragged.table(np.stack([first, second], axis=1))


def unseen(candidates: Ragged, seen: Ragged, groups: IntArray) -> Ragged:
    """The candidates that hold other groups than the seen rows, and than each other."""
    known = set(_keys(seen, groups))
    fresh = []
    for index, key in enumerate(_keys(candidates, groups)):
        if key not in known:
            known.add(key)
            fresh.append(index)
    return candidates.take(np.array(fresh, dtype=np.int64))


def keep_back(
    rows: Ragged, groups: IntArray, rng: np.random.Generator, share: float = 0.2
) -> tuple[Ragged, Ragged]:
    """Rows to fit, and a share of the rows of several items (two at least) kept from them."""
    distinct = unseen(rows, Ragged.of([]), groups)
    longer = np.flatnonzero(distinct.lengths > 1)
    count = max(int(share * len(longer)), min(2, len(longer) - 1), 0)
    held = distinct.take(np.sort(rng.permutation(longer)[:count]))
    return apart(rows, held, groups), held


def apart(rows: Ragged, others: Ragged, groups: IntArray) -> Ragged:
    """The rows, repeats included, that hold other groups than each of the others."""
    known = set(_keys(others, groups))
    rest = [index for index, key in enumerate(_keys(rows, groups)) if key not in known]
    return rows.take(np.array(rest, dtype=np.int64))


def _keys(rows: Ragged, groups: IntArray) -> list[bytes]:
    return [np.sort(groups[rows.row(index)]).tobytes() for index in range(len(rows))]
