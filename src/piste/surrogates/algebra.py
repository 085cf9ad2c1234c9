"""The algebra of the fits: dense solves, and products of sparse matrices that share a pattern.

A fit makes hundreds of solves of about a hundred rows, where the checks around scipy's own
functions take longer than the algebra: they come straight from LAPACK. It builds hundreds of
matrices with the entries of the counts. Products of two of them sum over pairs of entries in a
row; the pairs are the same every time, so they are listed once. Rows with many entries are full.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from piste.arrays import FloatArray, IntArray, Ragged
from piste.threads import Switch

LIFTS = (0.0, 1e-14, 1e-11, 1e-8, 1e-5)  # of the mean diagonal
DENSE = 0.01  # of a row's possible pairs; above it BLAS on full matrices is faster


def root(matrix: FloatArray) -> FloatArray:
    """The lower Cholesky factor; rounding that made the matrix indefinite is lifted away."""
    size = float(np.trace(matrix)) / len(matrix)
    for lift in LIFTS:
        lifted = matrix + lift * size * np.eye(len(matrix)) if lift else matrix
        factor, failed = lapack.dpotrf(lifted, lower=1, clean=1)
        if not failed:
            return np.asarray(factor)
    raise np.linalg.LinAlgError("a matrix of the fit is not positive definite")


@functools.cache
def _controller() -> ThreadpoolController:
    """Finding the libraries' thread pools takes milliseconds, and there are many fits."""
    return ThreadpoolController()


def _limited() -> Callable[[], None]:
    restore: Callable[[], None] = (
        _controller().limit(limits=1, user_api="blas").restore_original_limits
    )
    return restore


one_thread = Switch(_limited)  # within it the linear algebra of the whole process has one thread


def solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    """(root root')^-1 right."""
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])


def inverse(factor: FloatArray) -> FloatArray:
    """(root root')^-1. Nothing stands above the diagonal of a root."""
    lower = lapack.dpotri(factor, lower=1)[0]
    full = lower + lower.T
    full[np.diag_indices_from(full)] *= 0.5
    return np.asarray(full)


def solve_lower(factor: FloatArray, right: FloatArray, *, transposed: bool = False) -> FloatArray:
    """root^-1 right, or root'^-1 right."""
    return np.asarray(lapack.dtrtrs(factor, right, lower=1, trans=int(transposed))[0])


def pattern_of(counts: sparse.csr_array) -> Pattern:
    """The entries of a matrix: those of rows with few, and then all of the rows with many."""
    lengths, columns = np.diff(counts.indptr).astype(np.int64), counts.shape[1]
    full = lengths**2 > DENSE * columns**2
    few, many = np.flatnonzero(~full), np.flatnonzero(full)
    inside = np.repeat(~full, lengths)
    row, column = np.repeat(few, lengths[few]), counts.indices[inside].astype(np.int64)
    return Pattern(
        np.append(counts.data[inside], counts[many].toarray().reshape(-1)),
        np.append(row, np.repeat(many, columns)),
        np.append(column, np.tile(np.arange(columns), len(many))),
        counts.shape,
        many,
        _pairs(lengths[few], column, columns),
    )


@dataclass(frozen=True)
class Pattern:
    """Entry k stands at (row[k], column[k]); `data` are the numbers it was made with.

    Of rows with few entries products are summed over pairs of them; the others are full matrices,
    which BLAS multiplies.
    """

    data: FloatArray  # [entries]
    row: IntArray
    column: IntArray
    shape: tuple[int, int]
    many: IntArray  # rows of which all entries are listed, at the end
    pairs: tuple[IntArray, IntArray, IntArray]  # left entry, right entry, cell

    def product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """left' right as a full matrix [columns, columns]."""
        size = self.shape[1]
        first, second, cell = self.pairs
        summed = np.bincount(cell, weights=left[first] * right[second], minlength=size * size)
        full: FloatArray = summed.reshape(size, size).astype(np.float64, copy=False)
        return full + self._block(left).T @ self._block(right)

    def times(self, entries: FloatArray, right: FloatArray) -> FloatArray:
        """M right [rows, outputs]."""
        few = self._few
        summed = _summed(self.row[few], entries[few, None] * right[self.column[few]], self.shape[0])
        summed[self.many] = self._block(entries) @ right
        return summed

    def transposed(self, entries: FloatArray, right: FloatArray) -> FloatArray:
        """M' right [columns, outputs]."""
        few = self._few
        summed = _summed(self.column[few], entries[few, None] * right[self.row[few]], self.shape[1])
        return summed + self._block(entries).T @ right[self.many]

    def row_sums(self, entries: FloatArray) -> FloatArray:
        return _summed(self.row, entries[:, None], self.shape[0])[:, 0]

    def by_row(self, numbers: FloatArray) -> FloatArray:
        """The number of every entry's row."""
        return numbers[self.row]

    def by_column(self, numbers: FloatArray) -> FloatArray:
        """The number of every entry's column."""
        return numbers[self.column]

    def matrix(self, entries: FloatArray) -> sparse.csr_array:
        """The sparse matrix with these entries."""
        return sparse.csr_array((entries, (self.row, self.column)), shape=self.shape)

    @property
    def _few(self) -> slice:
        """The entries of rows with few."""
        return slice(len(self.data) - len(self.many) * self.shape[1])

    def _block(self, entries: FloatArray) -> FloatArray:
        """The rows with many entries, as a full matrix [many, columns]."""
        return entries[self._few.stop :].reshape(-1, self.shape[1])


def _summed(place: IntArray, numbers: FloatArray, size: int) -> FloatArray:
    """Numbers [entries, outputs] summed by place [size, outputs]."""
    columns = [np.bincount(place, weights=column, minlength=size) for column in numbers.T]
    return np.array(columns, dtype=np.float64).T


def _pairs(
    lengths: IntArray, column: IntArray, columns: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs of entries in rows of these lengths, and the cell of a product that they belong to."""
    row, entries = np.repeat(np.arange(len(lengths)), lengths), np.arange(len(column))
    first = np.repeat(entries, lengths[row])
    second = Ragged.packed(entries, lengths).take(row).values
    return first, second, column[first] * columns + column[second]
