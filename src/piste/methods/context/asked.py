"""Parts of the text, and what the model answered to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
from piste.methods.every_class import Classes
from piste.models.query import Query
from piste.result.explanation import Target
from piste.result.parts import NEAR
from piste.surrogates.context import distinct
from piste.surrogates.linear import fit_linear
from piste.surrogates.parts import readings
from piste.surrogates.shapley import all_coalitions
from piste.text.players import Players

LEVEL_RIDGE = 1e-6


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
        self._read: set[bytes] = set()

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
        fresh = np.zeros(len(parts), dtype=bool)
        for index, reading in enumerate(readings(parts, self.players.reads)):
            fresh[index] = reading not in self._read
            self._read.add(reading)
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

    def cost_of_all(self, costs: Callable[[BoolArray], FloatArray]) -> float:
        """What it costs to ask about every part of the text that reads as no other."""
        parts = all_coalitions(len(self.players))
        first = {key: i for i, key in enumerate(readings(parts, self.players.reads))}
        new = [index for key, index in first.items() if key not in self._read]
        return float(costs(parts[new]).sum())

    @property
    def exhausted(self) -> bool:
        """Whether every part of the text was asked about."""
        every: int = 2 ** min(31, len(self.players))
        return len(self.parts) == every
