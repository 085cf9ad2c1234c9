"""When is enough enough: how sure a fit is of the players that matter most, and of whom not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.result.explanation import Stopped
from piste.surrogates.slalom.model import SlalomModel, lin
from piste.surrogates.slalom.posterior import spread

TOP = 10  # the players that a reader looks at
TOLERANCE = 0.05  # where none is given
CONTESTED, ERRORS, EVENLY = 0.35, 0.15, 0.5  # what the odds of the next round are made of


@dataclass(frozen=True)
class Standing:
    """The scores `lin` of distinct players, and what else the answers allow them to be."""

    scores: FloatArray  # [players]
    draws: FloatArray  # [draws, players]

    @classmethod
    def of(cls, model: SlalomModel, draws: Sequence[SlalomModel]) -> Standing:
        return cls(lin(model), np.array([lin(drawn) for drawn in draws]))

    def spread(self) -> float:
        """The error of the strongest scores relative to them (root mean squares)."""
        top = _strongest(self.scores)
        size = float(np.sqrt(np.mean(self.scores[top] ** 2)))
        return float(np.sqrt(np.mean(spread(self.draws)[top] ** 2))) / max(size, 1e-300)

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
