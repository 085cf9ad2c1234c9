"""How sure a fit is: the Gaussian around its solution, and what it means for the scores.

The importances have precision S / noise, with S the curvature that is left when the values are
eliminated. Given the importances, the values of each output have precision M / noise around
v - M^-1 B (s - s_fit), with M = A'A + ridge and B = A'D (see `gauss_newton`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from piste.explanation import FloatArray
from piste.ragged import IntArray
from piste.surrogates import algebra
from piste.surrogates.slalom import FramePlayer, SlalomModel, slalom_scores

DRAWS = 64  # the error of an error is then about 9 %
SHAPLEY_STEPS = 10_000  # of sampled permutations, for each draw


@dataclass(frozen=True)
class Posterior:
    """The Gaussian, in the units of the standardised margins; `model` is the fit in theirs too."""

    model: SlalomModel
    noise: float  # variance
    curvature_root: FloatArray  # lower Cholesky factor of S [players, players]
    values_root: FloatArray  # lower Cholesky factor of M [players (+ frame), same]
    mixed: FloatArray  # B [outputs, players (+ frame), players]
    scale: float
    offset: FloatArray  # [outputs]: the margins are offset + scale * standardised

    def draws(self, rng: np.random.Generator, count: int = DRAWS) -> Iterator[SlalomModel]:
        """Models that the answers allow, in the units of the margins."""
        deviation = np.sqrt(self.noise)
        fitted = self._fitted_values()
        size, outputs = fitted.shape
        noise = rng.normal(size=(count, len(self.curvature_root)))
        moves = deviation * _whitened(self.curvature_root, noise)  # [draws, players]
        for move in moves:
            shift = algebra.solve(self.values_root, (self.mixed @ move).T)
            wobble = _whitened(self.values_root, rng.normal(size=(outputs, size))).T
            yield self._model(fitted - shift + deviation * wobble, move)

    def _fitted_values(self) -> FloatArray:
        if self.model.frame is None:
            return self.model.values
        return np.vstack([self.model.values, self.model.frame.value])

    def _model(self, values: FloatArray, move: FloatArray) -> SlalomModel:
        players = len(move)
        frame = self.model.frame and FramePlayer(values[-1], self.model.frame.importance)
        drawn = SlalomModel(values[:players], self.model.importances + move, frame)
        return drawn.affine(self.scale, self.offset)


def score_errors(
    posterior: Posterior, groups: IntArray, rng: np.random.Generator, gamma: float = 0.0
) -> dict[str, FloatArray]:
    """Standard errors of every score of every player: the spread over the posterior's draws."""
    seed = int(rng.integers(2**31))  # the same permutations for all, whose noise is not ours
    drawn = [
        slalom_scores(
            model.normalised(gamma), groups, np.random.default_rng(seed), steps=SHAPLEY_STEPS
        )
        for model in posterior.draws(rng)
    ]
    return {name: spread(np.array([scores[name] for scores in drawn])) for name in drawn[0]}


def spread(draws: FloatArray) -> FloatArray:
    """Half the width that holds the middle 68 %: the standard error, if one wild draw is no matter.

    Products such as `lin` have long tails, which would rule a plain standard deviation.
    """
    low, high = np.quantile(draws, (0.1587, 0.8413), axis=0)
    return np.asarray((high - low) / 2)


def _whitened(root: FloatArray, noise: FloatArray) -> FloatArray:
    """Rows of standard normal noise as draws with precision root root'."""
    return algebra.solve_lower(root, noise.T, transposed=True).T
