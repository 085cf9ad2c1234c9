"""Leave one out: do the scores order the words as their single removals do?"""

import numpy as np

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.metrics.agreement import rank_correlation
from piste.result.explanation import Explanation
from piste.result.scores import score


def single_falls(decision: Decision) -> FloatArray:
    """How far the target's score falls without each player alone [players]."""
    everybody = np.arange(len(decision.players))
    kept = [np.delete(everybody, player) for player in everybody]
    return np.asarray(decision.target.score - decision.keeping(kept))


def leave_one_out(decision: Decision, explanation: Explanation) -> float | None:
    """Spearman's correlation of the primary score with the true falls; sizes where it has no side.

    None for a single player, or where either never varies.
    """
    if len(decision.players) < 2:
        return None
    falls = single_falls(decision)
    if not score(explanation.primary).signed:
        falls = np.abs(falls)
    return rank_correlation(explanation.scores[explanation.primary], falls)
