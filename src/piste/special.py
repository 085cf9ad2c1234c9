"""Special functions in numpy alone, as importing scipy.special takes its time."""

import numpy as np
from numpy.typing import ArrayLike

from piste.arrays import FloatArray


def expit(log_odds: ArrayLike) -> FloatArray:
    """The probability that log-odds mean, exact at both ends."""
    given = np.asarray(log_odds, dtype=np.float64)
    smaller = np.exp(-np.abs(given))  # never overflows
    return np.asarray(np.where(given < 0, smaller, 1.0) / (1 + smaller))


def logsumexp(numbers: FloatArray, axis: int) -> FloatArray:
    """The logarithm of the sum of exponentials along an axis; of nothing, minus infinity."""
    largest = np.max(numbers, axis=axis, keepdims=True, initial=-np.inf)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.sum(np.exp(numbers - largest), axis=axis, keepdims=True))
    return np.asarray(np.squeeze(logs + largest, axis=axis))


def log_factorials(largest: int) -> FloatArray:
    """log 0!, log 1!, ... [largest + 1]."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, largest + 1)))])
