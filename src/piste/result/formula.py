"""The fitted surrogate: predictions for any part of the text, without the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Formula:
    """SLALOM player by player, with its level and scale by length and what removals taught.

    The score of a part of n players is level(n) + scale(n) * F, with F the mean of the values
    weighted by exp(importance), the frame's included.
    """

    values: FloatArray  # [players]
    importances: FloatArray  # [players]
    frame: tuple[float, float] | None  # value and importance of the special tokens
    lengths: FloatArray  # [knots]: numbers of players, rising
    level: FloatArray  # [knots]
    scale: FloatArray  # [knots]
    removal_scale: float = 1.0  # of the surrogate's own prediction of a removal
    removal_effects: FloatArray | None = None  # [players], on top of it

    @classmethod
    def plain(cls, values: FloatArray, importances: FloatArray) -> Formula:
        """A SLALOM without frame, the same at every length."""
        ones = np.ones(1)
        return cls(values, importances, None, lengths=ones, level=0 * ones, scale=ones)

    def score(self, kept: Sequence[int]) -> float:
        """The surrogate's score of these players alone."""
        chosen = np.asarray(kept, dtype=np.int64)
        values, logs = self.values[chosen], self.importances[chosen]
        if self.frame is not None:
            values, logs = np.append(values, self.frame[0]), np.append(logs, self.frame[1])
        if not len(values):
            return 0.0  # nothing said, nothing decided
        weights = np.exp(logs - logs.max())
        mean = float(weights @ values / weights.sum())
        where = np.log(max(1, len(chosen)))
        knots = np.log(self.lengths)
        level, scale = np.interp(where, knots, self.level), np.interp(where, knots, self.scale)
        return float(level + scale * mean)

    def change(self, removed: Sequence[int]) -> float:
        """How far the score falls when these players are removed from the whole text."""
        gone = np.unique(np.asarray(removed, dtype=np.int64))
        everybody = np.arange(len(self.values))
        fall = self.score(everybody.tolist()) - self.score(np.delete(everybody, gone).tolist())
        own = 0.0 if self.removal_effects is None else float(self.removal_effects[gone].sum())
        return self.removal_scale * fall + own
