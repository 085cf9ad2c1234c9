"""ERASER's figures: what the highest-scored fraction of the words does, removed or alone."""

import numpy as np

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.metrics.deletion import mean_fall, ranked

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the players, as in DeYoung et al. (ACL 2020)


def comprehensiveness(decision: Decision, scores: FloatArray) -> float | None:
    """How far the probability falls without the highest-scored players. Higher is better.

    The mean over the fractions; each takes one player at least and leaves one.
    """
    order = ranked(scores)
    return mean_fall(decision, [order[size:] for size in sizes(len(order))])


def sufficiency(decision: Decision, scores: FloatArray) -> float | None:
    """How far it falls when only the highest-scored players are left. Lower is better."""
    order = ranked(scores)
    return mean_fall(decision, [order[:size] for size in sizes(len(order))])


def sizes(players: int) -> list[int]:
    """How many players each fraction is; none for a text of one."""
    if players < 2:
        return []
    return [min(players - 1, max(1, int(np.ceil(share * players)))) for share in FRACTIONS]
