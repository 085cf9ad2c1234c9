"""Which parts of the text are asked, how much that may cost, and what the model answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
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
from piste.methods.every_class import Classes
from piste.models.query import Query
from piste.options import Effort
from piste.result.explanation import Target
from piste.result.parts import MOST_COMPLETE, MOST_PARTS, NEAR
from piste.surrogates import algebra
from piste.surrogates.context import Process, distinct
from piste.surrogates.effects import Effects
from piste.surrogates.linear import fit_linear
from piste.text.players import Players

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
LEAVING_OUT = 0.2  # of the passes that leaving every player out in turn may cost
LONG_TEXT = 40  # players: random parts of longer texts tell too little of single words
TRIPLES = 2  # times that every distinct player of a long text is asked with two others
QUICK_PASSES = 8.7  # of a long text that is asked in groups
LARGE_GROUPS = 6  # of the players, each in one: they tell how the score grows with the length
SMALL_GROUP, MOST_OFTEN = 5, 16  # players, and how often each is in such a group at most
KNOWN_PARTS = 5  # a player: from here on rounds ask about the effects too, parts alone before
POOL, TARGETS = 256, 128  # candidates of a round, and parts that they are to teach about
LEVEL_RIDGE = 1e-6
TINY = 1e-12  # of a variance: nothing is left to learn


@dataclass
class Asked:
    """Parts of the text and the model's answers to them."""

    decision: Decision
    classes: Classes | None = None  # explained together; None: the target alone
    parts: BoolArray = field(init=False)  # [parts, players]
    answers: FloatArray = field(init=False)  # [parts, outputs]
    paid: BoolArray = field(init=False)  # [parts]: not those that read as an earlier one
    allowed: int | None = field(init=False)  # parts that the budget allows; None without one
    base_is_given: bool = field(init=False, default=False)  # the model cannot read an empty text

    def __post_init__(self) -> None:
        left = self.query.left
        # The whole text is a part too. It was paid for, or known: both allow the same.
        self.allowed = None if left is None else min(self.query.budget or 0, left + 1)
        outputs = 1 if self.classes is None else len(self.classes.others) + 1
        self.parts = np.zeros((0, len(self.players)), dtype=bool)
        self.answers = np.zeros((0, outputs))
        self.paid = np.zeros(0, dtype=bool)
        self._sequences: set[bytes] = set()

    @classmethod
    def on(cls, decision: Decision, every_class: bool) -> Asked:
        if not every_class:
            return cls(decision)
        whole = decision.logits(decision.players.whole)[0]
        return cls(decision, Classes.of(decision.query.classifier, whole, decision.target))

    def ask(self, parts: BoolArray) -> int:
        """Add the answers to parts that were not asked before; how many those are."""
        fresh = distinct(parts, [self.parts])
        empty = ~fresh.any(axis=1)
        if empty.any() and not self.query.reads_nothing:
            self.base_is_given = True
            self._add(fresh[empty], np.zeros((1, self.answers.shape[1])), np.ones(1, dtype=bool))
            fresh = fresh[~empty]
        if not len(fresh):
            return 0
        self._add(fresh, self.answered(fresh), self._first_read(fresh))
        if self.base_is_given:
            self.answers[~self.parts.any(axis=1)] = self._level()
        return len(fresh)

    def _add(self, parts: BoolArray, answers: FloatArray, paid: BoolArray) -> None:
        self.parts = np.vstack([self.parts, parts])
        self.answers = np.vstack([self.answers, answers])
        self.paid = np.append(self.paid, paid)

    def _level(self) -> FloatArray:
        """What stands for the answer to an empty text [outputs], where the model has none.

        The intercept of a linear fit to the others, the shorter the more they weigh. So a function
        that adds up has 0 there, and one that averages its words their mean: where the model does
        not say what no words are worth, none of it is put down to words together. A single word
        tells no level: 0, which is undecided.
        """
        if len(self.players) == 1:
            return np.zeros(self.answers.shape[1])
        kept = self.parts.sum(axis=1)
        some = kept > 0
        parts, weights = self.parts[some].astype(float), 1 / kept[some]
        fits = [
            fit_linear(parts, answers, weights, LEVEL_RIDGE) for answers in self.answers[some].T
        ]
        return np.array([fit.intercept for fit in fits])

    def _first_read(self, parts: BoolArray) -> BoolArray:
        """Which parts the model has not read before: without either of two equal neighbours, a
        text is the same.
        """
        rows, fresh = self.players.tokens(Ragged.masked(parts)), np.zeros(len(parts), dtype=bool)
        for index in range(len(parts)):
            sequence = rows.row(index).tobytes()
            fresh[index] = sequence not in self._sequences
            self._sequences.add(sequence)
        return fresh

    def answered(self, parts: BoolArray) -> FloatArray:
        """The model's scores of parts [parts, outputs], the target's first."""
        return self.scores(self.decision.logits(Ragged.masked(parts)))

    def scores(self, logits: FloatArray) -> FloatArray:
        """The scores [rows, outputs] that the model's outputs [rows, labels] mean."""
        if self.classes is None:
            return self.decision.target_scores(logits)[:, None]
        return self.classes.scores(logits)

    def tokens(self, parts: BoolArray) -> FloatArray:
        """How many tokens the model reads for each part [parts]."""
        return np.asarray(parts @ self.players.ids.lengths + self.players.frame.size, dtype=float)

    @property
    def players(self) -> Players:
        return self.decision.players

    @property
    def query(self) -> Query:
        return self.decision.query

    @property
    def target(self) -> Target:
        """The target, on the scale of the answers."""
        return self.decision.target if self.classes is None else self.classes.target

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the outputs beside the target's."""
        return () if self.classes is None else self.classes.others

    @property
    def near(self) -> BoolArray:
        """Which parts keep so much of the text that they tell how faithful an explanation is."""
        return np.asarray((self.parts.mean(axis=1) >= NEAR) & ~self.parts.all(axis=1))

    @property
    def exhausted(self) -> bool:
        """Whether every part of the text was asked about."""
        every: int = 2 ** min(31, len(self.players))
        return len(self.parts) == every


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

    def first(self, rng: np.random.Generator, share: float) -> BoolArray:
        """The parts to begin with: both ends, words alone, left out, in threes, then any."""
        players = self.asked.players
        count = len(players)
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
