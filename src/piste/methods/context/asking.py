"""Which parts of the text are asked, and how much that may cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.design.parts import (
    alone,
    grouped,
    left_out,
    most_informative,
    paired_parts,
    parts_between,
    spread_out,
    whole_and_empty,
)
from piste.errors import SettingError
from piste.methods.context.asked import Asked
from piste.options import Effort
from piste.result.parts import MOST_COMPLETE, MOST_PARTS, NEAR
from piste.surrogates import algebra
from piste.surrogates.context import Process, distinct
from piste.surrogates.effects import Effects
from piste.surrogates.shapley import all_coalitions

# forward passes of the whole text
PASSES: dict[Effort, float] = {"quick": 9.0, "light": 20.0, "normal": 70.0, "thorough": 200.0}
MOST_PARTS_EACH = 13  # parts a player, of about half a pass: more hardly help a short text
LEAST_PARTS = 24  # random parts on top of the words alone and left out, whatever the effort
LEAST_BUDGET = 11
VERIFIED = 10  # sequences kept back to verify what would turn the decision, at most
SPARED = 20  # of so many of a budget, one is kept back: most sets were asked before
PATIENCE = 10  # times the passes, for a tolerance without a budget
ROUNDS, FEWER = 3, 2  # after the first; of a long text
CRUMBS = 0.02  # of what may be asked
GROWTH = 0.2  # long runs refit less often
MOST_FREE = 100  # parts that read like earlier ones
MOST_REPEATING = 9  # players of a text with repeated words, whose 512 parts all enter the fit
LEAVING_OUT = 0.2  # of the passes that leaving every player out in turn may cost
LONG_TEXT = 40  # players: random parts of longer texts tell too little of single words
TRIPLES = 2  # times that every distinct player of a long text is asked with two others
QUICK_PASSES = 8.7  # of a long text that is asked in groups
LARGE_GROUPS = 6  # of the players, each in one: they tell how the score grows with the length
SMALL_GROUP, MOST_OFTEN = 5, 16  # players, and how often each is in such a group at most
KNOWN_PARTS = 5  # a player: from here on rounds ask about the effects too, parts alone before
POOL, TARGETS = 256, 128  # candidates of a round, and parts that they are to teach about
TINY = 1e-12  # of a variance: nothing is left to learn


@dataclass(frozen=True)
class Plan:
    """What may be asked: so many tokens, or so many sequences where there is a budget."""

    asked: Asked
    limit: float
    by_sequences: bool
    patience: int = 1  # how many times the usual the limit is
    in_groups: bool = False  # a quick look at a long text: asked once, in groups

    @classmethod
    def of(cls, asked: Asked, effort: Effort) -> Plan:
        query, count = asked.query, len(asked.players)
        if asked.allowed is not None:
            least = min(LEAST_BUDGET, 2 ** min(count, 8))  # a few words have only so many parts
            if asked.allowed < least:
                raise SettingError(
                    f"A budget of {query.budget} sequences is too small to fit anything.",
                    f"Give at least {least}; a few hundred are usual.",
                )
            return cls(asked, asked.allowed - min(VERIFIED, asked.allowed // SPARED), True)
        whole = float(asked.tokens(whole_and_empty(count))[0])
        if effort == "quick" and count > LONG_TEXT and query.tolerance is None:
            return cls(asked, QUICK_PASSES * whole, False, in_groups=True)
        passes = PASSES[effort]
        if effort in ("light", "normal"):  # a few words have only so many parts
            passes = min(passes, MOST_PARTS_EACH * count / 2)
        words = float(asked.tokens(_words(asked)).sum())
        least = words + LEAST_PARTS * whole / 2
        patience = 1 if query.tolerance is None else PATIENCE
        return cls(asked, patience * max(passes * whole, least), False, patience)

    @cached_property
    def leaves_out(self) -> bool:
        """Whether every player is left out in turn: in short texts only."""
        parts = left_out(len(self.asked.players))
        return float(self.costs(parts).sum()) <= LEAVING_OUT * self.limit

    @property
    def expected(self) -> int:
        """How many sequences that is, about: a part has half the tokens of the text."""
        if self.by_sequences:
            return int(self.limit)
        whole = float(self.asked.tokens(whole_and_empty(len(self.asked.players)))[0])
        words = len(self.asked.players.first)
        if self.in_groups:
            return len(self.groups(np.random.default_rng(0)))
        return int(words + 2 * self.limit / whole)

    @property
    def worth_a_round(self) -> bool:
        """Whether more than crumbs is left to ask: the whole text at least."""
        whole = float(self.costs(whole_and_empty(len(self.asked.players)))[0])
        return self.left >= max(whole, CRUMBS * self.limit)

    def share(self, round_: int) -> float:
        """Of what is left, for this round: all of it in the last, where that is not too much.

        With patience, each round asks a fifth of all that was asked before it.
        """
        rounds = FEWER if len(self.asked.players) > LONG_TEXT else ROUNDS
        even = 1 / (rounds + 1 - round_) if round_ <= rounds and self.patience == 1 else 0.0
        return min(1.0, max(even, GROWTH * self.spent / max(self.left, 1.0)))

    @property
    def spent(self) -> float:
        """Tokens, or sequences of the budget, that were asked."""
        return float(self.costs(self.asked.parts[self.asked.paid]).sum())

    @property
    def left(self) -> float:
        """Tokens, or sequences of the budget, that may still be asked."""
        if self.asked.exhausted or self.repetitive or len(self.asked.parts) >= MOST_PARTS:
            return 0.0
        return max(0.0, self.limit - self.spent)

    @property
    def repetitive(self) -> bool:
        """Whether most parts read like earlier ones, as where one word fills the text.

        They cost no forward pass and teach little, but take the fit's time.
        """
        free = len(self.asked.paid) - int(self.asked.paid.sum())
        return free > max(MOST_FREE, len(self.asked.paid) // 2)

    def costs(self, parts: BoolArray) -> FloatArray:
        """What parts cost [parts], in the unit of the limit."""
        return np.ones(len(parts)) if self.by_sequences else self.asked.tokens(parts)

    def cut(self, parts: BoolArray, share: float) -> BoolArray:
        """The first of the parts, as many as a share of what is left allows."""
        parts = parts[: MOST_PARTS - len(self.asked.parts)]
        spent = np.cumsum(self.costs(parts))
        return parts[: max(1, int(np.searchsorted(spent, share * self.left, side="right")))]

    @property
    def takes_all(self) -> bool:
        """Whether words repeat so much in a short text that all it can read as may be asked."""
        players = self.asked.players
        if len(players) > MOST_REPEATING or len(np.unique(players.reads)) == len(players):
            return False
        return self.asked.cost_of_all(self.costs) <= self.limit

    def first(self, rng: np.random.Generator, share: float) -> BoolArray:
        """The parts to begin with: both ends, words alone, left out, in threes, then any."""
        players = self.asked.players
        count = len(players)
        if self.takes_all:
            return all_coalitions(count)
        words = [whole_and_empty(count), alone(players.first, count)]
        if self.leaves_out:
            words.append(left_out(count))
        if count > LONG_TEXT:
            words.append(grouped(rng, players.first, count, 3, TRIPLES))
        pairs = paired_parts(rng, count, 2 * POOL, players.ids.lengths)
        if count <= LONG_TEXT:
            pairs = spread_out(pairs, np.vstack(words), by_size=count > MOST_COMPLETE)
        parts = distinct(np.vstack([*words, pairs]), [])
        return parts[: max(2, len(self.cut(parts, share)))]  # both ends, whatever the budget

    def groups(self, rng: np.random.Generator) -> BoolArray:
        """All parts of a quick look: both ends, words alone, in large groups, then in small ones.

        Nothing near the whole text is among them: one such part costs as much as 15 small groups,
        and these tell more about single words.
        """
        first, count = self.asked.players.first, len(self.asked.players)
        parts = [
            _words(self.asked),
            grouped(rng, first, count, count // LARGE_GROUPS, 1),
            grouped(rng, first, count, SMALL_GROUP, MOST_OFTEN),
        ]
        return self.cut(distinct(np.vstack(parts), []), 1.0)

    def next(self, rng: np.random.Generator, process: Process | None, share: float) -> BoolArray:
        """More parts; with a process, those from which it learns most for their cost."""
        count, tokens = len(self.asked.players), self.asked.players.ids.lengths
        pool = paired_parts(rng, count, POOL // 2, tokens)
        pool = np.vstack([pool, parts_between(rng, count, POOL // 2, NEAR, 1, tokens)])
        pool = distinct(pool, [self.asked.parts])
        if process is None or not len(pool):
            return self.cut(pool, share)
        targets = np.vstack(
            [
                paired_parts(rng, count, TARGETS // 2),
                parts_between(rng, count, TARGETS // 2, NEAR, 1),
            ]
        )
        with algebra.one_thread:
            covariance = process.covariance(np.vstack([pool, targets]), pool)
            if count <= MOST_COMPLETE and len(self.asked.parts) >= KNOWN_PARTS * count:
                learnt = _to_be_learnt(process, targets, pool, covariance[len(pool) :])
                covariance = np.vstack([covariance[: len(pool)], learnt])
            chosen = most_informative(
                covariance, process.kernel.noise, self.costs(pool), share * self.left
            )
        return self.cut(pool[chosen], share)


def _to_be_learnt(
    process: Process, targets: BoolArray, pool: BoolArray, parts: FloatArray
) -> FloatArray:
    """Covariances of what is to be learnt with the pool's answers: of parts, and of the effects.

    Both count alike: each by the variance that it has left in sum. For short texts: in longer ones
    the effects would have mostly short parts asked, which tell less about those near the text.
    parts [targets, pool]: covariances of their answers.
    """
    effects = Effects(process)
    parts = parts / np.sqrt(process.variances(targets).sum() + TINY)
    variance = max(float(effects.shapley_variances().sum()), 0.0)
    return np.vstack([parts, effects.covariance(pool) / np.sqrt(variance + TINY)])


def _words(asked: Asked) -> BoolArray:
    players = asked.players
    return np.vstack([whole_and_empty(len(players)), alone(players.first, len(players))])
