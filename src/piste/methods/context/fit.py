"""SLALOM as the mean, the process on what it misses, and the scores that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray, Ragged
from piste.methods.context.asking import Asked
from piste.result.explanation import FitReport
from piste.result.formula import Formula
from piste.surrogates.context import Kernel, Process, fit_context
from piste.surrogates.parts import PartSurrogate
from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom.model import LengthScale
from piste.surrogates.slalom.model import SlalomModel, count_matrix
from piste.surrogates.slalom.posterior import Posterior
from piste.text.players import Players

SHORT = 3  # players: at this length SLALOM's values mean log-odds
TINY = 0.1  # parts with a smaller share of the players teach SLALOM only: they are unlike the text
FOLDS = 5
STEPS = 8  # of Gauss-Newton for a fold, from the fit of all
PRIOR_SLOPE = 0.7  # of log relevances, in deviations of SLALOM's log removal effects


@dataclass(frozen=True)
class SlalomMean:
    """SLALOM fitted to the answers to all parts."""

    players: Players
    model: SlalomModel
    report: FitReport
    posterior: Posterior | None
    lengths: LengthScale

    @classmethod
    def fitted(
        cls, players: Players, parts: BoolArray, answers: FloatArray, before: SlalomMean | None
    ) -> SlalomMean:
        """Going on from an earlier fit, where there is one."""
        some = parts.any(axis=1)  # an empty text has no words to weigh
        rows, answers = Ragged.masked(parts[some]), answers[some]
        counts = count_matrix(rows, players.groups, len(players.first))
        lengths = LengthScale.plain(SHORT, len(players), answers.shape[1])
        start = None
        if before is not None:
            lengths, start = before.lengths, before.posterior
        for _ in range(2 if before is None else 1):
            scores, weights = lengths.undo(rows.lengths, answers)
            model, report, posterior = fit_gauss_newton(
                counts,
                scores,
                frame=players.frame.size > 0,
                weights=weights,
                start=start,
                iterations=STEPS if before is not None else 50,
            )
            start = posterior
            lengths = lengths.refitted(rows.lengths, model.predict(counts), answers)
        return cls(players, model.normalised(), report, posterior, lengths)

    def formulas(self) -> tuple[Formula, ...]:
        """One for each output."""
        groups, frame = self.players.groups, self.model.frame
        return tuple(
            Formula(
                values=self.model.values[groups, output],
                importances=self.model.importances[groups],
                frame=None if frame is None else (float(frame.value[output]), frame.importance),
                lengths=np.exp(self.lengths.knots),
                level=self.lengths.level[:, output],
                scale=self.lengths.scale,
            )
            for output in range(self.model.values.shape[1])
        )

    def predict(self, parts: BoolArray) -> FloatArray:
        """[parts, outputs]."""
        return np.stack([formula.scores(parts) for formula in self.formulas()], axis=1)

    def prior(self) -> FloatArray:
        """Log relevances, up to a level: how much the removal of each player would do."""
        formula, count = self.formulas()[0], len(self.players)
        whole = formula.scores(np.ones((1, count), dtype=bool))[0]
        falls = np.abs(whole - formula.scores(~np.eye(count, dtype=bool)))
        logs = np.log(falls + 1e-3 * falls.max() + 1e-12)
        return np.asarray(PRIOR_SLOPE * (logs - logs.mean()) / max(float(logs.std()), 1e-9))


@dataclass(frozen=True)
class Fit:
    """The surrogate, and how far it was off on answers that it had not seen."""

    slalom: SlalomMean
    surrogate: PartSurrogate
    left_out: FloatArray  # [parts of the process]: residuals of the target
    near: BoolArray  # [parts of the process]

    @property
    def process(self) -> Process:
        return self.surrogate.process

    def error(self) -> float:
        """Root mean square of the residuals near the text."""
        some = self.near if self.near.any() else np.ones(len(self.near), dtype=bool)
        return float(np.sqrt(np.mean(self.left_out[some] ** 2)))


def quick_fit(asked: Asked, before: Fit | None) -> Fit:
    """A fit to choose the next parts by: SLALOM's own residuals make it a little too sure."""
    slalom = SlalomMean.fitted(
        asked.players, asked.parts, asked.answers, None if before is None else before.slalom
    )
    return _on_mean(asked, slalom, slalom.predict(asked.parts), _kernel(before))


def final_fit(asked: Asked, before: Fit | None, mean: str) -> Fit:
    """The fit to report: relevances and errors from answers that SLALOM has not seen."""
    slalom = SlalomMean.fitted(
        asked.players, asked.parts, asked.answers, None if before is None else before.slalom
    )
    if mean == "constant":
        return _on_constant(asked, slalom)
    return _on_mean(asked, slalom, _unseen_means(asked, slalom), _kernel(before))


def _kernel(before: Fit | None) -> Kernel | None:
    return None if before is None else before.process.kernel


def _unseen_means(asked: Asked, slalom: SlalomMean) -> FloatArray:
    """SLALOM's predictions [parts, outputs], each from a fit without that part."""
    fold = np.random.default_rng(0).permutation(len(asked.parts)) % FOLDS
    fold[asked.ends] = -1  # always seen: the process meets them
    means = slalom.predict(asked.parts)
    for index in range(FOLDS):
        held = fold == index
        if held.any() and not held.all():
            rest = SlalomMean.fitted(
                asked.players, asked.parts[~held], asked.answers[~held], slalom
            )
            means[held] = rest.predict(asked.parts[held])
    return means


def _on_mean(asked: Asked, slalom: SlalomMean, means: FloatArray, start: Kernel | None) -> Fit:
    """The process on SLALOM: its kernel from residuals of `means`, its answers from all."""
    inside = _inside(asked)
    parts, exact = asked.parts[inside], asked.ends[inside]
    unseen = fit_context(
        parts, (asked.answers - means)[inside], slalom.prior(), exact=exact, start=start
    )
    final = unseen.conditioned((asked.answers - slalom.predict(asked.parts))[inside])
    return _fit(asked, slalom, unseen, final, slalom.formulas())


def _on_constant(asked: Asked, slalom: SlalomMean) -> Fit:
    """The process by itself."""
    inside = _inside(asked)
    process = fit_context(
        asked.parts[inside], asked.answers[inside], slalom.prior(), exact=asked.ends[inside]
    )
    return _fit(asked, slalom, process, process, ())


def _fit(
    asked: Asked,
    slalom: SlalomMean,
    unseen: Process,
    final: Process,
    means: tuple[Formula, ...],
) -> Fit:
    residuals, variances = unseen.left_out()
    rest = ~unseen.exact
    inflation = 1.0
    if rest.any():
        scores = residuals[rest, 0] ** 2 / (unseen.amplitude[0] * variances[rest])
        inflation = max(1.0, float(np.mean(scores)))
    surrogate = PartSurrogate(replace(final, inflation=inflation), means, asked.players.groups)
    return Fit(slalom, surrogate, residuals[:, 0], asked.near[_inside(asked)])


def _inside(asked: Asked) -> BoolArray:
    """The parts that the process is fitted to: those that are like the text, and both ends."""
    enough = asked.parts.sum(axis=1) >= TINY * len(asked.players)
    return np.asarray(enough | asked.ends)


def alone_answers(asked: Asked) -> tuple[FloatArray, BoolArray]:
    """The model's answers to players alone [players, outputs], and of whom they are known."""
    players = asked.players
    known = np.zeros(len(players.first), dtype=bool)
    answers = np.zeros((len(players.first), asked.answers.shape[1]))
    singles = np.flatnonzero(asked.parts.sum(axis=1) == 1)
    groups: IntArray = players.groups[asked.parts[singles].argmax(axis=1)]
    answers[groups], known[groups] = asked.answers[singles], True
    return answers[players.groups], known[players.groups]
