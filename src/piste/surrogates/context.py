"""What words do together: a Gaussian process over parts of a text, with one relevance a player.

A part S keeps some players and removes the others. The model's answer to it is

    f(S) = mean(S) + g(S),    g ~ GP(0, amplitude * k)
    k(S, S') = constant + h(S) h(S') exp(-sum_i a_i [S and S' differ in i]) + noise [S = S']

mean is SLALOM's prediction, or 0. a_i is the *relevance* of player i: how much the answer can
change when it does. The exponential is a product over players, so it holds interactions of every
order, weaker the higher. h(S) = exp(slope * kept share) lets short parts differ more than long
ones, as averaging makes them.

`fit_context` finds the relevances by maximum posterior: the amplitude of each output is profiled
out, log a_i has a normal prior. Everything else is linear algebra: predictions, leave-one-out
residuals, and in `effects.py` Shapley values and interactions with their covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from piste.arrays import BoolArray, FloatArray, IntArray
from piste.surrogates import algebra
from piste.surrogates.lbfgs import minimise

CONSTANT = 1.0  # variance of the level, in units of the amplitude
EXACT = 1e-4  # of the noise: what is left of it where an answer must be met
JITTER = 1e-8
TYPICAL = 1.5  # sum of the relevances before anything was asked
WIDTH = 1.0  # standard deviation of log relevances around their prior
NOISE, NOISE_WIDTH = np.log(0.02), 2.0  # prior of the log noise
SLOPE_WIDTH, LEVEL_WIDTH = 1.0, 1.0
LOG_BOUNDS = (-30.0, 10.0)  # of relevances and noise
EXACTLY, ROUGHLY = 1e-8, 1e-5  # gains of the loss, relative to it, that end a fit
ITERATIONS = 60
FOLDS, REFITTING = 5, 8  # of answers that are held out, and iterations of a fit without them
ODD = 25.0  # times the mean square that was seen: errors five times as large
MANY_ANSWERS = 500  # from here on relevances hardly know single answers
MOST_FITTED = 1000  # parts that relevances are fitted to; an iteration costs their cube
LEAST = 1e-12
LARGE, FEW = 100_000, 0.1  # entries of many parts, and the share of players that most of them keep


@dataclass(frozen=True)
class Kernel:
    """The covariance of answers to parts of one text, in units of the amplitude."""

    relevances: FloatArray  # [players]
    noise: float = 0.02  # variance of what no kernel explains
    slope: float = 0.0  # of the log deviation, from no player kept to all

    def between(self, first: BoolArray, second: BoolArray) -> FloatArray:
        """Covariance of answers to two sets of parts [first, second], without noise."""
        spread = np.outer(self.deviation(first), self.deviation(second))
        return CONSTANT + spread * self.likeness(first, second)

    def likeness(self, first: BoolArray | FloatArray, second: BoolArray | FloatArray) -> FloatArray:
        """The exponential: 1 for equal parts, less the more relevant players differ."""
        first, second = (np.asarray(parts, dtype=np.float64) for parts in (first, second))
        weighted = second * self.relevances
        # sum a_i [x != y] = sum a_i x + sum a_i y - 2 sum a_i x y
        differing = (first @ self.relevances)[:, None] + weighted.sum(axis=1)[None]
        differing -= 2 * _sums(first, weighted.T)
        return np.asarray(np.exp(-np.maximum(differing, 0.0)))

    def deviation(self, parts: BoolArray) -> FloatArray:
        """h [parts]."""
        return np.asarray(np.exp(self.slope * (parts.mean(axis=1) - 0.5)))


@dataclass(frozen=True, eq=False)
class Process:
    """The process given answers: what it says of any part, and how sure it is.

    Several outputs share the kernel and its factorisation; each has an amplitude of its own.
    """

    kernel: Kernel
    parts: BoolArray  # [asked, players]
    residuals: FloatArray  # [asked, outputs]: answers less the mean
    exact: BoolArray  # [asked]: answers that must be met
    amplitude: FloatArray  # [outputs]
    inflation: float = 1.0  # of variances: the relevances are not known for certain
    iterations: int = 0

    @cached_property
    def factor(self) -> FloatArray:
        """The lower Cholesky factor of the covariance of what was asked."""
        covariance = self.kernel.between(self.parts, self.parts)
        covariance[np.diag_indices_from(covariance)] += self.noises
        return algebra.root(covariance)

    @property
    def noises(self) -> FloatArray:
        """Variances of the answers' own noise [asked]; next to none where they must be met."""
        return self.kernel.noise * np.where(self.exact, EXACT, 1.0) + JITTER

    @cached_property
    def weights(self) -> FloatArray:
        """alpha [asked, outputs]: a prediction is k(S, asked) @ alpha."""
        return algebra.solve(self.factor, self.residuals)

    @cached_property
    def precision(self) -> FloatArray:
        """The diagonal of the inverse covariance [asked]."""
        return np.diag(algebra.inverse(self.factor))

    def predict(self, parts: BoolArray) -> FloatArray:
        """The process's mean at parts [parts, outputs], to be added to the mean function."""
        return self.kernel.between(parts, self.parts) @ self.weights

    def covariance(self, first: BoolArray, second: BoolArray) -> FloatArray:
        """Posterior covariance of g [first, second], in units of the amplitude."""
        left = self.explained(self.kernel.between(first, self.parts))
        right = left[:, : len(second)]
        if not np.array_equal(first[: len(second)], second):
            right = self.explained(self.kernel.between(second, self.parts))
        return self.kernel.between(first, second) - left.T @ right

    def explained(self, cross: FloatArray) -> FloatArray:
        """The factor of what the answers take away from the covariance of linear functionals of g,
        given their covariances with the answers [functionals, asked].
        """
        return algebra.solve_lower(self.factor, np.ascontiguousarray(cross.T))

    def errors(self, parts: BoolArray) -> FloatArray:
        """Standard errors of predicted answers [parts, outputs]."""
        return self.scaled(self.variances(parts) + self.kernel.noise)

    def variances(self, parts: BoolArray) -> FloatArray:
        """Posterior variances of g [parts], in units of the amplitude."""
        left = self.explained(self.kernel.between(parts, self.parts))
        own = CONSTANT + self.kernel.deviation(parts) ** 2
        return np.asarray(np.maximum(own - np.sum(left**2, axis=0), 0.0))

    def scaled(self, variance: FloatArray) -> FloatArray:
        """Standard errors [.., outputs] of variances [..] in units of the amplitude."""
        spread = np.sqrt(np.maximum(variance, 0.0) * self.inflation)
        return np.asarray(spread[..., None] * np.sqrt(self.amplitude))

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Residuals of every answer predicted from all others, and their variance.

        [asked, outputs] on the answers' scale, [asked] in units of the amplitude.
        """
        return self.weights / self.precision[:, None], 1 / self.precision

    def conditioned(self, residuals: FloatArray) -> Process:
        """The same kernel with other residuals."""
        return replace(self, residuals=residuals)


def _sums(parts: FloatArray, numbers: FloatArray) -> FloatArray:
    """parts @ numbers. In long texts, parts of few players or without few by those alone."""
    if parts.size < LARGE:
        return parts @ numbers
    kept = parts.mean()
    if kept < FEW:
        return np.asarray(sparse.csr_array(parts) @ numbers)
    if kept > 1 - FEW:
        return np.asarray(numbers.sum(axis=0) - sparse.csr_array(parts == 0) @ numbers)
    return parts @ numbers


def keys(parts: BoolArray) -> list[bytes]:
    """Parts as keys of a dictionary."""
    return [row.tobytes() for row in np.ascontiguousarray(parts)]


def fit_context(
    parts: BoolArray,
    residuals: FloatArray,
    prior: FloatArray | None = None,
    *,
    exact: BoolArray | None = None,
    start: Kernel | None = None,
    iterations: int = ITERATIONS,
    precision: float = EXACTLY,
) -> Process:
    """The process for residuals [parts, outputs] of answers to parts [parts, players].

    prior [players]: what the log relevances are believed to be, up to a level that is fitted.
    exact [parts]: answers that the process must meet. start: the kernel of an earlier fit.
    The process knows all answers; the kernel is fitted to MOST_FITTED of them at most.
    """
    prior = np.zeros(parts.shape[1]) if prior is None else prior
    exact = np.zeros(len(parts), dtype=bool) if exact is None else exact
    some = _fitted(exact)
    problem = _Problem(parts[some], _standardised(residuals[some]), prior, exact[some])
    with algebra.one_thread:
        guess = problem.first(start)
        solution, steps = minimise(problem.loss, guess, iterations, precision)
        kernel = problem.kernel(solution)
        process = Process(kernel, parts, residuals, exact, np.ones(residuals.shape[1]))
        explained = np.mean(residuals * process.weights, axis=0)
    amplitude = np.maximum(explained, LEAST)
    return replace(process, amplitude=amplitude, iterations=steps)


def shortfall(process: Process, prior: FloatArray) -> float:
    """By how much the process's variances are too small, 1 or more, for the first output.

    Answers that are held out tell, where they are further off than expected. The relevances must
    not know them either: they are fitted anew to all others, fold by fold. A fit without the one
    odd answer may be sure of itself beyond measure: the noise of all answers stays known, and at
    the parts held out errors are at most five times as large as they turned out to be.
    """
    rest = np.flatnonzero(~process.exact)
    if not len(rest):
        return 1.0
    off, variances = (part[rest] for part in process.left_out())
    off, variances = off[:, 0], variances * process.amplitude[0]
    if FOLDS <= len(rest) <= MANY_ANSWERS:
        order = np.random.default_rng(0).permutation(rest)
        folds = [_held_out(process, prior, order[start::FOLDS]) for start in range(FOLDS)]
        off, variances = (np.concatenate(parts) for parts in zip(*folds, strict=True))
    noise = process.kernel.noise * process.amplitude[0]
    typical = float(np.mean(off**2 / np.maximum(variances, noise)))
    return max(1.0, min(typical, ODD * float(np.mean(off**2) / np.mean(variances))))


def _held_out(process: Process, prior: FloatArray, held: IntArray) -> tuple[FloatArray, FloatArray]:
    """How far the first output's answers are off for a process that is fitted to all others, and
    the variances that it expects.
    """
    known = np.delete(np.arange(len(process.parts)), held)
    fitted = fit_context(
        process.parts[known],
        process.residuals[known],
        prior,
        exact=process.exact[known],
        start=process.kernel,
        iterations=REFITTING,
        precision=ROUGHLY,
    )
    parts = process.parts[held]
    return process.residuals[held, 0] - fitted.predict(parts)[:, 0], fitted.errors(parts)[:, 0] ** 2


def _fitted(exact: BoolArray) -> IntArray:
    """Which answers the kernel is fitted to: those that must be met first, then any, at random."""
    if len(exact) <= MOST_FITTED:
        return np.arange(len(exact))
    order = np.random.default_rng(0).permutation(len(exact))
    first = order[np.argsort(~exact[order], kind="stable")]
    return np.sort(first[:MOST_FITTED])


def _standardised(residuals: FloatArray) -> FloatArray:
    """Outputs that vary, in units of their deviation: amplitudes then weigh equally."""
    size = np.sqrt(np.mean(residuals**2, axis=0))
    varying = residuals[:, size > 1e-9 * max(1.0, float(size.max(initial=0.0)))]
    if not varying.shape[1]:
        return np.zeros((len(residuals), 1))
    return np.asarray(varying / np.sqrt(np.mean(varying**2, axis=0)))


class _Problem:
    """The negative log posterior of a kernel's parameters, and its gradient.

    The parameters: the level of the log relevances, their deviations, the log noise, the slope.
    """

    def __init__(
        self, parts: BoolArray, residuals: FloatArray, prior: FloatArray, exact: BoolArray
    ) -> None:
        self.parts, self.residuals, self.prior = parts, residuals, prior
        self.kept = parts.astype(np.float64)  # [asked, players]
        self.kept_share = self.kept.mean(axis=1) - 0.5
        self.noise_weights = np.where(exact, EXACT, 1.0)
        players = parts.shape[1]
        level, own = (np.log(TYPICAL / players), LEVEL_WIDTH), (0.0, WIDTH)
        beliefs = [level, *([own] * players), (NOISE, NOISE_WIDTH), (0.0, SLOPE_WIDTH)]
        self.means: FloatArray
        self.widths: FloatArray
        self.means, self.widths = np.array(beliefs).T

    def first(self, start: Kernel | None) -> FloatArray:
        """The parameters to begin with: those of an earlier kernel, or what is believed."""
        if start is None:
            return self.means.copy()
        logs = np.log(np.maximum(start.relevances, LEAST)) - self.prior
        guess = self.means.copy()
        guess[0], guess[-2], guess[-1] = logs.mean(), np.log(start.noise), start.slope
        guess[1:-2] = logs - guess[0]
        return guess

    def kernel(self, parameters: FloatArray) -> Kernel:
        logs = parameters[0] + self.prior + parameters[1:-2]
        noise = float(np.exp(np.clip(parameters[-2], *LOG_BOUNDS)))
        return Kernel(np.exp(np.clip(logs, *LOG_BOUNDS)), noise, float(parameters[-1]))

    def loss(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log posterior, up to a constant, and its gradient."""
        kernel, (count, outputs) = self.kernel(parameters), self.residuals.shape
        core = self._core(kernel)
        noises = kernel.noise * self.noise_weights
        covariance = CONSTANT + core
        covariance[np.diag_indices(count)] += noises + JITTER
        factor = algebra.root(covariance)
        sensitivity = algebra.inverse(factor)
        solved = sensitivity @ self.residuals
        amplitude = np.maximum(np.mean(self.residuals * solved, axis=0), LEAST)
        determinant = 2 * float(np.log(np.diag(factor)).sum())
        loss = 0.5 * (count * float(np.mean(np.log(amplitude))) + determinant)
        # d loss / d covariance, and from it that of every parameter
        sensitivity -= (solved / (amplitude * outputs)) @ solved.T
        sensitivity *= 0.5
        off = (parameters - self.means) / self.widths
        gradient = off / self.widths
        gradient[-2] += float(np.diag(sensitivity) @ noises)
        by_core = np.multiply(sensitivity, core, out=core)
        by_part = by_core.sum(axis=1)
        by_relevance = kernel.relevances * self._by_distance(by_core, by_part)
        gradient[0] += by_relevance.sum()
        gradient[1:-2] += by_relevance
        gradient[-1] += 2 * float(self.kept_share @ by_part)
        return loss + 0.5 * float(off @ off), gradient

    def _core(self, kernel: Kernel) -> FloatArray:
        """h(S) h(S') times the likeness of all parts: one product and one exponential."""
        weighted = self.kept * np.sqrt(2 * kernel.relevances)
        own = kernel.slope * self.kept_share - self.kept @ kernel.relevances
        exponent = weighted @ weighted.T  # half the work of a product of two
        exponent += own
        exponent += own[:, None]
        return np.asarray(np.exp(exponent, out=exponent))

    def _by_distance(self, by_core: FloatArray, by_part: FloatArray) -> FloatArray:
        """Minus the sum of `by_core` over parts that differ in a player, for all players."""
        both = np.einsum("ai,ai->i", self.kept, by_core @ self.kept)
        return np.asarray(2 * (both - self.kept.T @ by_part))


def distinct(parts: BoolArray, known: Sequence[BoolArray] = ()) -> BoolArray:
    """The parts, each once, that are none of the known ones."""
    seen = {key for some in known for key in keys(some)}
    fresh = []
    for index, key in enumerate(keys(parts)):
        if key not in seen:
            seen.add(key)
            fresh.append(index)
    return parts[fresh]
