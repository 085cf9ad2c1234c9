"""The default fit: values by linear least squares, importances by damped Gauss-Newton.

Given the importances s, F is linear in the values, with one matrix A (the attention) for all
outputs; the Jacobian with respect to s_j is alpha_j (v_j - F). Eliminating the values leaves a
system in s alone (variable projection), small and dense, built from sparse rows.

1. Standardise the margins, so that the priors mean the same for every model.
2. Solve the values for the current importances, with a ridge r towards their prior means.
3. Step: (D'D - D'A (A'A + r)^-1 A'D + prior + damping) step = D'residual - prior (s - mean).
4. Keep the step if the penalised loss falls, else raise the damping; until it stops falling.
5. Estimate the noise from the residuals; the priors weigh as much as the noise says. Repeat
   from 2 with the new weights until the noise settles: exact answers are hardly pulled at all,
   noisy ones as far as they deserve.

A row's weight multiplies its attention, its margin and so its residual. A fit can start from an
earlier one, on fewer rows: it then needs a few steps only.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from piste.arrays import FloatArray
from piste.result.facts import FitReport
from piste.surrogates import algebra
from piste.surrogates.algebra import pattern_of
from piste.surrogates.slalom.model import FramePlayer, SlalomModel
from piste.surrogates.slalom.posterior import (
    Equations,
    Posterior,
    Prior,
    PriorTerms,
    Slopes,
    deviations,
)

LONGEST_STEP = 2.0  # of an importance, per iteration
FIRST_NOISE, LEAST_NOISE = 0.05, 1e-6  # variances, in units of the margins' variance
ROUNDS = 6  # of noise estimates, at most
DEFAULT_PRIOR = Prior()
MANY_PLAYERS = 1000  # from here on the algebra is worth several threads


@dataclass(frozen=True)
class _State:
    """Everything that follows from one set of importances."""

    importances: FloatArray  # [players]
    attention: FloatArray  # [entries]: A, of [rows, players (+ frame)]
    values: FloatArray  # [players (+ frame), outputs]
    residual: FloatArray  # [rows, outputs]
    root: FloatArray  # lower Cholesky factor of A'A + ridge
    loss: float  # penalised


def fit_gauss_newton(
    counts: sparse.csr_array,
    margins: FloatArray,
    *,
    frame: bool = False,
    prior: Prior = DEFAULT_PRIOR,
    weights: FloatArray | None = None,
    start: Posterior | None = None,
    iterations: int = 50,
    tolerance: float = 1e-4,
    rounds: int = ROUNDS,
) -> tuple[SlalomModel, FitReport, Posterior | None]:
    """Fit counts [rows, players] to margins [rows, outputs]; gauge: the frame's importance is 0.

    weights [rows]: multiply the residuals. start: an earlier fit of the same players.
    rounds: how often the noise is estimated at most.
    The posterior is None where the margins do not vary: there is nothing to be unsure about.
    """
    mean = margins.mean(axis=0)
    scale = float((margins - mean).std())  # of all outputs together: they share importances
    if scale <= 1e-12 * max(1.0, float(np.abs(mean).max())):
        return _constant(counts.shape[1], mean, frame), FitReport(True, 0, 0.0), None
    with _threads(counts.shape[1]):
        terms = prior.terms(counts.shape[1] + frame, counts.shape[1], mean, scale)
        problem = _Problem(counts, (margins - mean) / scale, frame, terms, weights)
        first = _first(problem, start, scale)
        state, noise, converged, used = _settle(problem, *first, (iterations, tolerance, rounds))
        posterior = problem.posterior(state, noise, scale, mean)
    loss = float(np.mean(state.residual**2)) * scale**2
    model = posterior.model.affine(scale, mean)
    return model, FitReport(converged, used, loss), posterior


def _threads(players: int) -> AbstractContextManager[None]:
    """One BLAS thread for small matrices: numpy's and scipy's pools would wait on each other.

    Measured on two cores at 200 players: 0.07 s with one thread, 0.34 s with two.
    """
    return algebra.one_thread if players < MANY_PLAYERS else nullcontext()


def _constant(players: int, mean: FloatArray, frame: bool) -> SlalomModel:
    """The model's answers do not vary: every value is that answer, no importance is known."""
    always = FramePlayer(mean, 0.0) if frame else None
    return SlalomModel(np.tile(mean, (players, 1)), np.zeros(players), always)


def _first(problem: _Problem, start: Posterior | None, scale: float) -> tuple[FloatArray, float]:
    """Importances and noise to begin with."""
    if start is None:
        return problem.prior.importances, FIRST_NOISE
    return start.model.importances, max(LEAST_NOISE, start.noise * (start.scale / scale) ** 2)


def _settle(
    problem: _Problem, importances: FloatArray, noise: float, limits: tuple[int, float, int]
) -> tuple[_State, float, bool, int]:
    """Descend and re-estimate the noise, in turn: state, noise, converged, iterations."""
    iterations, tolerance, rounds = limits
    used = 0
    for _ in range(rounds):
        problem.assume(noise)
        state, converged, steps = _descend(problem, importances, iterations, tolerance)
        importances, used = state.importances, used + steps
        before, noise = noise, problem.noise(state)
        if abs(noise - before) <= 0.1 * before:
            break
    return state, noise, converged, used


def _descend(
    problem: _Problem, start: FloatArray, iterations: int, tolerance: float
) -> tuple[_State, bool, int]:
    state = problem.solve(start)
    damping = 1e-3
    for iteration in range(1, iterations + 1):
        curvature, slope = problem.normal_equations(state)
        while damping < 1e12:
            trial = problem.solve(state.importances + _step(curvature, slope, damping))
            if trial.loss < state.loss:
                break
            damping *= 10
        else:
            return state, True, iteration  # no direction leads down: a minimum to rounding
        gained = state.loss - trial.loss
        state, damping = trial, max(damping / 10, 1e-9)
        if gained <= tolerance * state.loss:
            return state, True, iteration
    return state, False, iterations


def _step(curvature: FloatArray, slope: FloatArray, damping: float) -> FloatArray:
    damped = curvature + damping * np.diag(np.diag(curvature) + 1e-9)
    step = algebra.solve(algebra.root(damped), slope)
    longest = np.abs(step).max(initial=0.0)
    return np.asarray(step * min(1.0, LONGEST_STEP / max(longest, 1e-300)))


class _Problem:
    """The data of one fit, and the linear algebra on it."""

    def __init__(
        self,
        counts: sparse.csr_array,
        margins: FloatArray,
        frame: bool,
        prior: PriorTerms,
        weights: FloatArray | None,
    ) -> None:
        self.players = counts.shape[1]
        self.weights = np.ones(len(margins)) if weights is None else weights  # [rows]
        self.margins = margins * self.weights[:, None]
        self.frame = frame
        self.prior = prior
        self.pattern = pattern_of(_with_frame(counts) if frame else counts)
        self.known: tuple[_State, tuple[FloatArray, FloatArray]] | None = None
        self.assume(FIRST_NOISE)

    def assume(self, noise: float) -> None:
        """Weigh the priors against this noise variance."""
        self.ridge = noise * self.prior.value_precision
        self.pull = noise * self.prior.importance_precision
        self.known = None

    def noise(self, state: _State) -> float:
        """The residual variance, by the degrees of freedom that the fit left."""
        curvature, _ = self.normal_equations(state)
        inverse_root = algebra.solve_lower(state.root, np.eye(len(state.root)))
        outputs = self.margins.shape[1]
        held = float(self.ridge @ np.sum(inverse_root**2, axis=0))  # trace of (A'A + r)^-1 r
        freedom = (len(state.root) - held) * outputs
        freedom += self.players - np.trace(algebra.solve(algebra.root(curvature), self.pull))
        spare = max(self.margins.size - freedom, 0.1 * self.margins.size)
        return max(LEAST_NOISE, float(np.sum(state.residual**2) / spare))

    def solve(self, importances: FloatArray) -> _State:
        attention = self._attention(importances)
        gram = self.pattern.product(attention, attention)
        gram[np.diag_indices_from(gram)] += self.ridge
        root = algebra.root(gram)
        moments = self.pattern.transposed(attention, self.margins)
        moments += self.ridge[:, None] * self.prior.values
        values = algebra.solve(root, moments)
        residual = self.margins - self.pattern.times(attention, values)
        away = importances - self.prior.importances
        penalty = self.ridge @ np.sum((values - self.prior.values) ** 2, axis=1)
        loss = float(np.sum(residual**2) + penalty + away @ self.pull @ away)
        return _State(importances, attention, values, residual, root, loss)

    def normal_equations(self, state: _State) -> tuple[FloatArray, FloatArray]:
        """Curvature [players, players] and slope [players] in the importances alone."""
        if self.known is None or self.known[0] is not state:
            self.known = state, self._normal_equations(state)
        return self.known[1]

    def _normal_equations(self, state: _State) -> tuple[FloatArray, FloatArray]:
        curvature = self.pull.copy()
        slope = -self.pull @ (state.importances - self.prior.importances)
        for output in range(self.margins.shape[1]):
            jacobian = self._jacobian(state, output)
            rooted = algebra.solve_lower(state.root, self._mixed(state, jacobian))
            own = self.pattern.product(jacobian, jacobian)[: self.players, : self.players]
            curvature += own - rooted.T @ rooted
            slope += self.pattern.transposed(jacobian, state.residual)[: self.players, output]
        return curvature, slope

    def posterior(self, state: _State, noise: float, scale: float, offset: FloatArray) -> Posterior:
        return Posterior(
            self.model(state), noise, scale, offset, partial(self._equations, state, noise)
        )

    def _equations(self, state: _State, noise: float) -> Equations:
        curvature = algebra.root(self.normal_equations(state)[0])
        entries = [self._jacobian(state, output) for output in range(self.margins.shape[1])]
        mixed = np.array([self._mixed(state, jacobian) for jacobian in entries])
        slopes = self._slopes(state, noise, entries, mixed, curvature)
        return Equations(curvature, state.root, mixed, slopes)

    def _slopes(
        self,
        state: _State,
        noise: float,
        entries: list[FloatArray],
        mixed: FloatArray,
        curvature: FloatArray,
    ) -> Slopes:
        attention = self.pattern.matrix(state.attention)
        jacobians = tuple(self.pattern.matrix(each)[:, : self.players] for each in entries)
        roots = (state.root, curvature)
        return Slopes(
            attention=attention,
            jacobians=jacobians,
            deviations=deviations(state.residual, attention, jacobians, roots, mixed),
            value_widths=np.sqrt(noise * self.ridge),
            importance_root=np.sqrt(noise) * algebra.root(self.pull),
        )

    def _jacobian(self, state: _State, output: int) -> FloatArray:
        """alpha_j (v_j - F) [entries]: in the same places as the attention."""
        fitted = (self.margins[:, output] - state.residual[:, output]) / self.weights
        gap = self.pattern.by_column(state.values[:, output]) - self.pattern.by_row(fitted)
        return np.asarray(state.attention * gap)

    def _mixed(self, state: _State, jacobian: FloatArray) -> FloatArray:
        """A'D [players (+ frame), players]."""
        return self.pattern.product(state.attention, jacobian)[:, : self.players]

    def model(self, state: _State) -> SlalomModel:
        frame = FramePlayer(state.values[-1], 0.0) if self.frame else None
        return SlalomModel(state.values[: self.players], state.importances, frame)

    def _attention(self, importances: FloatArray) -> FloatArray:
        logs = np.append(importances, 0.0) if self.frame else importances
        shares = self.pattern.data * self.pattern.by_column(np.exp(logs - logs.max()))
        per_row = self.weights / self.pattern.row_sums(shares)
        return np.asarray(shares * self.pattern.by_row(per_row))


def _with_frame(counts: sparse.csr_array) -> sparse.csr_array:
    ones = sparse.csr_array(np.ones((counts.shape[0], 1)))
    return sparse.csr_array(sparse.hstack([counts, ones], format="csr"))
