"""The algebra of the fits: dense solves, and products of sparse matrices that share a pattern.

A fit makes hundreds of solves of about a hundred rows, where the checks around scipy's own
functions take longer than the algebra: they come straight from LAPACK. It builds hundreds of
matrices with the entries of the counts. Products of two of them sum over pairs of entries in a
row; the pairs are the same every time, so they are listed once.
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
FEW_PAIRS = 100_000
DENSE = 0.01  # of all possible pairs; above it BLAS on full matrices is faster


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


def pattern_of(counts: sparse.csr_array) -> Pattern | Full:
    """The entries of a matrix, in the form that is faster to work with."""
    rows, columns = counts.shape
    lengths = np.diff(counts.indptr).astype(np.int64)
    if np.sum(lengths**2) > max(FEW_PAIRS, DENSE * rows * columns**2):
        return Full(counts.toarray())
    row = np.repeat(np.arange(rows), lengths)
    column = counts.indices.astype(np.int64)
    return Pattern(counts.data, row, column, (rows, columns), _pairs(row, column, lengths, columns))


@dataclass(frozen=True)
class Pattern:
    """Entry k stands at (row[k], column[k]); `data` are the numbers it was made with."""

    data: FloatArray  # [entries]
    row: IntArray
    column: IntArray
    shape: tuple[int, int]
    pairs: tuple[IntArray, IntArray, IntArray]  # left entry, right entry, cell

    def product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """left' right as a full matrix [columns, columns]."""
        size = self.shape[1]
        first, second, cell = self.pairs
        summed = np.bincount(cell, weights=left[first] * right[second], minlength=size * size)
        return np.asarray(summed, dtype=np.float64).reshape(size, size)

    def times(self, entries: FloatArray, right: FloatArray) -> FloatArray:
        """M right [rows, outputs]."""
        return _summed(self.row, entries[:, None] * right[self.column], self.shape[0])

    def transposed(self, entries: FloatArray, right: FloatArray) -> FloatArray:
        """M' right [columns, outputs]."""
        return _summed(self.column, entries[:, None] * right[self.row], self.shape[1])

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


@dataclass(frozen=True)
class Full:
    """The same for matrices with few zeros: the entries are all of the matrix [rows, columns]."""

    data: FloatArray

    def product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray(left.T @ right)

    def times(self, entries: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray(entries @ right)

    def transposed(self, entries: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray(entries.T @ right)

    def row_sums(self, entries: FloatArray) -> FloatArray:
        return np.asarray(entries.sum(axis=1))

    def by_row(self, numbers: FloatArray) -> FloatArray:
        return numbers[:, None]

    def by_column(self, numbers: FloatArray) -> FloatArray:
        return numbers

    def matrix(self, entries: FloatArray) -> sparse.csr_array:
        return sparse.csr_array(entries)


def _summed(place: IntArray, numbers: FloatArray, size: int) -> FloatArray:
    """Numbers [entries, outputs] summed by place [size, outputs]."""
    columns = [np.bincount(place, weights=column, minlength=size) for column in numbers.T]
    return np.array(columns, dtype=np.float64).T


def _pairs(
    row: IntArray, column: IntArray, lengths: IntArray, columns: int
) -> tuple[IntArray, IntArray, IntArray]:
    first = np.repeat(np.arange(len(row)), lengths[row])
    second = Ragged.packed(np.arange(len(row)), lengths).take(row).values
    return first, second, column[first] * columns + column[second]
