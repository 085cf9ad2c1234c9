"""Batches of few shapes for a compiled model.

OpenVINO makes code for every shape (rows, tokens) that it has not seen lately, which takes a small
model longer than the answers. So lengths are rounded up, the rest masked, and rows are cut into
powers of two: all texts of a run then share some hundred shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from piste.arrays import FloatArray, IntArray

STEPS = 8  # lengths from one power of two to the next; short sequences keep theirs

# The answers [rows, outputs] to ids and mask [rows, tokens].
Ask = Callable[[IntArray, IntArray], FloatArray]


def answers(ask: Ask, ids: IntArray, limit: int) -> FloatArray:
    """What a model that ignores padding answers, in batches of few shapes.

    limit: tokens of the longest sequence that it reads.
    """
    padded, mask = with_padding(ids, rounded(ids.shape[1], limit))
    return np.concatenate([ask(padded[rows], mask[rows]) for rows in blocks(len(ids))])


def with_padding(ids: IntArray, length: int) -> tuple[IntArray, IntArray]:
    """The sequences at this length, and a mask, 0 where they are padded.

    With their own last token: there is no model that does not know it.
    """
    more = length - ids.shape[1]
    padded = np.pad(ids, ((0, 0), (0, more)), mode="edge")
    return padded, np.pad(np.ones_like(ids), ((0, 0), (0, more)))


def rounded(tokens: int, limit: int) -> int:
    """A length that others have too, at most an eighth longer."""
    step = max(1, (1 << tokens.bit_length() - 1) // STEPS)
    return max(tokens, min(-(-tokens // step) * step, limit))


def blocks(rows: int) -> Iterator[slice]:
    """All rows, in blocks of powers of two, the largest first."""
    start = 0
    while start < rows:
        size = 1 << (rows - start).bit_length() - 1
        yield slice(start, start + size)
        start += size
