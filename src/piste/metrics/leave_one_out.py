"""Leave one out: do the scores order the words as their single removals do?"""

import numpy as np

from piste.explanation import SIDELESS, Explanation, FloatArray, Target
from piste.metrics.agreement import spearman
from piste.metrics.asking import answers
from piste.models.query import Query
from piste.text.players import Players


def single_falls(query: Query, players: Players, target: Target) -> FloatArray:
    """How far the target's score falls without each player alone [players]."""
    everybody = np.arange(len(players))
    kept = [np.delete(everybody, player) for player in everybody]
    return np.asarray(target.score - answers(query, players, target, kept))


def leave_one_out(
    query: Query, players: Players, target: Target, explanation: Explanation
) -> float | None:
    """Spearman's correlation of the primary score with the true falls; sizes where it has no side.

    None for a single player, or where either never varies.
    """
    if len(players) < 2:
        return None
    falls = single_falls(query, players, target)
    if explanation.primary in SIDELESS:
        falls = np.abs(falls)
    found = spearman(explanation.scores[explanation.primary], falls)
    return found if np.isfinite(found) else None
