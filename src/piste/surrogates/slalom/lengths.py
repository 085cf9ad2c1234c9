"""One SLALOM for short and for long: the same scores, with a level and a scale by length.

F is affine-equivariant: level + scale * F is again a SLALOM with the same importances. Real models
answer long sequences further from zero than a weighted mean of short ones would have it, until
they saturate. So the level and the scale may differ with the length, linearly in its logarithm
between a few knots. At the length of the short sequences they are 0 and 1: there the values mean
log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray, IntArray

SHARES = (0.2, 0.5)  # of the text's players: where the knots stand
LEAST_SCALE = 0.05  # a longer text never turns the scores round


@dataclass(frozen=True)
class LengthScale:
    """level(n) and scale(n) at sequences of n players; beyond the last knot they stay."""

    knots: FloatArray  # log lengths, rising; the first is the short sequences'
    level: FloatArray  # [knots, outputs]
    scale: FloatArray  # [knots]

    @classmethod
    def plain(cls, short: int, players: int, outputs: int = 1) -> LengthScale:
        """No change at any length; knots where the text is long enough to tell them apart."""
        lengths = [short, *(share * players for share in SHARES if share * players > 2 * short)]
        knots = np.log(np.array(lengths, dtype=np.float64))
        return cls(knots, np.zeros((len(knots), outputs)), np.ones(len(knots)))

    def at(self, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
        """Level [rows, outputs] and scale [rows, 1] of sequences of these lengths."""
        hats = self._hats(lengths)
        return hats @ self.level, hats @ self.scale[:, None]

    def apply(self, lengths: IntArray, scores: FloatArray) -> FloatArray:
        """Margins [rows, outputs] for SLALOM's scores of sequences of these lengths."""
        level, scale = self.at(lengths)
        return np.asarray(level + scale * scores)

    def undo(self, lengths: IntArray, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The scores [rows, outputs] for SLALOM to fit, and weights [rows] that make its errors
        the margins'.
        """
        level, scale = self.at(lengths)
        return (margins - level) / scale, scale[:, 0]

    def refitted(self, lengths: IntArray, scores: FloatArray, margins: FloatArray) -> LengthScale:
        """Level and scale for these answers [rows, outputs]: least squares, with a pull towards no
        change. The scale is one for all outputs, as the importances are.
        """
        others, outputs = len(self.knots) - 1, margins.shape[1]
        if others == 0:
            return self
        unit = float(np.std(margins))  # so that the pull means the same for every model
        if unit <= 0:
            return self
        hats = self._hats(lengths)[:, 1:]
        flat, rest = scores.T.reshape(-1) / unit, (margins - scores).T.reshape(-1) / unit
        levels = np.kron(np.eye(outputs), hats)  # [outputs * rows, outputs * others]
        columns = np.hstack([levels, np.tile(hats, (outputs, 1)) * flat[:, None]])
        change: FloatArray = np.zeros(columns.shape[1])
        for _ in range(2):  # the second time the noise is known better
            noise = max(float(np.mean((rest - columns @ change) ** 2)), 1e-12)
            gram = columns.T @ columns + noise * np.eye(len(change))
            change = np.asarray(np.linalg.solve(gram, columns.T @ rest), dtype=np.float64)
        level = np.zeros_like(self.level)
        level[1:] = unit * change[:-others].reshape(outputs, others).T
        scale = np.append(1.0, np.maximum(1 + change[-others:], LEAST_SCALE))
        return LengthScale(self.knots, level, scale)

    def _hats(self, lengths: IntArray) -> FloatArray:
        """How much each knot counts at each length [rows, knots]."""
        where = np.log(np.maximum(lengths, 1))
        corners = np.eye(len(self.knots))
        return np.array([np.interp(where, self.knots, corner) for corner in corners]).T
