"""Batches of few shapes for a compiled model.

OpenVINO makes code for every shape (rows, tokens) that it has not seen lately, which takes a small
model longer than the answers. So lengths are rounded up, the rest masked, and many rows cut into
powers of two: all texts of a run then share some hundred shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from piste.arrays import FloatArray, IntArray

STEPS = 8  # lengths from one power of two to the next; short sequences keep theirs
FEW = 8  # rows: fewer are not cut, as every block is a call
WIDEST = 32  # between two lengths: never more is padded than was tried when the model was compiled
TRIED = (1, 5, 30)  # tokens of the sequences that tell whether a model ignores padding
ROUNDING = 1e-5  # of a logit's size: what two orders of adding up may differ by

# The answers [rows, outputs] to ids and mask [rows, tokens].
Ask = Callable[[IntArray, IntArray], FloatArray]


def ignores_padding(ask: Ask, sequences: Iterable[IntArray], limit: int) -> bool:
    """Whether masked padding changes no answer to these sequences [1, tokens] beyond rounding.

    A decoder that reads its last token answers otherwise. limit: as in `answers`.
    """
    return all(_same_when_padded(ask, ids, limit) for ids in sequences)


def _same_when_padded(ask: Ask, ids: IntArray, limit: int) -> bool:
    plainly, tokens = ask(ids, np.ones_like(ids)), ids.shape[1]
    lengths = [max(tokens, min(tokens + more, limit)) for more in (1, WIDEST)]
    try:
        gaps = [np.abs(ask(*with_padding(ids, length)) - plainly).max() for length in lengths]
    except RuntimeError:  # such as a model that counts special tokens
        return False
    return bool(np.all(np.array(gaps) <= rounding(plainly)))


def rounding(logits: FloatArray) -> float:
    """What two orders of adding up may change of logits of this size."""
    return ROUNDING * max(1.0, float(np.abs(logits).max()))


def answers(ask: Ask, ids: IntArray, limit: int) -> FloatArray:
    """What a model that ignores padding answers, in batches of few shapes.

    limit: tokens of the longest sequence that it reads.
    """
    length = rounded(ids.shape[1], limit)
    padded, mask = with_padding(ids, length)
    found = np.concatenate([ask(padded[rows], mask[rows]) for rows in blocks(len(ids))])
    if length > ids.shape[1] and not np.isfinite(found).all():  # is it the model, or the padding?
        return ask(ids, np.ones_like(ids))
    return found


def with_padding(ids: IntArray, length: int) -> tuple[IntArray, IntArray]:
    """The sequences at this length, and a mask, 0 where they are padded.

    With their own last token: there is no model that does not know it.
    """
    more = length - ids.shape[1]
    padded = np.pad(ids, ((0, 0), (0, more)), mode="edge")
    return padded, np.pad(np.ones_like(ids), ((0, 0), (0, more)))


def rounded(tokens: int, limit: int) -> int:
    """A length that others have too, at most an eighth longer, and less than WIDEST."""
    step = min(WIDEST, max(1, (1 << max(tokens, 1).bit_length() - 1) // STEPS))
    return max(tokens, min(-(-tokens // step) * step, limit))


def blocks(rows: int) -> Iterator[slice]:
    """All rows, in blocks of powers of two, the largest first, and at last what is less than FEW.

    Of no rows one empty block.
    """
    start, rest = 0, rows
    while rest >= FEW:
        size = 1 << rest.bit_length() - 1
        yield slice(start, start + size)
        start, rest = start + size, rest - size
    if rest or not rows:
        yield slice(start, rows)
