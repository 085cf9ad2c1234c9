"""Array types, and `Ragged`: rows of unequal length in two flat arrays.

A design is a `Ragged` of player indices, a request to the model a `Ragged` of token ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ragged"]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Ragged:
    """Row i is `values[starts[i]:starts[i + 1]]`."""

    values: IntArray  # [total]
    starts: IntArray  # [rows + 1]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        listed = list(rows)
        values = np.array([value for row in listed for value in row], dtype=np.int64)
        return cls.packed(values, np.array([len(row) for row in listed], dtype=np.int64))

    @classmethod
    def packed(cls, values: IntArray, lengths: IntArray) -> Ragged:
        """Rows of the given lengths, cut one after the other from `values`."""
        return cls(values.astype(np.int64), np.concatenate([[0], np.cumsum(lengths)]))

    @classmethod
    def table(cls, values: IntArray) -> Ragged:
        """Equal rows, from a matrix [rows, length]."""
        rows, length = values.shape
        return cls(values.reshape(-1).astype(np.int64), np.arange(rows + 1) * length)

    @classmethod
    def masked(cls, keep: NDArray[np.bool_]) -> Ragged:
        """Row i holds the columns where `keep[i]`, in order; `keep` is [rows, columns]."""
        return cls.packed(np.nonzero(keep)[1], keep.sum(axis=1))

    @classmethod
    def concat(cls, parts: Sequence[Ragged]) -> Ragged:
        nothing = np.empty(0, dtype=np.int64)
        values = np.concatenate([nothing, *(part.values for part in parts)])
        return cls.packed(values, np.concatenate([nothing, *(part.lengths for part in parts)]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.starts)

    def row(self, index: int) -> IntArray:
        return self.values[self.starts[index] : self.starts[index + 1]]

    def take(self, rows: IntArray) -> Ragged:
        """The given rows, in the given order."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        # position inside the row, plus where that row begins
        inside = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths)
        return Ragged.packed(
            self.values[np.repeat(self.starts[:-1][rows], lengths) + inside], lengths
        )

    def expand(self, parts: Ragged) -> Ragged:
        """Every value replaced by that row of `parts`: player indices become token ids."""
        pieces = parts.take(self.values)
        return Ragged(pieces.values, pieces.starts[self.starts])
