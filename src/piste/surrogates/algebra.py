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
    """(root root')^-1."""
    lower = lapack.dpotri(factor, lower=1)[0]
    return np.asarray(lower + np.tril(lower, -1).T)


def solve_lower(factor: FloatArray, right: FloatArray, *, transposed: bool = False) -> FloatArray:
    """root^-1 right, or root'^-1 right."""
    return np.asarray(lapack.dtrtrs(factor, right, lower=1, trans=int(transposed))[0])


@dataclass(frozen=True)
class Pattern:
    """Entry k stands at (row[k], column[k]); `data` are the numbers it was made with."""

    data: FloatArray  # [entries]
    row: IntArray
    column: IntArray
    shape: tuple[int, int]
    pairs: tuple[IntArray, IntArray, IntArray] | None  # left entry, right entry, cell; None: dense

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> Pattern:
        rows, columns = matrix.shape
        lengths = np.diff(matrix.indptr).astype(np.int64)
        row = np.repeat(np.arange(rows), lengths)
        column = matrix.indices.astype(np.int64)
        many = np.sum(lengths**2) > max(FEW_PAIRS, DENSE * rows * columns**2)
        pairs = None if many else _pairs(row, column, lengths, columns)
        return cls(matrix.data, row, column, (rows, columns), pairs)

    def product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """left' right as a full matrix [columns, columns]."""
        size = self.shape[1]
        if self.pairs is None:
            return np.asarray(self._full(left).T @ self._full(right))
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

    def matrix(self, entries: FloatArray) -> sparse.csr_array:
        """The sparse matrix with these entries."""
        return sparse.csr_array((entries, (self.row, self.column)), shape=self.shape)

    def _full(self, entries: FloatArray) -> FloatArray:
        full = np.zeros(self.shape)
        full[self.row, self.column] = entries
        return full


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
