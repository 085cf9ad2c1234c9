"""A fitted SLALOM and what follows from it: predictions, scores, errors, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray, IntArray, Ragged
from piste.methods.sampling import counted
from piste.result.facts import FitReport, Stopped
from piste.result.formula import Formula
from piste.surrogates.slalom.large import Errors
from piste.surrogates.slalom.model import LengthScale, SlalomModel, lin, slalom_scores
from piste.surrogates.slalom.posterior import Posterior, score_errors, spread
from piste.text.players import Players

NOTHING = 1e-9  # a score that is rounding
TOP = 10  # the players that a reader looks at
TOLERANCE = 0.05  # where none is given
CONTESTED, ERRORS, EVENLY = 0.35, 0.15, 0.5  # what the odds of the next round are made of


@dataclass(frozen=True)
class Fit:
    """SLALOM with its level and scale by length, as fitted to one text's answers."""

    players: Players
    model: SlalomModel
    report: FitReport
    posterior: Posterior | None
    lengths: LengthScale
    others: tuple[str, ...] = ()  # names of the outputs beside the target's, which is the first
    known_errors: Errors | None = None  # of many words, in place of a posterior

    def predict(self, rows: Ragged) -> FloatArray:
        """The margins of rows of players [rows]."""
        scores = self.model.predict(counted(rows, self.players))
        return self.lengths.apply(rows.lengths, scores)[:, 0]

    def change(self, rows: Ragged) -> FloatArray:
        """How much less than the whole text these rows score [rows]."""
        return np.asarray(self.predict(self.players.whole)[0] - self.predict(rows))

    def frame_share(self) -> float | None:
        """The special tokens' share of the attention, for the whole text."""
        if self.model.frame is None:
            return None
        counts = counted(self.players.whole, self.players).toarray()[0]
        return self.model.attention(counts)[1]

    def so_far(self) -> dict[str, FloatArray]:
        """The scores that need no random draws, so that watching does not change the result."""
        groups = self.players.groups
        return {
            "value": self.model.alone()[groups, 0],
            "importance": self.model.importances[groups],
            "lin": lin(self.model)[groups],
        }

    def scores(self, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Every score of every player; those of the whole text as its length scales them."""
        return self.scaled(slalom_scores(self.model, self.players.groups, rng, others=self.others))

    def errors(self, rng: np.random.Generator, gamma: float) -> dict[str, FloatArray]:
        """Standard errors of the scores; none where the fit has no posterior."""
        if self.posterior is None:
            return {}
        return self.scaled(
            score_errors(self.posterior, self.players.groups, rng, gamma, self.others)
        )

    def scaled(self, scores: dict[str, FloatArray]) -> dict[str, FloatArray]:
        """Removals and Shapley values happen to the whole text; the others are those of words."""
        scale = float(self.lengths.at(self.players.whole.lengths)[1][0, 0])
        return scores | {name: scale * scores[name] for name in ("removal", "shapley")}

    def formula(self) -> Formula:
        """The fit by itself, for predictions without the model."""
        return self.formulas()[0]

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


@dataclass(frozen=True)
class Standing:
    """Stopping rule and sampling odds, from scores (`lin`, or effects) and draws of them."""

    scores: FloatArray  # [players]
    draws: FloatArray  # [draws, players]

    @classmethod
    def of(cls, model: SlalomModel, draws: Sequence[SlalomModel]) -> Standing:
        return cls(lin(model), np.array([lin(drawn) for drawn in draws]))

    def spread(self) -> float:
        """The error of the strongest scores relative to them (root mean squares)."""
        top = _strongest(self.scores)
        size = float(np.sqrt(np.mean(self.scores[top] ** 2)))
        if size <= NOTHING:
            return 0.0  # the model does not react: there is nothing to be unsure of
        return float(np.sqrt(np.mean(spread(self.draws)[top] ** 2))) / size

    def ranking(self) -> float:
        """The share of the strongest that a draw counts among its own strongest, on average."""
        return float(np.mean(self._membership()[_strongest(self.scores)]))

    def stopped(self, tolerance: float | None, rounds: int, more: bool) -> Stopped:
        """How sampling stands: "stable", "unstable", or "budget" where no more may be asked."""
        wanted = TOLERANCE if tolerance is None else tolerance
        error, ranking = self.spread(), self.ranking()
        stable = error <= wanted and 1 - ranking <= wanted
        reason = "stable" if stable else "unstable" if more else "budget"
        return Stopped(reason, rounds, wanted, error, ranking)

    def odds(self) -> FloatArray:
        """Whom to ask about next [players]: those whose place among the strongest is contested,
        those with large errors, and everybody a little.
        """
        membership = self._membership()
        contested = np.sqrt(membership * (1 - membership))
        parts = ((CONTESTED, contested), (ERRORS, spread(self.draws)))
        even = np.full(len(self.scores), 1 / len(self.scores))
        return EVENLY * even + sum(share * _normalised(part, even) for share, part in parts)

    def _membership(self) -> FloatArray:
        """How often each player is among the strongest of a draw [players]."""
        tops = np.array([_strongest(draw) for draw in self.draws])
        return np.bincount(tops.reshape(-1), minlength=len(self.scores)) / len(self.draws)


def _strongest(scores: FloatArray) -> IntArray:
    return np.argsort(-np.abs(scores), kind="stable")[:TOP].astype(np.int64)


def _normalised(part: FloatArray, otherwise: FloatArray) -> FloatArray:
    total = float(part.sum())
    return part / total if total > 0 else otherwise
