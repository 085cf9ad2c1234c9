"""Removal fidelity: how well an explanation predicts the effect of removing words."""

import numpy as np

from piste.arrays import IntArray
from piste.decision import Decision
from piste.result.explanation import Explanation
from piste.result.scores import score

DRAWS = 60  # random removals
MOST = 5  # players a removal takes away at most


def removal_error(
    decision: Decision,
    explanation: Explanation,
    *,
    draws: int = DRAWS,
    most: int = MOST,
    seed: int = 0,
) -> float | None:
    """Remove 1 to `most` random players, `draws` times: the RMSE of `explanation.change`.

    Relative to predicting that nothing changes: 0 is perfect, 1 is no better than not knowing.
    None where the scores predict no change, or that of a number on another scale, where there are
    fewer than three players, or where the model never moves. The same seed draws the same removals
    for every explanation.
    """
    removed = removals(len(decision.players), draws, most, seed)
    same = explanation.target.scale == decision.target.scale
    if not removed or not same or not predicts(explanation):
        return None
    everybody = np.arange(len(decision.players))
    left = decision.keeping([np.delete(everybody, gone) for gone in removed])
    true = decision.target.score - left
    predicted = np.array([explanation.change(gone.tolist()) for gone in removed])
    typical = float(np.mean(true**2))
    if typical <= (1e-9 * max(1.0, abs(decision.target.score))) ** 2:  # rounding
        return None
    return float(np.sqrt(np.mean((predicted - true) ** 2) / typical))


def predicts(explanation: Explanation) -> bool:
    """Whether the explanation says how far the score moves when players are removed."""
    known = explanation.formula is not None or "removal" in explanation.scores
    return known or score(explanation.primary).predicts


def removals(players: int, draws: int, most: int, seed: int) -> list[IntArray]:
    """Which players each draw takes away; at least one always stays."""
    if players < 3:  # of two players every removal is a single one, which occlusion has asked
        return []
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, min(most, players - 1) + 1, size=draws)
    return [rng.choice(players, size, replace=False).astype(np.int64) for size in sizes]
