"""Deletion and insertion: does the decision depend on the highest-scored words?"""

from collections.abc import Iterable

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.decision import Decision

STEPS = 25  # points of a curve at most, evenly spaced


def deletion(decision: Decision, scores: FloatArray, steps: int = STEPS) -> float | None:
    """Remove players from the highest-scored down: the mean fall of the probability.

    Scores [players] are signed towards the target; those without a side rank as they are. The
    mean is over at most `steps` points, from one player gone to one left (the AOPC). Higher is
    better; on the raw scale it is the fall of the score. None for a text of one player.
    """
    order = ranked(scores)
    return mean_fall(decision, [order[gone:] for gone in points(len(order), steps)])


def insertion(decision: Decision, scores: FloatArray, steps: int = STEPS) -> float | None:
    """Keep only the highest-scored players: the mean of what is still missing. Lower is better."""
    order = ranked(scores)
    return mean_fall(decision, [order[:kept] for kept in points(len(order), steps)])


def mean_fall(decision: Decision, kept: Iterable[IntArray]) -> float | None:
    """The mean over sets of kept players of p(whole text) - p(these alone); None without sets."""
    falls = decision.falls(kept)
    return float(np.mean(falls)) if len(falls) else None


def points(players: int, steps: int) -> IntArray:
    """The numbers of removed players at which a curve is evaluated, evenly spaced."""
    most = min(steps, players - 1)
    return np.unique(np.linspace(1, max(1, players - 1), max(0, most)).round().astype(np.int64))


def ranked(scores: FloatArray) -> IntArray:
    """Highest first. Equal scores come in a random order, the same for every method.

    In reading order they would follow where writers put their verdict.
    """
    chance = np.random.default_rng(0).permutation(len(scores))
    return np.lexsort((chance, -np.nan_to_num(scores, nan=0.0))).astype(np.int64)


def deletion_curve(
    decision: Decision, scores: FloatArray, steps: int = STEPS
) -> tuple[FloatArray, FloatArray]:
    """The share of the players removed [points], and the fall of the probability there [points]."""
    order, marks = ranked(scores), points(len(scores), steps)
    fallen = decision.falls([order[gone:] for gone in marks])
    return marks / len(order), fallen
