"""Stability across seeds, and sensitivity to randomised weights."""

from collections.abc import Sequence

import numpy as np

from piste.metrics.agreement import rank_correlation
from piste.result.explanation import Explanation


def stability(explanation: Explanation, others: Sequence[Explanation]) -> float | None:
    """The mean rank correlation with explanations of other seeds: 1 is the same order each time."""
    correlations = [_correlation(explanation, other) for other in others]
    known = [value for value in correlations if value is not None]
    return float(np.mean(known)) if known else None


def randomisation(explanation: Explanation, elsewhere: Explanation) -> float | None:
    """The rank correlation, without sign, with the explanation of a model whose weights were
    drawn anew. Scores near 1 tell of the text, not of the model (Adebayo et al., 2018).
    """
    correlation = _correlation(explanation, elsewhere)
    return None if correlation is None else abs(correlation)


def _correlation(one: Explanation, other: Explanation) -> float | None:
    return rank_correlation(one.scores[one.primary], other.scores[one.primary])
