"""The fit of `gauss_newton` for many thousand players: memory linear in the answers.

Values and importances are moved together: (J'J + noise * prior + damping) step = J'residual - noise
* prior (theta - mean), solved by conjugate gradients with the diagonal as preconditioner (few
players: by a dense matrix, which is faster). Errors come from draws: every answer is shaken by its
own deviation, and the same equations are solved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from piste.arrays import FloatArray
from piste.result.facts import FitReport
from piste.surrogates import algebra
from piste.surrogates.slalom.gauss_newton import FIRST_NOISE, LEAST_NOISE, LONGEST_STEP
from piste.surrogates.slalom.model import FramePlayer, SlalomModel
from piste.surrogates.slalom.posterior import Prior, spread

DRAWS = 24  # the error of an error is then about 14 %
# When to stop. All of these are so strict because it is rounding that decides after which step a
# limit is met: where looser ones stop, a corpus of ten texts has importances that differ by 0.2,
# and errors by 5 %, from one machine to the next.
TOLERANCE = 1e-6  # of the loss, for a step of the descent
EXACT = 100  # times that tolerance: of the conjugate gradients
MOST_STEPS = 400  # of the conjugate gradients
MOST_DENSE = 400  # parameters
ROUNDS = 4  # of noise estimates, at most
LEAST_FREE = 0.3  # of an answer: leverage judged by the diagonal alone is an upper bound
LOOSE = 1e-3  # of the importances' pull: their mean is fixed only as far as it must be


Solver = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Errors:
    """Standard errors of a fit's parameters."""

    values: FloatArray  # [players, outputs]
    importances: FloatArray  # [players]


def fit_large(
    counts: sparse.csr_array,
    margins: FloatArray,
    *,
    frame: bool = True,
    weights: FloatArray | None = None,
    start: SlalomModel | None = None,
    iterations: int = 100,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[SlalomModel, FitReport, Errors]:
    """Fit counts [rows, players] to margins [rows, outputs]; the frame's importance is 0.

    weights [rows] multiply the residuals; start: a model of the same players to go on from.
    draws: for the errors; without any they are 0.
    """
    mean, scale = margins.mean(axis=0), float((margins - margins.mean(axis=0)).std())
    scale = scale if scale > 1e-12 else 1.0
    problem = _Problem(counts, (margins - mean) / scale, frame, weights, EXACT * tolerance)
    state, noise, used, converged = problem.first(start, mean, scale), FIRST_NOISE, 0, False
    with algebra.one_thread:  # products of vectors: several threads wait for each other
        for _ in range(ROUNDS):
            state, steps, converged = problem.descend(state, noise, iterations, tolerance)
            before, noise, used = noise, problem.noise(state, noise), used + steps
            if abs(noise - before) <= 0.1 * before:
                break
        errors = problem.errors(state, noise, np.random.default_rng(seed), draws)
    loss = float(np.mean(state.residual**2)) * scale**2
    model = problem.model(state).affine(scale, mean)
    return (
        model,
        FitReport(converged, used, loss),
        Errors(scale * errors.values, errors.importances),
    )


@dataclass(frozen=True)
class _State:
    """The parameters, and what follows from them."""

    values: FloatArray  # [players (+ frame), outputs]
    importances: FloatArray  # [players]
    attention: sparse.csr_array  # A [rows, players (+ frame)]
    slopes: tuple[sparse.csr_array, ...]  # D of each output [rows, players]
    residual: FloatArray  # [rows, outputs]

    @property
    def theta(self) -> FloatArray:
        return np.concatenate([self.values.T.reshape(-1), self.importances])


class _Problem:
    def __init__(
        self,
        counts: sparse.csr_array,
        margins: FloatArray,
        frame: bool,
        weights: FloatArray | None,
        exact: float,  # relative residual with which a step is solved
    ) -> None:
        self.exact = exact
        self.players, self.frame = counts.shape[1], frame
        self.weights = np.ones(len(margins)) if weights is None else weights
        self.margins = margins * self.weights[:, None]
        ones = sparse.csr_array(np.ones((counts.shape[0], 1)))
        self.counts = sparse.csr_array(sparse.hstack([counts, ones])) if frame else counts
        self.row = np.repeat(np.arange(counts.shape[0]), np.diff(self.counts.indptr))
        prior = Prior()
        self.value_pull, self.importance_pull = prior.value**-2, prior.importance**-2
        self.outputs = margins.shape[1]

    def first(self, start: SlalomModel | None, mean: FloatArray, scale: float) -> _State:
        size = self.counts.shape[1]
        if start is None:
            return self.state(np.zeros((size, self.outputs)), np.zeros(self.players))
        known = start.affine(1 / scale, -mean / scale)
        rows = [known.values] + ([known.frame.value[None]] if known.frame is not None else [])
        return self.state(np.vstack(rows), known.importances)

    def state(self, values: FloatArray, importances: FloatArray) -> _State:
        logs = np.append(importances, 0.0) if self.frame else importances
        shares = self.counts.data * np.exp(logs - logs.max())[self.counts.indices]
        totals = np.bincount(self.row, shares, minlength=len(self.margins))
        entries = shares * (self.weights / totals)[self.row]
        attention = self._matrix(entries)
        fitted = attention @ values
        plain = fitted / self.weights[:, None]
        slopes = tuple(
            self._matrix(entries * (values[self.counts.indices, o] - plain[self.row, o]))[
                :, : self.players
            ]
            for o in range(self.outputs)
        )
        return _State(values, importances, attention, slopes, self.margins - fitted)

    def _matrix(self, entries: FloatArray) -> sparse.csr_array:
        given = (entries, self.counts.indices, self.counts.indptr)
        return sparse.csr_array(given, shape=self.counts.shape)

    def descend(
        self, state: _State, noise: float, iterations: int, tolerance: float
    ) -> tuple[_State, int, bool]:
        damping, loss = 1e-3, self._loss(state, noise)
        for count in range(1, iterations + 1):
            slope = self._pulled(state, state.residual) - noise * self._prior(state.theta)
            while damping < 1e9:
                trial = self._moved(state, self._solver(state, noise, damping)(slope))
                fallen = self._loss(trial, noise)
                if fallen < loss:
                    break
                damping *= 10
            else:
                return state, count, True
            gained, loss = loss - fallen, fallen
            state, damping = trial, max(damping / 10, 1e-6)
            if gained <= tolerance * loss:
                return state, count, True
        return state, iterations, False

    def noise(self, state: _State, noise: float) -> float:
        """The residual variance by the degrees of freedom left, judged by the diagonal."""
        diagonal = self._diagonal(state)
        pull = noise * self._prior_diagonal()
        freedom = float(np.sum(diagonal / (diagonal + pull)))
        spare = max(self.margins.size - freedom, 0.1 * self.margins.size)
        return max(LEAST_NOISE, float(np.sum(state.residual**2)) / spare)

    def errors(self, state: _State, noise: float, rng: np.random.Generator, count: int) -> Errors:
        deviations = np.abs(state.residual) / np.maximum(
            1 - self._leverage(state, noise), LEAST_FREE
        )
        draws, solve = [np.zeros(state.theta.size)], self._solver(state, noise, 0.0)
        for _ in range(count):
            shaken = deviations * rng.normal(size=deviations.shape)
            wobble = np.sqrt(noise * self._prior_diagonal()) * rng.normal(size=state.theta.size)
            pulled = self._pulled(state, shaken) + np.sqrt(noise) * wobble
            draws.append(self._gauged(solve(pulled)))
        moves = spread(np.array(draws[1:] or draws))
        size = self.counts.shape[1]
        values = moves[: size * self.outputs].reshape(self.outputs, size).T
        return Errors(values[: self.players], moves[size * self.outputs :])

    def _gauged(self, move: FloatArray) -> FloatArray:
        """Without a frame all importances may shift together: that is no error of any of them."""
        if self.frame:
            return move
        size = self.counts.shape[1] * self.outputs
        return np.append(move[:size], move[size:] - move[size:].mean())

    def model(self, state: _State) -> SlalomModel:
        frame = FramePlayer(state.values[-1], 0.0) if self.frame else None
        return SlalomModel(state.values[: self.players], state.importances, frame)

    def _moved(self, state: _State, step: FloatArray) -> _State:
        size = self.counts.shape[1] * self.outputs
        longest = float(np.abs(step[size:]).max(initial=0.0))
        step = step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
        values = state.values + step[:size].reshape(self.outputs, -1).T
        return self.state(values, state.importances + step[size:])

    def _loss(self, state: _State, noise: float) -> float:
        theta = state.theta
        return float(np.sum(state.residual**2) + noise * theta @ self._prior(theta))

    def _prior(self, theta: FloatArray) -> FloatArray:
        """The prior's precision times theta: importances are pulled to their mean."""
        size = self.counts.shape[1] * self.outputs
        importances = theta[size:]
        away = importances - (1 - LOOSE) * importances.mean()
        return np.concatenate([self.value_pull * theta[:size], self.importance_pull * away])

    def _prior_diagonal(self) -> FloatArray:
        values = np.full(self.counts.shape[1] * self.outputs, self.value_pull)
        return np.append(values, np.full(self.players, self.importance_pull))

    def _pulled(self, state: _State, residual: FloatArray) -> FloatArray:
        """J' residual."""
        values = [state.attention.T @ residual[:, o] for o in range(self.outputs)]
        together = sum(state.slopes[o].T @ residual[:, o] for o in range(self.outputs))
        return np.concatenate([*values, together])

    def _pushed(self, state: _State, theta: FloatArray) -> FloatArray:
        """J theta [rows, outputs]."""
        size = self.counts.shape[1]
        importances = theta[size * self.outputs :]
        columns = [
            state.attention @ theta[o * size : (o + 1) * size] + state.slopes[o] @ importances
            for o in range(self.outputs)
        ]
        return np.stack(columns, axis=1)

    def _diagonal(self, state: _State) -> FloatArray:
        """Of J'J."""
        values = np.asarray(state.attention.power(2).sum(axis=0)).reshape(-1)
        together = sum(np.asarray(d.power(2).sum(axis=0)).reshape(-1) for d in state.slopes)
        return np.concatenate([np.tile(values, self.outputs), together])

    def _leverage(self, state: _State, noise: float) -> FloatArray:
        """How much of each answer the fit repeats [rows, outputs], judged by the diagonal."""
        inverse = 1 / (self._diagonal(state) + noise * self._prior_diagonal())
        size = self.counts.shape[1]
        own = state.attention.power(2) @ inverse[:size]
        together = [d.power(2) @ inverse[size * self.outputs :] for d in state.slopes]
        return np.stack([own + part for part in together], axis=1)

    def _gram(self, state: _State) -> FloatArray:
        """J'J."""
        values = sparse.block_diag([state.attention] * self.outputs, format="csr")
        jacobian = sparse.hstack([values, sparse.vstack(state.slopes)], format="csr")
        return np.asarray((jacobian.T @ jacobian).toarray())

    @cached_property
    def _prior_matrix(self) -> FloatArray:
        size = self.counts.shape[1] * self.outputs + self.players
        return np.array([self._prior(column) for column in np.eye(size)])

    def _solver(self, state: _State, noise: float, damping: float) -> Solver:
        """Solves (J'J + noise * prior + damping) theta = right for theta."""
        diagonal = self._diagonal(state)
        lift = damping * (diagonal + 1e-9)
        if len(diagonal) <= MOST_DENSE:
            matrix = self._gram(state) + noise * self._prior_matrix + np.diag(lift)
            return partial(algebra.solve, algebra.root(matrix))

        def times(theta: FloatArray) -> FloatArray:
            pushed = self._pulled(state, self._pushed(state, theta))
            return np.asarray(pushed + noise * self._prior(theta) + lift * theta)

        inverse = 1 / (diagonal + noise * self._prior_diagonal() + lift)
        return partial(_conjugate_gradients, times, inverse, self.exact)


def _conjugate_gradients(
    times: Solver, inverse: FloatArray, exact: float, right: FloatArray
) -> FloatArray:
    """The solution by conjugate gradients; `inverse` of the diagonal is the preconditioner."""
    solution, _ = cg(
        _operator(times, len(right)),
        right,
        rtol=exact,
        maxiter=MOST_STEPS,
        M=_operator(lambda given: inverse * given, len(right)),
    )
    return np.asarray(solution)


def _operator(times: Solver, size: int) -> LinearOperator:
    return LinearOperator((size, size), matvec=times, dtype=np.float64)
