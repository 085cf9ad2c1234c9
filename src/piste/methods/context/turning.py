"""What would turn the decision, and what keeps it: searched on the surrogate, then verified.

A beam search over sets of players: each step adds the player that moves the predicted score most.
The smallest sets whose prediction turns the decision are asked of the model, a few times at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import CENTRED, Decision
from piste.methods.context.asked import Asked
from piste.methods.context.asking import VERIFIED
from piste.result.parts import PlayerSet
from piste.surrogates import algebra
from piste.surrogates.context import distinct
from piste.surrogates.parts import PartSurrogate

LARGEST = 8  # players of a set, at most
BEAM = 8
CANDIDATES = 40  # players that a set is built from: those that move the prediction most
KEPT = 4  # verifications that are kept for the second search
EACH = 3  # sets of one size that are verified
TIE = 1e-6


@dataclass
class Search:
    """The search for one decision. `verified` counts the parts asked to verify sets."""

    asked: Asked
    surrogate: PartSurrogate
    verified: int = 0
    ended: bool = False  # whether the last search ended for want of verifications

    @property
    def decision(self) -> Decision:
        return self.asked.decision

    def _may_verify(self, part: BoolArray, most: int) -> bool:
        """Whether the part was asked before, or may be.

        Counted in parts, not in forward passes: known answers must not change what is found.
        """
        if (self.asked.parts == part).all(axis=1).any():
            return True
        spent, allowed = int(self.asked.paid.sum()) + self.verified, self.asked.allowed
        if self.verified >= most or (allowed is not None and spent >= allowed):
            return False
        self.verified += 1
        return True

    def flip(self) -> PlayerSet | None:
        """The smallest set whose removal changes the decision; None where none was found."""
        whole, for_target = np.ones(len(self.decision.players), dtype=bool), self.for_target
        return self._smallest(
            whole, for_target, lambda logits: self._decides(logits) == for_target, VERIFIED - KEPT
        )

    @property
    def for_target(self) -> bool:
        """Whether a decision that turns is one for the target: now it is another."""
        return not self._decides(self._logits(np.ones(len(self.decision.players), dtype=bool)))

    def core(self) -> PlayerSet | None:
        """The smallest set that keeps the decision by itself; None where none was found.

        Where the empty text is decided so already, any word would do: then the set must bring the
        score half of the way to the text's, or there is none.
        """
        nothing = np.zeros(len(self.decision.players), dtype=bool)
        logits = self._logits(~nothing)
        said, decided = self.decision.said(logits), self._decides(logits)

        def keeps(logits: FloatArray) -> bool:
            return self.decision.said(logits) == said and self._decides(logits) == decided

        def far(score: float) -> bool:
            half = self.asked.target.score / 2
            return score >= half if decided else score <= half

        empty, kept = self._empty(nothing, decided, keeps)
        if not kept:
            return self._smallest(nothing, decided, keeps, VERIFIED)
        if far(empty):
            return None
        return self._smallest(
            nothing, decided, lambda logits: keeps(logits) and far(self._score(logits)), VERIFIED
        )

    def _empty(
        self, nothing: BoolArray, decided: bool, keeps: Callable[[FloatArray], bool]
    ) -> tuple[float, bool]:
        """The score of the empty text, and whether it is decided like the text.

        Of a model that cannot read it, by the score that stands for its answer.
        """
        if not self.asked.base_is_given:
            logits = self._logits(nothing)
            return self._score(logits), keeps(logits)
        predicted = float(self.surrogate.predict(nothing[None])[0, 0])
        return predicted, (predicted > 0) == decided

    def _score(self, logits: FloatArray) -> float:
        return float(self.asked.scores(logits[None])[0, 0])

    def _smallest(
        self,
        start: BoolArray,
        for_target: bool,
        holds: Callable[[FloatArray], bool],
        most: int,
    ) -> PlayerSet | None:
        """The first set that, toggled in `start`, gives outputs for which `holds` is true.

        most: parts to verify, those of earlier searches included.
        """
        self.ended = True
        sign = 1.0 if for_target else -1.0
        for parts in self._grown(start, sign):
            promising, each = self._promising(parts, for_target)
            for part in promising[:each]:
                if not self._may_verify(part, most):
                    return None
                if holds(self._logits(part)):
                    needed = self._pruned(start, part, sign, holds, most)
                    return self._set(start, needed, self._logits(needed))
        self.ended = False
        return None

    def _pruned(
        self,
        start: BoolArray,
        part: BoolArray,
        sign: float,
        holds: Callable[[FloatArray], bool],
        most: int,
    ) -> BoolArray:
        """The part without toggled players that it does not need, as far as may be verified.

        The beam adds players one by one: a later one can make an earlier one superfluous.
        """
        toggled = np.flatnonzero(part != start)
        if len(toggled) < 2:
            return part
        smaller = _toggled(part[None], toggled)
        best = np.argsort(-sign * self._predicted(smaller), kind="stable")[:EACH]
        for one in smaller[best]:
            if not self._may_verify(one, most):
                return part
            logits = self._logits(one)
            if holds(logits) and not self._is_tie(logits):
                return self._pruned(start, one, sign, holds, most)
        return part

    def _is_tie(self, logits: FloatArray) -> bool:
        """Whether the score is at the edge, where rounding would decide."""
        return abs(self._score(logits)) < TIE

    def _promising(self, parts: BoolArray, for_target: bool) -> tuple[BoolArray, int]:
        """The parts that may be decided so by their predicted score, the best first, and how many
        to verify. On a scale that does not tell the decision, the best one of every size.
        """
        predicted = self._predicted(parts) * (1.0 if for_target else -1.0)
        order = np.argsort(-predicted, kind="stable")
        if self.asked.target.scale == CENTRED:
            return parts[order], 1
        # Of many classes, the likeliest can have less than half of the probability.
        classes = len(self.asked.target.labels) if self.asked.target.against is None else 2
        least = -np.log(max(1, classes - 1)) if for_target else 0.0
        return parts[order][predicted[order] > least], EACH

    def _grown(self, start: BoolArray, sign: float) -> Iterator[BoolArray]:
        """Beams of parts [beam, players] with one toggled player, then two ..."""
        alone = _toggled(start[None], np.arange(len(start)))
        gains = sign * self._predicted(alone)
        candidates = np.argsort(-gains, kind="stable")[:CANDIDATES]
        beam = alone[candidates[:BEAM]]
        for _ in range(min(LARGEST, len(start) - 1)):
            yield beam
            parts = np.concatenate([_toggled(part[None], candidates) for part in beam])
            parts = distinct(parts[(parts != start).sum(axis=1) > (beam[0] != start).sum()])
            if not len(parts):
                return
            gains = sign * self._predicted(parts)
            beam = parts[np.argsort(-gains, kind="stable")[:BEAM]]

    @algebra.one_thread
    def _predicted(self, parts: BoolArray) -> FloatArray:
        return self.surrogate.predict(parts)[:, 0]

    def _logits(self, part: BoolArray) -> FloatArray:
        return np.asarray(self.decision.logits(Ragged.masked(part[None]))[0])

    def _decides(self, logits: FloatArray) -> bool:
        """Whether the model decides for the target."""
        return bool(self.decision.decides(logits[None])[0])

    def _set(self, start: BoolArray, part: BoolArray, logits: FloatArray) -> PlayerSet:
        return PlayerSet(
            players=tuple(np.flatnonzero(part != start).tolist()),
            predicted=float(self.surrogate.predict(part[None])[0, 0]),
            error=float(self.surrogate.errors(part[None])[0, 0]),
            score=self._score(logits),
            label=self.decision.said(logits),
        )


def _toggled(parts: BoolArray, players: NDArray[Any]) -> BoolArray:
    """Each part with each of the players kept where it was removed, and the reverse."""
    toggled = np.repeat(parts, len(players), axis=0)
    rows = np.arange(len(toggled))
    columns = np.tile(players, len(parts))
    toggled[rows, columns] = ~toggled[rows, columns]
    return toggled
