"""The prior of values and importances, and the posterior after a fit.

The prior is Gaussian. The posterior says how sure a fit is: where else the answers could have led
it, and what that means for the scores.

A surrogate misses a real model by more on some words than on others, so the noise is not one
number: every row counts with its own residual, divided by what the row leaves free (1 - leverage,
the robust covariance known as HC3). A draw shakes each row by its deviation and the prior by its
width, and follows the fit's linear equations to the scores that would have come out.
With M = A'A + ridge, B = A'D and S the curvature that is left when the values are eliminated
(see `gauss_newton`): s moves by S^-1 (g_s - B' M^-1 g_v), v by M^-1 (g_v - B s).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from piste.arrays import FloatArray, IntArray
from piste.surrogates import algebra
from piste.surrogates.slalom.model import FramePlayer, SlalomModel, slalom_scores

DRAWS = 64  # the error of an error is then about 9 %
CHUNK = 1000  # rows whose leverage is found at once
LEAST_FREE = 0.02  # of a row that the fit all but repeats
LIFT = 1e-6  # of the share that a fold leaves free: above rounding
SHAPLEY_STEPS = 10_000  # of sampled permutations, for each draw


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


@dataclass(frozen=True)
class Slopes:
    """Each row's derivatives and deviation, in the units of the standardised margins."""

    attention: sparse.csr_array  # A [rows, players (+ frame)]
    jacobians: tuple[sparse.csr_array, ...]  # D of each output [rows, players]
    deviations: FloatArray  # [rows, outputs]
    value_widths: FloatArray  # [players (+ frame)]: of the prior's own pull
    importance_root: FloatArray  # its root [players, players]


@dataclass(frozen=True)
class Equations:
    """What the draws of a posterior solve, in the units of the standardised margins."""

    curvature_root: FloatArray  # lower Cholesky factor of S [players, players]
    values_root: FloatArray  # lower Cholesky factor of M [players (+ frame), same]
    mixed: FloatArray  # B [outputs, players (+ frame), players]
    slopes: Slopes

    def repeated(self, rows: IntArray) -> FloatArray:
        """How the fit repeats the answers of these rows [outputs * rows, outputs * rows]."""
        values = algebra.solve_lower(self.values_root, self.slopes.attention[rows].toarray().T)
        rest = []
        for mixed, jacobian in zip(self.mixed, self.slopes.jacobians, strict=True):
            through = algebra.solve_lower(self.values_root, mixed).T @ values
            rest.append(
                algebra.solve_lower(self.curvature_root, jacobian[rows].toarray().T - through)
            )
        shared = np.hstack(rest)  # importances are those of all outputs, values each one's own
        return shared.T @ shared + np.kron(np.eye(len(rest)), values.T @ values)


@dataclass(frozen=True)
class Posterior:
    """A fit in the units of the standardised margins, and how sure it is."""

    model: SlalomModel
    noise: float  # variance
    scale: float
    offset: FloatArray  # [outputs]: the margins are offset + scale * standardised
    solved: Callable[[], Equations]  # most fits are only gone on from, and need none

    @cached_property
    def equations(self) -> Equations:
        return self.solved()

    def draws(self, rng: np.random.Generator, count: int = DRAWS) -> Iterator[SlalomModel]:
        """Models that the answers allow, in the units of the margins."""
        equations = self.equations
        slopes, mixed, outputs = equations.slopes, equations.mixed, range(len(equations.mixed))
        shaken = [rng.normal(size=(slopes.attention.shape[0], count)) for _ in outputs]
        shaken = [slopes.deviations[:, [o]] * shaken[o] for o in outputs]
        wobble = rng.normal(size=(len(outputs), len(slopes.value_widths), count))
        own = slopes.value_widths[:, None] * wobble
        values = [slopes.attention.T @ shaken[o] + own[o] for o in outputs]
        pulled = slopes.importance_root @ rng.normal(size=(len(slopes.importance_root), count))
        for o in outputs:
            pulled = pulled + slopes.jacobians[o].T @ shaken[o]
            pulled = pulled - mixed[o].T @ algebra.solve(equations.values_root, values[o])
        moves = algebra.solve(equations.curvature_root, pulled)  # [players, draws]
        for o in outputs:
            values[o] = algebra.solve(equations.values_root, values[o] - mixed[o] @ moves)
        fitted, shifts = self._fitted_values(), np.stack(values, axis=1)
        for draw in range(count):
            yield self._model(fitted + shifts[:, :, draw], moves[:, draw])

    def left_out(self, residual: FloatArray, folds: IntArray) -> FloatArray:
        """The residuals [rows, outputs] of answers whose fold is left out of the fit.

        To first order, from the equations of the whole fit: fitting anew to what is left takes
        several times as long, and predicts about the same. Folds below 0 are never left out.
        """
        left_out = residual.copy()
        for fold in np.unique(folds[folds >= 0]):
            rows = np.flatnonzero(folds == fold)
            together = residual[rows].T
            free = (1 + LIFT) * np.eye(together.size) - self.equations.repeated(rows)
            alone = algebra.solve(algebra.root(free), together.reshape(-1))
            left_out[rows] = alone.reshape(together.shape).T
        return left_out

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
    posterior: Posterior,
    groups: IntArray,
    rng: np.random.Generator,
    gamma: float = 0.0,
    others: Sequence[str] = (),
) -> dict[str, FloatArray]:
    """Standard errors of every score of every player: the spread over the posterior's draws."""
    seed = int(rng.integers(2**31))  # the same permutations for all, whose noise is not ours
    drawn = [
        slalom_scores(
            model.normalised(gamma),
            groups,
            np.random.default_rng(seed),
            steps=SHAPLEY_STEPS,
            others=others,
        )
        for model in posterior.draws(rng)
    ]
    return {name: spread(np.array([scores[name] for scores in drawn])) for name in drawn[0]}


def spread(draws: FloatArray) -> FloatArray:
    """A robust standard error: half the width of the middle 68 % of the draws.

    Products such as `lin` have long tails, which would rule a plain standard deviation.
    """
    low, high = np.quantile(draws, (0.1587, 0.8413), axis=0)
    return np.asarray((high - low) / 2)


def deviations(
    residual: FloatArray,
    attention: sparse.csr_array,
    jacobians: Sequence[sparse.csr_array],
    roots: tuple[FloatArray, FloatArray],
    mixed: FloatArray,
) -> FloatArray:
    """The leave-one-out residual of each row [rows, outputs] (HC3).

    roots: Cholesky factors of M and S.
    """
    deviation = np.empty_like(residual)
    for output, jacobian in enumerate(jacobians):
        through = algebra.solve_lower(roots[0], mixed[output])
        for start in range(0, len(residual), CHUNK):
            rows = slice(start, start + CHUNK)
            values = algebra.solve_lower(roots[0], attention[rows].toarray().T)
            rest = jacobian[rows].toarray().T - through.T @ values
            leverage = np.sum(values**2, axis=0)
            leverage += np.sum(algebra.solve_lower(roots[1], rest) ** 2, axis=0)
            free = np.maximum(1 - leverage, LEAST_FREE)
            deviation[rows, output] = np.abs(residual[rows, output]) / free
    return deviation
