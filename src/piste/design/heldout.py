"""Sequences that a fit has not seen, to check it with."""

import numpy as np

from piste.ragged import Ragged


def unseen(candidates: Ragged, seen: Ragged) -> Ragged:
    """The distinct candidates that are not among the seen rows."""
    known = set(_keys(seen))
    fresh = []
    for index, key in enumerate(_keys(candidates)):
        if key not in known:
            known.add(key)
            fresh.append(index)
    return candidates.take(np.array(fresh, dtype=np.int64))


def keep_back(rows: Ragged, rng: np.random.Generator, share: float = 0.2) -> tuple[Ragged, Ragged]:
    """Rows to fit, and a share of the distinct rows of several items kept from them."""
    distinct = unseen(rows, Ragged.of([]))
    longer = np.flatnonzero(distinct.lengths > 1)
    held = distinct.take(np.sort(rng.permutation(longer)[: int(share * len(longer))]))
    known = set(_keys(held))
    rest = [index for index, key in enumerate(_keys(rows)) if key not in known]
    return rows.take(np.array(rest, dtype=np.int64)), held


def _keys(rows: Ragged) -> list[bytes]:
    return [rows.row(index).tobytes() for index in range(len(rows))]
