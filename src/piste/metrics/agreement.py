"""Rank agreement: do two explanations order the words alike?"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from piste.arrays import FloatArray
from piste.result.explanation import Explanation
from piste.result.scores import score


def agreement(explanations: Sequence[Explanation]) -> FloatArray:
    """Spearman's correlation of the primary scores, each with each [methods, methods].

    Where one of two has no side (attention), sizes are compared: a word that speaks loudly
    against should get as much attention as one that speaks for. NaN where all scores are equal.
    """
    matrix = np.ones((len(explanations), len(explanations)))
    for row, one in enumerate(explanations):
        for column, other in enumerate(explanations[:row]):
            matrix[row, column] = matrix[column, row] = _pair(one, other)
    return matrix


def spearman(one: FloatArray, other: FloatArray) -> float:
    """The correlation of ranks, equal values sharing theirs; NaN where either never varies."""
    ranks = [rankdata(np.nan_to_num(scores)) for scores in (one, other)]
    centred = [rank - rank.mean() for rank in ranks]
    size = float(np.sqrt((centred[0] @ centred[0]) * (centred[1] @ centred[1])))
    return float(centred[0] @ centred[1]) / size if size > 0 else float("nan")


def rank_correlation(one: FloatArray, other: FloatArray) -> float | None:
    """Spearman's correlation; None where either never varies."""
    correlation = spearman(one, other)
    return correlation if np.isfinite(correlation) else None


def _pair(one: Explanation, other: Explanation) -> float:
    scores = [explanation.scores[explanation.primary] for explanation in (one, other)]
    if not (score(one.primary).signed and score(other.primary).signed):
        scores = [np.abs(values) for values in scores]
    return spearman(*scores)
