"""SLALOM as the mean, the process on what it misses, and the scores that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from piste.arrays import BoolArray, FloatArray, IntArray, Ragged
from piste.methods.base import agreement
from piste.methods.context.asked import Asked
from piste.methods.context.groups import Groups
from piste.methods.slalom.fit import Fit as SlalomFit
from piste.result.facts import Agreement, FitReport
from piste.result.formula import Formula
from piste.surrogates import algebra
from piste.surrogates.context import (
    ROUGHLY,
    Kernel,
    Process,
    fit_context,
    shortfall,
)
from piste.surrogates.effects import removal_parts
from piste.surrogates.parts import PartSurrogate, ends, like_the_text
from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom.large import DRAWS as ERROR_DRAWS
from piste.surrogates.slalom.large import LOOSE, Errors, fit_large
from piste.surrogates.slalom.model import LengthScale, SlalomModel, count_matrix, lin
from piste.surrogates.slalom.posterior import Posterior, spread

DRAWS = 64  # of the posterior
MANY_WORDS = 250  # different ones: from here on dense matrices take longer
SHORT = 3  # players: at this length SLALOM's values mean log-odds
FOLDS = 5
# Near the text, for each player. With fewer, a process by itself looks better on its answers than
# it is: with .7 (2.3) for each of 90 words, R² .595 (.737) where on SLALOM it was .631 (.818).
PARTS_FOR_A_CHOICE = 3
PRIOR_SLOPE = 0.7  # of log relevances, in deviations of SLALOM's log removal effects


@dataclass(frozen=True)
class Limits:
    """What a fit of SLALOM may cost."""

    steps: int  # of Gauss-Newton, at most
    rounds: int  # in which the noise is estimated
    tolerance: float = 1e-4  # a smaller gain of the loss, relative to it, ends the fit
    errors: bool = False  # of many different words; of few they are always at hand


AT_FIRST, BETWEEN_ROUNDS, FOLD = Limits(50, 2, 1e-2), Limits(2, 1, 1e-2), Limits(4, 1, 1e-3)
IN_THE_END = Limits(50, 6, errors=True)


def fit_slalom(
    asked: Asked, before: SlalomFit | None, limits: Limits, seen: BoolArray | None = None
) -> SlalomFit:
    """SLALOM fitted to the answers that are `seen` [parts], or to all.

    Going on from an earlier fit, where there is one.
    """
    players, fit = asked.players, before
    some = asked.parts.any(axis=1)  # an empty text has no words to weigh
    some = some if seen is None else some & seen
    rows, answers = Ragged.masked(asked.parts[some]), asked.answers[some]
    counts = count_matrix(rows, players.groups, len(players.first))
    lengths = LengthScale.plain(SHORT, len(players), answers.shape[1])
    fitted = _dense if len(players.first) < MANY_WORDS else _iterative
    for _ in range(2 if before is None else 1):
        lengths = lengths if fit is None else fit.lengths
        scores, weights = lengths.undo(rows.lengths, answers)
        settings = _Settings(players.frame.size > 0, weights, limits)
        model, report, posterior, known = fitted(counts, scores, fit, settings)
        lengths = lengths.refitted(rows.lengths, model.predict(counts), answers)
        fit = SlalomFit(
            players, model.normalised(), report, posterior, lengths, asked.others, known
        )
    assert fit is not None
    return fit


@dataclass(frozen=True)
class _Settings:
    """Of a fit of SLALOM."""

    frame: bool
    weights: FloatArray  # [rows]
    limits: Limits


_Fitted = tuple[SlalomModel, FitReport, Posterior | None, Errors | None]


def _dense(
    counts: sparse.csr_array, scores: FloatArray, before: SlalomFit | None, settings: _Settings
) -> _Fitted:
    """By matrices of all words, with a posterior to draw from."""
    model, report, posterior = fit_gauss_newton(
        counts,
        scores,
        frame=settings.frame,
        weights=settings.weights,
        start=None if before is None else before.posterior,
        iterations=settings.limits.steps,
        rounds=settings.limits.rounds,
        tolerance=settings.limits.tolerance,
    )
    return model, report, posterior, None


def _iterative(
    counts: sparse.csr_array, scores: FloatArray, before: SlalomFit | None, settings: _Settings
) -> _Fitted:
    """By conjugate gradients: of 1,000 words in a twelfth of the time, with the same R²."""
    model, report, errors = fit_large(
        counts,
        scores,
        frame=settings.frame,
        weights=settings.weights,
        start=None if before is None else before.model.from_frame(),
        iterations=settings.limits.steps,
        precision=LOOSE,
        draws=ERROR_DRAWS if settings.limits.errors else 0,
    )
    return model, report, None, errors if settings.limits.errors else None


def parameter_errors(slalom: SlalomFit, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Standard errors of value, importance and lin [players]; of many words not of lin."""
    groups = slalom.players.groups
    if slalom.known_errors is not None:
        known = slalom.known_errors
        return {"value": known.values[groups, 0], "importance": known.importances[groups]}
    if slalom.posterior is None:
        return {}
    draws = [drawn.normalised() for drawn in slalom.posterior.draws(rng, DRAWS)]
    drawn = {
        "value": [model.alone()[:, 0] for model in draws],
        "importance": [model.importances for model in draws],
        "lin": [lin(model) for model in draws],
    }
    return {name: spread(np.array(numbers))[groups] for name, numbers in drawn.items()}


def _means(slalom: SlalomFit, parts: BoolArray) -> FloatArray:
    """SLALOM's predictions [parts, outputs]."""
    return np.stack([formula.scores(parts) for formula in slalom.formulas()], axis=1)


def _prior(slalom: SlalomFit) -> FloatArray:
    """Log relevances, up to a level: how much the removal of each player would do."""
    formula, parts = slalom.formula(), removal_parts(len(slalom.players))
    whole, *rest = formula.scores(parts)
    falls = np.abs(whole - np.array(rest))
    logs = np.log(falls + 1e-3 * falls.max() + 1e-12)
    return np.asarray(PRIOR_SLOPE * (logs - logs.mean()) / max(float(logs.std()), 1e-9))


@dataclass(frozen=True)
class Fit:
    """The surrogate, and how far it was off on answers that it had not seen."""

    slalom: SlalomFit
    surrogate: PartSurrogate
    unseen: Process  # whose residuals are of a mean that has not seen the answers
    near: BoolArray  # [parts of the process]
    answers: FloatArray  # [parts of the process]: the target's
    groups: Groups | None = None  # where no part near the text was asked

    @property
    def process(self) -> Process:
        return self.surrogate.process

    @cached_property
    def left_out(self) -> FloatArray:
        """Residuals of the target, each predicted from all other answers [parts of the process]."""
        return self.unseen.left_out()[0][:, 0]

    def widened(self) -> Fit:
        """The same with errors as large as answers show that were held out."""
        inflation = shortfall(self.unseen, _prior(self.slalom))
        process = replace(self.process, inflation=inflation)
        return replace(self, surrogate=replace(self.surrogate, process=process))

    @property
    def effect_errors(self) -> FloatArray:
        """Standard errors of the effects [players, outputs]."""
        return self.with_groups(self.surrogate.effect_errors)

    def with_groups(self, errors: FloatArray) -> FloatArray:
        """Errors of effects or removals, with what groups of words tell of them."""
        return errors if self.groups is None else np.hypot(errors, self.groups.error)

    @property
    def base(self) -> float:
        """The score of the empty text: the model's own answer, or what stands for it."""
        empty = np.zeros((1, self.surrogate.players), dtype=bool)
        return float(self.surrogate.predict(empty)[0, 0])

    def expected_error(self) -> float:
        """Mean squared error to expect on other parts near the text.

        SLALOM's residuals are of folds that it has not seen; without it they flatter, the more so
        the more relevances were fitted to few answers (Akaike's final prediction error).
        """
        some = self.near if self.near.any() else np.ones(len(self.near), dtype=bool)
        flattery = 1.0 if self.surrogate.means else 1 + self.surrogate.players / len(self.near)
        return flattery * float(np.mean(self.left_out[some] ** 2))

    def agreement(self) -> Agreement | None:
        """How well every part near the text is predicted from all others."""
        true, residuals = self.answers[self.near], self.left_out[self.near]
        if len(true) < 2 or self.surrogate.complete:  # then nothing is predicted
            return None
        return agreement(true - residuals, true, float(np.std(self.answers)))


@algebra.one_thread
def quick_fit(asked: Asked, before: Fit | None) -> Fit:
    """A fit to choose the next parts by: SLALOM's own residuals make it a little too sure."""
    slalom = (
        fit_slalom(asked, None, AT_FIRST)
        if before is None
        else fit_slalom(asked, before.slalom, BETWEEN_ROUNDS)
    )
    return _on_mean(asked, slalom, _means(slalom, asked.parts), _kernel(before))


@algebra.one_thread
def final_fit(asked: Asked, before: Fit | None, mean: str) -> Fit:
    """The fit to report: relevances and errors from answers that SLALOM has not seen."""
    slalom = fit_slalom(asked, None if before is None else before.slalom, IN_THE_END)
    fits = []
    if mean != "constant":
        means = _unseen_means(asked, slalom)
        fit = _on_mean(asked, slalom, means, _kernel(before))
        fits.append(replace(fit, groups=Groups.of(asked, means)))
    enough = int(asked.near.sum()) >= PARTS_FOR_A_CHOICE * len(asked.players)
    if mean == "constant" or (mean == "auto" and enough):
        fits.append(_on_constant(asked, slalom))
    return min(fits, key=Fit.expected_error).widened()


def fit_on(asked: Asked, slalom: SlalomFit, before: Fit | None) -> Fit:
    """The process on a SLALOM that has seen none of the answers."""
    return _on_mean(asked, slalom, _means(slalom, asked.parts), _kernel(before)).widened()


def _kernel(before: Fit | None) -> Kernel | None:
    return None if before is None else before.process.kernel


def _unseen_means(asked: Asked, slalom: SlalomFit) -> FloatArray:
    """SLALOM's predictions [parts, outputs], each from a fit without that part."""
    fold = np.random.default_rng(0).permutation(len(asked.parts)) % FOLDS
    fold[ends(asked.parts)] = -1  # always seen: the process meets them
    means = _means(slalom, asked.parts)
    if slalom.posterior is not None and asked.near.any():
        some = asked.parts.any(axis=1)  # that SLALOM was fitted to
        residuals = (asked.answers - means)[some]
        means[some] = asked.answers[some] - slalom.posterior.left_out(residuals, fold[some])
        return means
    for index in range(FOLDS):  # groups alone leave too much open to go by the whole fit's slopes
        held = fold == index
        if held.any() and not held.all():
            rest = fit_slalom(asked, slalom, FOLD, ~held)
            means[held] = _means(rest, asked.parts[held])
    return means


def _on_mean(
    asked: Asked,
    slalom: SlalomFit,
    means: FloatArray,
    start: Kernel | None,
) -> Fit:
    """The process on SLALOM: its kernel from residuals of `means`, its answers from all."""
    inside = like_the_text(asked.parts)
    parts, exact = asked.parts[inside], ends(asked.parts)[inside]
    residuals = (asked.answers - means)[inside]
    unseen = fit_context(
        parts, residuals, _prior(slalom), exact=exact, start=start, precision=ROUGHLY
    )
    final = unseen.conditioned((asked.answers - _means(slalom, asked.parts))[inside])
    return _fit(asked, slalom, unseen, final, slalom.formulas())


def _on_constant(asked: Asked, slalom: SlalomFit) -> Fit:
    """The process by itself."""
    inside = like_the_text(asked.parts)
    parts, answers = asked.parts[inside], asked.answers[inside]
    process = fit_context(parts, answers, _prior(slalom), exact=ends(parts), precision=ROUGHLY)
    return _fit(asked, slalom, process, process, ())


def _fit(
    asked: Asked,
    slalom: SlalomFit,
    unseen: Process,
    final: Process,
    means: tuple[Formula, ...],
) -> Fit:
    players = asked.players
    surrogate = PartSurrogate(
        final,
        means,
        players.groups,
        asked.parts,
        asked.answers,
        players.reads,
        asked.base_is_given,
    )
    inside = like_the_text(asked.parts)
    return Fit(slalom, surrogate, unseen, asked.near[inside], asked.answers[inside, 0])


def alone_answers(asked: Asked) -> tuple[FloatArray, BoolArray]:
    """The model's answers to players alone [players, outputs], and of whom they are known."""
    players = asked.players
    known = np.zeros(len(players.first), dtype=bool)
    answers = np.zeros((len(players.first), asked.answers.shape[1]))
    singles = np.flatnonzero(asked.parts.sum(axis=1) == 1)
    groups: IntArray = players.groups[asked.parts[singles].argmax(axis=1)]
    answers[groups], known[groups] = asked.answers[singles], True
    return answers[players.groups], known[players.groups]
