"""Deletion and insertion: is it the highest-scored words that the decision hangs on?"""

from collections.abc import Iterable

import numpy as np

from piste.explanation import FloatArray, Target
from piste.metrics.asking import answers, probabilities
from piste.models.query import Query
from piste.ragged import IntArray
from piste.text.players import Players

STEPS = 25  # points of a curve at most, evenly spaced


def deletion(
    query: Query, players: Players, target: Target, scores: FloatArray, steps: int = STEPS
) -> float | None:
    """Take the highest-scored player away, then the next: the mean fall of the probability.

    Scores [players] are signed towards the target; those without a side rank as they are. The
    mean is over at most `steps` points, from one player gone to one left (the AOPC). Higher is
    better; on the raw scale it is the fall of the score. None for a text of one player.
    """
    order = ranked(scores)
    return _fall(query, players, target, [order[gone:] for gone in points(len(order), steps)])


def insertion(
    query: Query, players: Players, target: Target, scores: FloatArray, steps: int = STEPS
) -> float | None:
    """Keep only the highest-scored players: the mean of what is still missing. Lower is better."""
    order = ranked(scores)
    return _fall(query, players, target, [order[:kept] for kept in points(len(order), steps)])


def points(players: int, steps: int) -> IntArray:
    """At which numbers of players a curve is read: from one to all but one, evenly spaced."""
    most = min(steps, players - 1)
    return np.unique(np.linspace(1, max(1, players - 1), max(0, most)).round().astype(np.int64))


def ranked(scores: FloatArray) -> IntArray:
    """Highest first. Equal scores come in a random order, the same for every method.

    In reading order they would follow where writers put their verdict.
    """
    chance = np.random.default_rng(0).permutation(len(scores))
    return np.lexsort((chance, -np.nan_to_num(scores, nan=0.0))).astype(np.int64)


def _fall(query: Query, players: Players, target: Target, kept: Iterable[IntArray]) -> float | None:
    """The mean over the rows of p(whole text) - p(row)."""
    rows = list(kept)
    if not rows:
        return None
    left = probabilities(answers(query, players, target, rows), target)
    whole = probabilities(np.array([target.score]), target)[0]
    return float(np.mean(whole - left))
