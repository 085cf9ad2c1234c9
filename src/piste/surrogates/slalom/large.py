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

from piste.arrays import FloatArray, IntArray
from piste.result.facts import FitReport
from piste.surrogates import algebra
from piste.surrogates.slalom.gauss_newton import FIRST_NOISE, LEAST_NOISE, LONGEST_STEP
from piste.surrogates.slalom.model import FramePlayer, SlalomModel
from piste.surrogates.slalom.posterior import Prior, spread

DRAWS = 24  # the error of an error is then about 14 %
MOST_STEPS = 400  # of the conjugate gradients
TINY = 1e-300  # of a column that is solved already
MOST_DENSE = 400  # parameters
ROUNDS = 4  # of noise estimates, at most
LEAST_FREE = 0.3  # of an answer: leverage judged by the diagonal alone is an upper bound
LOOSELY = 1e-3  # of the importances' pull: their mean is fixed only as far as it must be


Solver = Callable[[FloatArray], FloatArray]  # of columns [parameters, columns]


@dataclass(frozen=True)
class Precision:
    """When to stop."""

    descent: float  # of the loss: what a step gains at least
    step: float  # relative residual of the conjugate gradients, for a step
    errors: float  # the same for the draws


# So strict because it is rounding that decides after which step a limit is met: where looser ones
# stop, a corpus of ten texts has importances that differ by 0.2, and errors by 5 %, from one
# machine to the next.
STRICT = Precision(1e-6, 1e-4, 1e-4)
LOOSE = Precision(1e-4, 0.1, 0.01)  # where a fit will be repeated, or rests on other errors


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
    precision: Precision = STRICT,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[SlalomModel, FitReport, Errors]:
    """Fit counts [rows, players] to margins [rows, outputs]; the frame's importance is 0.

    weights [rows] multiply the residuals; start: a model of the same players to go on from.
    draws: for the errors; without any they are 0.
    """
    mean, scale = margins.mean(axis=0), float((margins - margins.mean(axis=0)).std())
    scale = scale if scale > 1e-12 else 1.0
    problem = _Problem(counts, (margins - mean) / scale, frame, weights, precision)
    state, used, converged = problem.first(start, mean, scale), 0, False
    with algebra.one_thread:  # products of vectors: several threads wait for each other
        noise = FIRST_NOISE if start is None else problem.noise(state, FIRST_NOISE)
        for _ in range(ROUNDS):
            state, steps, converged = problem.descend(state, noise, iterations)
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
    entries: FloatArray  # A, where the counts have their entries
    residual: FloatArray  # [rows, outputs]

    @property
    def theta(self) -> FloatArray:
        return np.concatenate([self.values.T.reshape(-1), self.importances])


@dataclass(frozen=True)
class _Slopes:
    """J [outputs * rows, parameters], and the diagonal of J'J."""

    jacobian: sparse.csr_array
    transposed: sparse.csc_array
    diagonal: FloatArray  # [parameters]


class _Problem:
    def __init__(
        self,
        counts: sparse.csr_array,
        margins: FloatArray,
        frame: bool,
        weights: FloatArray | None,
        precision: Precision,
    ) -> None:
        self.precision = precision
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
        attention = (entries, self.counts.indices, self.counts.indptr)
        fitted = sparse.csr_array(attention, shape=self.counts.shape) @ values
        return _State(values, importances, entries, self.margins - fitted)

    def slopes(self, state: _State) -> _Slopes:
        """J: of the values A, one block an output; of the importances A (v - F)."""
        order, column, starts = self._places
        plain = (self.margins - state.residual) / self.weights[:, None]
        gaps = (state.values[self.counts.indices] - plain[self.row]).T  # [outputs, entries]
        moved = (state.entries * gaps)[:, self.counts.indices < self.players]
        data = np.concatenate([np.tile(state.entries, self.outputs), moved.reshape(-1)])[order]
        size = self.counts.shape[1] * self.outputs + self.players
        jacobian = sparse.csr_array((data, column, starts), shape=(self.margins.size, size))
        diagonal = np.asarray(np.bincount(column, data**2, minlength=size), dtype=np.float64)
        return _Slopes(jacobian, jacobian.T, diagonal)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where the entries of J stand: their order by rows, their columns, and the rows' starts.

        Before it they are in blocks: A for every output, then what the importances move.
        """
        rows, size = self.counts.shape
        inside = self.counts.indices < self.players
        blocks = range(self.outputs)
        row = [self.row + output * rows for output in blocks]
        row += [self.row[inside] + output * rows for output in blocks]
        column = [self.counts.indices + output * size for output in blocks]
        column += [self.counts.indices[inside] + self.outputs * size] * self.outputs
        every = np.concatenate(row)
        order = np.argsort(every, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(every, minlength=self.margins.size))])
        return order, np.concatenate(column)[order].astype(np.int32), starts.astype(np.int32)

    def descend(self, state: _State, noise: float, iterations: int) -> tuple[_State, int, bool]:
        """Damped steps, the damping less after those that gain about what they should."""
        exact = self.precision.step
        damping, loss = 1e-3, self._loss(state, noise)
        for count in range(1, iterations + 1):
            slopes, raised = self.slopes(state), 2.0
            slope = _pulled(slopes, state.residual) - noise * self._prior(state.theta)
            while damping < 1e9:
                solve = self._solver(slopes, noise, damping, exact)
                step = self._limited(solve(slope[:, None])[:, 0])
                trial = self._moved(state, step)
                gained = loss - self._loss(trial, noise)
                if gained > 0:
                    break
                damping, raised = damping * raised, 2 * raised
            else:
                return state, count, True
            expected = step @ slope + damping * step @ ((slopes.diagonal + 1e-9) * step)
            damping = max(damping / 10, 1e-6) if gained > expected / 2 else damping
            state, loss = trial, loss - gained
            if gained <= self.precision.descent * loss:
                return state, count, True
        return state, iterations, False

    def noise(self, state: _State, noise: float) -> float:
        """The residual variance by the degrees of freedom left, judged by the diagonal."""
        diagonal = self.slopes(state).diagonal
        pull = noise * self._prior_diagonal()
        freedom = float(np.sum(diagonal / (diagonal + pull)))
        spare = max(self.margins.size - freedom, 0.1 * self.margins.size)
        return max(LEAST_NOISE, float(np.sum(state.residual**2)) / spare)

    def errors(self, state: _State, noise: float, rng: np.random.Generator, count: int) -> Errors:
        slopes = self.slopes(state)
        deviations = np.abs(state.residual) / np.maximum(
            1 - self._leverage(slopes, noise), LEAST_FREE
        )
        pulled = np.zeros((state.theta.size, count))
        widths = noise * np.sqrt(self._prior_diagonal())
        for draw in range(count):
            shaken = deviations * rng.normal(size=deviations.shape)
            pulled[:, draw] = _pulled(slopes, shaken) + widths * rng.normal(size=len(pulled))
        draws = self._solver(slopes, noise, 0.0, self.precision.errors)(pulled)
        moves = spread(self._gauged(draws).T) if count else np.zeros(len(pulled))
        size = self.counts.shape[1]
        values = moves[: size * self.outputs].reshape(self.outputs, size).T
        return Errors(values[: self.players], moves[size * self.outputs :])

    def _gauged(self, moves: FloatArray) -> FloatArray:
        """Without a frame all importances may shift together: that is no error of any of them."""
        if not self.frame:
            moves[-self.players :] -= moves[-self.players :].mean(axis=0)
        return moves

    def model(self, state: _State) -> SlalomModel:
        frame = FramePlayer(state.values[-1], 0.0) if self.frame else None
        return SlalomModel(state.values[: self.players], state.importances, frame)

    def _limited(self, step: FloatArray) -> FloatArray:
        """The step, shortened where an importance would move too far."""
        longest = float(np.abs(step[-self.players :]).max(initial=0.0))
        return step * min(1.0, LONGEST_STEP / max(longest, 1e-300))

    def _moved(self, state: _State, step: FloatArray) -> _State:
        size = self.counts.shape[1] * self.outputs
        values = state.values + step[:size].reshape(self.outputs, -1).T
        return self.state(values, state.importances + step[size:])

    def _loss(self, state: _State, noise: float) -> float:
        theta = state.theta
        return float(np.sum(state.residual**2) + noise * theta @ self._prior(theta))

    def _prior(self, theta: FloatArray) -> FloatArray:
        """The prior's precision times theta: importances are pulled to their mean."""
        size = self.counts.shape[1] * self.outputs
        importances = theta[size:]
        away = importances - (1 - LOOSELY) * importances.mean(axis=0)
        return np.concatenate([self.value_pull * theta[:size], self.importance_pull * away])

    def _prior_diagonal(self) -> FloatArray:
        values = np.full(self.counts.shape[1] * self.outputs, self.value_pull)
        return np.append(values, np.full(self.players, self.importance_pull))

    def _leverage(self, slopes: _Slopes, noise: float) -> FloatArray:
        """How much of each answer the fit repeats [rows, outputs], judged by the diagonal."""
        inverse = 1 / (slopes.diagonal + noise * self._prior_diagonal())
        return np.asarray((slopes.jacobian.power(2) @ inverse).reshape(self.outputs, -1).T)

    @cached_property
    def _prior_matrix(self) -> FloatArray:
        size = self.counts.shape[1] * self.outputs + self.players
        return np.array([self._prior(column) for column in np.eye(size)])

    def _solver(self, slopes: _Slopes, noise: float, damping: float, exact: float) -> Solver:
        """Solves (J'J + noise * prior + damping) theta = right for theta."""
        diagonal = slopes.diagonal
        lift = damping * (diagonal + 1e-9)
        if len(diagonal) <= MOST_DENSE:
            gram = (slopes.transposed @ slopes.jacobian).toarray()
            matrix = gram + noise * self._prior_matrix + np.diag(lift)
            return partial(algebra.solve, algebra.root(matrix))

        def times(theta: FloatArray) -> FloatArray:
            pushed = slopes.transposed @ (slopes.jacobian @ theta)
            return np.asarray(pushed + noise * self._prior(theta) + lift[:, None] * theta)

        inverse = 1 / (diagonal + noise * self._prior_diagonal() + lift)
        return partial(_conjugate_gradients, times, inverse[:, None], exact)


def _pulled(slopes: _Slopes, residual: FloatArray) -> FloatArray:
    """J' residual [rows, outputs]."""
    return np.asarray(slopes.transposed @ residual.T.reshape(-1))


def _conjugate_gradients(
    times: Solver, inverse: FloatArray, exact: float, right: FloatArray
) -> FloatArray:
    """The solution by conjugate gradients; `inverse` of the diagonal is the preconditioner.

    scipy's own takes longer for its checks than for these products.
    """
    solution, left = np.zeros_like(right), right.copy()
    near = exact * np.linalg.norm(right, axis=0)
    direction, size = np.zeros_like(right), np.ones(right.shape[1])
    for _ in range(MOST_STEPS):
        if (np.linalg.norm(left, axis=0) <= near).all():
            break
        lifted = inverse * left
        before, size = size, np.einsum("pc,pc->c", left, lifted)
        direction = lifted + (size / before) * direction
        moved = times(direction)
        step = size / np.maximum(np.einsum("pc,pc->c", direction, moved), TINY)
        solution += step * direction
        left -= step * moved
        size = np.maximum(size, TINY)
    return solution
