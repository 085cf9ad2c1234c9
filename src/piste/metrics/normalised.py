"""Normalised AOPC: deletion scaled between the worst (0) and the best order (1).

Raw AOPC is not comparable between models or texts: on some, no order of the words does better than
a little (ACL 2025, "Normalized AOPC"). The best and worst orders are found by beam search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.decision import Decision
from piste.metrics.deletion import STEPS, points

BEAM = 2
WIDE = 24  # players tried at a step: those that looked best at the step before


@dataclass(frozen=True)
class Extremes:
    """The AOPC of the worst and of the best order found."""

    worst: float
    best: float

    def place(self, aopc: float) -> float | None:
        """0 is the worst, 1 the best found; beyond them where an order beats the search."""
        width = self.best - self.worst
        return (aopc - self.worst) / width if width > 1e-9 else None


def extremes(
    decision: Decision,
    steps: int = STEPS,
    beam: int = BEAM,
    wide: int = WIDE,
) -> Extremes | None:
    """Beam search for both ends; None for a text of one player."""
    marks = points(len(decision.players), steps)
    if not len(marks):
        return None
    search = _BeamSearch(decision, marks, beam, wide)
    return Extremes(worst=search.run(-1.0), best=search.run(1.0))


@dataclass(frozen=True)
class _BeamState:
    gone: tuple[int, ...]
    total: float  # of the falls so far
    ranked: tuple[int, ...]  # who is left, the most promising first


@dataclass(frozen=True)
class _BeamSearch:
    decision: Decision
    marks: IntArray  # numbers of players removed at which the curve is read
    beam: int
    wide: int

    def run(self, sign: float) -> float:
        """The AOPC of the order that makes sign * AOPC large."""
        states = [_BeamState((), 0.0, tuple(range(len(self.decision.players))))]
        for block in np.diff(self.marks, prepend=0).tolist():
            grown = [new for state in states for new in self._grown(state, block, sign)]
            grown.sort(key=lambda state: -sign * state.total)
            states = _distinct(grown)[: self.beam]
        return states[0].total / len(self.marks)

    def _grown(self, state: _BeamState, block: int, sign: float) -> list[_BeamState]:
        """The state with `block` more players removed, in as many ways as the beam is wide."""
        some = state.ranked if not state.gone else state.ranked[: max(self.wide, block)]
        lost = sign * self._falls([(*state.gone, player) for player in some])
        tried = [some[index] for index in np.argsort(-lost, kind="stable").tolist()]
        ranked = (*tried, *state.ranked[len(some) :])
        starts = range(min(self.beam, len(ranked) - block + 1))
        choices = [ranked[start : start + block] for start in starts]
        after = self._falls([(*state.gone, *chosen) for chosen in choices])
        return [
            _BeamState(
                (*state.gone, *chosen),
                state.total + float(fall),
                tuple(player for player in ranked if player not in chosen),
            )
            for chosen, fall in zip(choices, after, strict=True)
        ]

    def _falls(self, gone: list[tuple[int, ...]]) -> FloatArray:
        everybody = np.arange(len(self.decision.players))
        kept = [np.delete(everybody, list(row)) for row in gone]
        return self.decision.falls(kept)


def _distinct(states: list[_BeamState]) -> list[_BeamState]:
    first = {frozenset(state.gone): state for state in reversed(states)}
    return [state for state in states if first.get(frozenset(state.gone)) is state]
