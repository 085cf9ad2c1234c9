"""The few dense solves of the fits, straight from LAPACK.

A fit makes hundreds of them on matrices of about a hundred rows, where the checks around scipy's
own functions take longer than the algebra.
"""

import functools
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from piste.arrays import FloatArray
from piste.threads import Switch

LIFTS = (0.0, 1e-14, 1e-11, 1e-8, 1e-5)  # of the mean diagonal


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


def solve_lower(factor: FloatArray, right: FloatArray, *, transposed: bool = False) -> FloatArray:
    """root^-1 right, or root'^-1 right."""
    return np.asarray(lapack.dtrtrs(factor, right, lower=1, trans=int(transposed))[0])
