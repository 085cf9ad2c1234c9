"""Part fidelity: how well an explanation predicts the model on parts of the text."""

from __future__ import annotations

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.decision import Decision
from piste.design.parts import parts_between
from piste.errors import SettingError
from piste.metrics.removal_fidelity import predicts
from piste.result.explanation import Explanation
from piste.result.facts import FEW_CHECKS
from piste.surrogates.context import distinct

PARTS = 50
LEAST, MOST = 0.3, 1.0  # share of the players that a part keeps
POOL = 8  # times as many are drawn: some repeat, and some were asked by the explanation itself


def part_r2(
    decision: Decision, explanation: Explanation, *, parts: int = PARTS, seed: int = 0
) -> float | None:
    """R² of the explanation on random parts of 30 to 100 % of the players: 1 is perfect.

    By `explanation.predict`, or by `change` where the scores only add up. Fresh parts: none that
    the explanation has asked. The same seed draws the same parts in the same order for every
    explanation. None where the scores predict nothing, or on another scale; where fewer than five
    parts are left; or where the model never moves.
    """
    fresh = fresh_parts(len(decision.players), explanation, parts, seed)
    if len(fresh) < FEW_CHECKS or not predicts(explanation):
        return None
    if explanation.target.scale != decision.target.scale:
        return None
    true = decision.keeping([np.flatnonzero(part) for part in fresh])
    variance = float(np.var(true))
    if variance <= (1e-9 * max(1.0, abs(decision.target.score))) ** 2:  # rounding
        return None
    return float(1 - np.mean((_predicted(explanation, fresh) - true) ** 2) / variance)


def fresh_parts(players: int, explanation: Explanation, count: int, seed: int) -> BoolArray:
    """Distinct random parts [parts, players], without the whole text and what was asked."""
    rng = np.random.default_rng(seed)
    known = [np.ones((1, players), dtype=bool)]
    if explanation.parts is not None:
        known.append(explanation.parts.parts)
    return distinct(parts_between(rng, players, POOL * count, LEAST, MOST), known)[:count]


def _predicted(explanation: Explanation, parts: BoolArray) -> FloatArray:
    """What the explanation says of parts [parts]."""
    try:
        scores = [explanation.predict(np.flatnonzero(part).tolist()).score for part in parts]
    except SettingError:  # no surrogate: the change from the whole text is all there is
        whole = explanation.target.score
        changes = [explanation.change(np.flatnonzero(~part).tolist()) for part in parts]
        return np.asarray(whole - np.array(changes))
    return np.array(scores)
