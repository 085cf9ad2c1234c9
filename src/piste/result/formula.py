"""A fitted SLALOM by itself: what it says of any part of the text, without the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray

LONGEST_ODDS = 300.0  # between importances; beyond it they make no difference to float64


@dataclass(frozen=True, eq=False)
class Formula:
    """SLALOM player by player, with its level and scale by length.

    The score of a part of n players is level(n) + scale(n) * F, with F the mean of the values
    weighted by exp(importance), the frame's included.
    """

    values: FloatArray  # [players]
    importances: FloatArray  # [players]
    frame: tuple[float, float] | None  # value and importance of the special tokens
    lengths: FloatArray  # [knots]: numbers of players, rising
    level: FloatArray  # [knots]
    scale: FloatArray  # [knots]

    @classmethod
    def plain(cls, values: FloatArray, importances: FloatArray) -> Formula:
        """A SLALOM without frame, the same at every length."""
        ones = np.ones(1)
        return cls(values, importances, None, lengths=ones, level=0 * ones, scale=ones)

    def scores(self, parts: BoolArray) -> FloatArray:
        """What SLALOM says of parts [parts, players] -> [parts]."""
        weights, frame_weight, frame_value = self.weights()
        weight = parts @ weights + frame_weight
        worth = parts @ (weights * self.values) + frame_weight * frame_value
        return self.ratio(parts.sum(axis=1), weight, worth)

    def score(self, kept: Sequence[int]) -> float:
        """What SLALOM says of these players alone."""
        part = np.zeros((1, len(self.values)), dtype=bool)
        part[0, np.asarray(kept, dtype=np.int64)] = True
        return float(self.scores(part)[0])

    def change(self, removed: Sequence[int]) -> float:
        """How far the score falls when these players are removed from the whole text."""
        parts = np.ones((2, len(self.values)), dtype=bool)
        parts[1, np.asarray(removed, dtype=np.int64)] = False
        whole, rest = self.scores(parts)
        return float(whole - rest)

    def weights(self) -> tuple[FloatArray, float, float]:
        """exp(importance) of the players [players] and of the frame, and the frame's value.

        By the largest: nothing overflows, none becomes 0.
        """
        value, importance = (0.0, -np.inf) if self.frame is None else self.frame
        largest = max(float(self.importances.max(initial=-np.inf)), importance)
        weights = np.exp(np.maximum(self.importances - largest, -LONGEST_ODDS))
        frame = 0.0 if self.frame is None else np.exp(max(importance - largest, -LONGEST_ODDS))
        return weights, float(frame), value

    def ratio(self, sizes: IntArray, weight: FloatArray, worth: FloatArray) -> FloatArray:
        """Scores of parts of these sizes, from the sums of their players' weights and worths.

        A part without any weight says what the players say on average.
        """
        level, scale = self._at(sizes)
        some = weight > 0
        if some.all():
            return np.asarray(level + scale * (worth / weight))
        mean = np.divide(worth, weight, out=np.zeros(np.shape(weight)), where=some)
        return np.asarray(np.where(some, level + scale * mean, self.values.mean()))

    def _at(self, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Level and scale of parts of so many players."""
        least = int(sizes.min(initial=0))
        every = np.arange(least, int(sizes.max(initial=0)) + 1)  # few sizes, of many parts
        where, knots = np.log(np.maximum(every, 1)), np.log(self.lengths)
        level, scale = np.interp(where, knots, self.level), np.interp(where, knots, self.scale)
        return level[sizes - least], scale[sizes - least]
