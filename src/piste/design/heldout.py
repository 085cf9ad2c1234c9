"""Sequences that a fit has not seen, to check it with.

Two sequences are the same to a surrogate that counts groups when they hold the same groups equally
often, in whatever order: such a pair must not be split between fit and check.
"""

import numpy as np

from piste.arrays import IntArray, Ragged


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
