"""Around the text as it is: what removing a few of its players really does.

The change of the margin is scale * (the surrogate's change) + the sum of the removed players' own
effects. The scale is not negative; the effects are a ridge regression on what it leaves. Fitted to
real removals; the scores that rank are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray
from piste.surrogates import algebra

# Of the variance that is no sum of effects to the effects' own. Nearly every player is removed once
# only, so the answers themselves cannot tell it; measured on fine-tuned models 0.05 to 0.5 do well.
RATIO = 0.2


@dataclass(frozen=True)
class LocalEffects:
    """How the margin changes when players of the text are removed."""

    scale: float  # of the surrogate's own prediction
    effects: FloatArray  # [players], on top of it
    errors: FloatArray  # standard errors of the effects

    def change(self, removed: FloatArray, predicted: FloatArray) -> FloatArray:
        """The fall of the margin [rows] for removals [rows, players]."""
        return np.asarray(self.scale * predicted + removed @ self.effects)


def fit_local(removed: FloatArray, predicted: FloatArray, true: FloatArray) -> LocalEffects:
    """Fit to removals [rows, players]: the surrogate's changes and the model's [rows]."""
    power = float(predicted @ predicted)
    scale = max(0.0, float(predicted @ true) / power) if power > 0 else 0.0
    rest = true - scale * predicted
    if not rest.any():
        return LocalEffects(scale, np.zeros(removed.shape[1]), np.zeros(removed.shape[1]))
    overlap = removed @ removed.T
    root = algebra.root(overlap + RATIO * np.eye(len(overlap)))
    solved = algebra.solve(root, rest)
    width = float(rest @ solved) / len(rest)  # the effects' variance
    gain = algebra.solve_lower(root, removed)  # [rows, players]
    variance = width * np.maximum(1 - np.sum(gain**2, axis=0), 0.0)
    return LocalEffects(scale, removed.T @ solved, np.sqrt(variance))
