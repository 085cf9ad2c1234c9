"""Array types, and the rank correlation that both papers compare explanations by."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def rank_correlation(one: FloatArray, other: FloatArray) -> float:
    """Spearman's correlation; NaN where either array is constant."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return math.nan
    return float(spearmanr(one, other).statistic)
