"""What is believed of values and importances before the first answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray


@dataclass(frozen=True)
class Known:
    """Scores with standard errors from elsewhere, such as a fit over many texts; NaN: not known.

    Values are in the units of the margins. Importances are those of a fit whose frame has
    importance 0; without a frame their common shift is the fit's as well.
    """

    values: FloatArray  # [players (+ frame), outputs]
    value_errors: FloatArray  # [players (+ frame)]
    importances: FloatArray  # [players]
    importance_errors: FloatArray  # [players]


@dataclass(frozen=True)
class Prior:
    """Gaussian widths: of values in standard deviations of the margins, of importances as is.

    They hold for every player of which nothing more is `known`.
    """

    value: float = 5.0
    importance: float = 1.5
    known: Known | None = None

    def terms(self, size: int, players: int, mean: FloatArray, scale: float) -> PriorTerms:
        """The prior of `players` (`size` with the frame) for margins standardised like this."""
        values = np.zeros((size, len(mean)))
        value_precision = np.full(size, self.value**-2)
        if self.known is None:
            return PriorTerms(values, value_precision, np.zeros(players), self._centring(players))
        known = np.isfinite(self.known.value_errors)
        values[known] = (self.known.values[known] - mean) / scale
        value_precision[known] = (self.known.value_errors[known] / scale) ** -2.0
        return PriorTerms(values, value_precision, *self._known_importances(self.known))

    def _centring(self, players: int) -> FloatArray:
        """Importances are pulled towards their mean; the mean only as far as to fix it."""
        return (np.eye(players) - (1 - 1e-3) / players) / self.importance**2

    def _known_importances(self, known: Known) -> tuple[FloatArray, FloatArray]:
        """Means and precisions; an importance that is not known is taken for a typical one."""
        told = np.isfinite(known.importance_errors)
        typical = float(np.mean(known.importances[told])) if told.any() else 0.0
        precision = np.full(len(told), self.importance**-2)
        precision[told] = known.importance_errors[told] ** -2.0
        return np.where(told, known.importances, typical), np.diag(precision)


@dataclass(frozen=True)
class PriorTerms:
    """The Gaussian that a fit adds to its loss, in standardised margins."""

    values: FloatArray  # means [players (+ frame), outputs]
    value_precision: FloatArray  # [players (+ frame)]
    importances: FloatArray  # means [players]
    importance_precision: FloatArray  # [players, players]
