"""The few dense solves of the fits, straight from LAPACK.

A fit makes hundreds of them on matrices of about a hundred rows, where the checks around scipy's
own functions take longer than the algebra.
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from piste.arrays import FloatArray

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


class _Limiter:
    """The number of BLAS threads, limited while any fit wants that.

    The setting is the whole process's: the first to come limits it, the last to go brings it back.
    """

    def __init__(self) -> None:
        self.lock, self.inside = threading.Lock(), 0
        self.limits: Any = None

    @contextlib.contextmanager
    def limited(self, count: int) -> Iterator[None]:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.limits = _controller().limit(limits=count, user_api="blas")
        try:
            yield
        finally:
            with self.lock:
                self.inside -= 1
                if not self.inside:
                    self.limits.restore_original_limits()


_limiter = _Limiter()


def threads(count: int | None) -> AbstractContextManager[object]:
    """Within it the linear algebra has so many threads; None: as many as it likes."""
    return contextlib.nullcontext() if count is None else _limiter.limited(count)


@functools.cache
def _controller() -> ThreadpoolController:
    """Finding the libraries' thread pools takes milliseconds, and there are many fits."""
    return ThreadpoolController()


def solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    """(root root')^-1 right."""
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])


def solve_lower(factor: FloatArray, right: FloatArray, *, transposed: bool = False) -> FloatArray:
    """root^-1 right, or root'^-1 right."""
    return np.asarray(lapack.dtrtrs(factor, right, lower=1, trans=int(transposed))[0])
