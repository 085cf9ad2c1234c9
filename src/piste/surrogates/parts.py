"""SLALOM and the process on top of it: the surrogate of a text that knows its context.

Everything a reader wants of it is here: the score of any part, what each player contributes, what
its removal does, which pairs act together, each with a standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray
from piste.result.formula import Formula
from piste.result.parts import NEAR, PartAnswers
from piste.surrogates import algebra
from piste.surrogates.context import Kernel, Process, keys
from piste.surrogates.effects import Effects, removal_parts
from piste.surrogates.mean_effects import mean_interactions, mean_shapley
from piste.surrogates.shapley import (
    EXACT_SHAPLEY,
    all_coalitions,
    company_odds,
    exact_shapley,
    part_interactions,
    shapley_weights,
)

MOST_PAIRED = 100  # players among which pairs are looked for: the most relevant ones
SEED = 0  # of sampled company; what is sampled is the same for every reader
LITTLE = 1e-6  # of an interaction: what two words do by themselves, in a long text
TINY = 0.1  # parts with a smaller share of the players are unlike the text: SLALOM alone has them


def like_the_text(parts: BoolArray) -> BoolArray:
    """The parts that a process is fitted to [parts]; the empty text is one of its ends."""
    kept = parts.sum(axis=1)
    return np.asarray((kept >= TINY * parts.shape[1]) | (kept == 0))


def ends(parts: BoolArray) -> BoolArray:
    """Which parts are the whole text or the empty one [parts]."""
    return np.asarray(parts.all(axis=1) | ~parts.any(axis=1))


def readings(parts: BoolArray, reads: IntArray) -> list[bytes]:
    """A key for the text that each part reads as: without either of two equal neighbours it is the
    same. reads [players]: as `read_as` numbers them.
    """
    if len(np.unique(reads)) == len(reads):
        return keys(parts)
    return [reads[part].tobytes() for part in parts]


@dataclass(frozen=True, eq=False)
class PartSurrogate:
    """mean + process; `means` has one formula an output, or none where the mean is 0."""

    process: Process
    means: tuple[Formula, ...]
    groups: IntArray  # [players]: equal players have equal parameters in the mean
    parts: BoolArray  # [asked, players]: all that was asked, also what the process has not seen
    answers: FloatArray  # [asked, outputs]
    reads: IntArray  # [players]: what the model reads of each, as `read_as` numbers it
    base_is_given: bool = False  # the answer to the empty part is none of the model's
    varies: float = 0.0  # how far two of its answers to the same part were apart: no error is less

    @classmethod
    @algebra.one_thread  # as it was fitted: the threads of a product change its last digit
    def of(
        cls, stored: PartAnswers, formula: Formula | None, groups: IntArray, reads: IntArray
    ) -> PartSurrogate:
        """The surrogate that an explanation has kept, for the target alone."""
        parts, answers = stored.parts, stored.answers[:, None]
        means = (formula,) if stored.on_slalom and formula is not None else ()
        inside = like_the_text(parts)
        prior = means[0].scores(parts)[:, None] if means else np.zeros_like(answers)
        process = Process(
            Kernel(stored.relevances, stored.noise, stored.slope),
            parts[inside],
            (answers - prior)[inside],
            ends(parts[inside]),
            np.array([stored.amplitude]),
            stored.inflation,
        )
        given, varies = stored.base_is_given, stored.varies
        return cls(process, means, groups, parts, answers, reads, given, varies)

    def stored(self) -> PartAnswers:
        """What an explanation keeps: enough to predict any part without the model."""
        kernel = self.process.kernel
        return PartAnswers(
            kept=tuple(
                (part + ord("0")).tobytes().decode() for part in self.parts.astype(np.uint8)
            ),
            answers=self.answers[:, 0],
            relevances=kernel.relevances,
            noise=kernel.noise,
            slope=kernel.slope,
            amplitude=float(self.process.amplitude[0]),
            inflation=self.process.inflation,
            on_slalom=bool(self.means),
            base_is_given=self.base_is_given,
            varies=self.varies,
        )

    @property
    def players(self) -> int:
        return len(self.groups)

    @cached_property
    def effects_of(self) -> Effects:
        return Effects(self.process)

    def mean(self, parts: BoolArray) -> FloatArray:
        """The mean function [parts, outputs]."""
        if not self.means:
            return np.zeros((len(parts), self.process.residuals.shape[1]))
        return np.stack([formula.scores(parts) for formula in self.means], axis=1)

    @algebra.one_thread  # small matrices: several threads wait for each other
    def predict(self, parts: BoolArray) -> FloatArray:
        """Scores of parts [parts, outputs]; of a part that was asked, the model's own answer."""
        scores = self.mean(parts) + self.process.predict(parts)
        known, where = self._known(parts)
        scores[known] = self.answers[where]
        return scores

    @algebra.one_thread
    def errors(self, parts: BoolArray) -> FloatArray:
        """Standard errors of `predict` [parts, outputs]; 0 for a part that was asked."""
        errors = self.process.errors(parts)
        errors[self._known(parts)[0]] = 0.0
        return np.asarray(np.hypot(errors, self.varies))

    @cached_property
    def _questions(self) -> dict[bytes, int]:
        """Where each part that was asked stands, by how it reads."""
        return {key: index for index, key in enumerate(readings(self.parts, self.reads))}

    def _known(self, parts: BoolArray) -> tuple[IntArray, IntArray]:
        """Which of the parts were asked, or read as one that was, and as which questions."""
        asked = self._questions
        found = readings(parts, self.reads)
        pairs = [(i, asked[key]) for i, key in enumerate(found) if key in asked]
        first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return first, second

    @property
    def complete(self) -> bool:
        """Whether every part of a short text was asked about."""
        return self.players <= EXACT_SHAPLEY and len(self.parts) == 2**self.players

    def _every_answer(self) -> tuple[BoolArray, FloatArray]:
        """All parts, in the order of their bits, and their scores [parts, outputs]."""
        parts = all_coalitions(self.players)
        return parts, self.predict(parts)

    @cached_property
    def effects(self) -> FloatArray:
        """Shapley values of `predict` [players, outputs]; they sum to whole text less empty."""
        if self.complete:
            parts, answers = self._every_answer()
            return np.stack([exact_shapley(parts, worth) for worth in answers.T], axis=1)
        effects = self.effects_of.shapley()
        if self.means:
            effects = effects + self._mean_shapley[0]
        return np.asarray(effects + shapley_weights(self.parts).T @ self._surprises)

    @cached_property
    def _mean_shapley(self) -> tuple[FloatArray, FloatArray]:
        """Shapley values of the means [players, outputs], and variances where they are sampled."""
        own = [mean_shapley(mean, self.groups, np.random.default_rng(SEED)) for mean in self.means]
        return np.stack([values for values, _ in own], 1), np.stack([open_ for _, open_ in own], 1)

    @cached_property
    def _surprises(self) -> FloatArray:
        """The model's own answers, less what mean and process say of them [asked, outputs].

        Of parts that were asked, the answers count: everything that follows is of `predict`.
        """
        return self.answers - self.mean(self.parts) - self.process.predict(self.parts)

    @cached_property
    def effect_errors(self) -> FloatArray:
        """Standard errors of the effects [players, outputs]."""
        if self.complete:
            return np.zeros_like(self.effects)
        errors = self.process.scaled(self.effects_of.shapley_variances())
        return np.hypot(errors, np.sqrt(self._mean_shapley[1])) if self.means else errors

    @algebra.one_thread
    def removals(self) -> tuple[FloatArray, FloatArray]:
        """How far the score falls without each player [players, outputs], and standard errors."""
        parts = removal_parts(self.players)
        scores, errors = self.predict(parts), self.errors(parts)
        return scores[0] - scores[1:], errors[1:]

    def interactions(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The players among which pairs are told, their interactions [chosen, chosen], and what
        the sampling of the mean's leaves open, as variances.
        """
        if self.complete:
            every = np.arange(self.players)
            parts, answers = self._every_answer()
            exact = part_interactions(parts, answers[:, 0], every)
            return every, exact, np.zeros_like(exact)
        relevant = np.argsort(-self.process.kernel.relevances, kind="stable")[:MOST_PAIRED]
        chosen = np.sort(relevant).astype(np.int64)
        total = self.effects_of.interactions(chosen)
        total += part_interactions(self.parts, self._surprises[:, 0], chosen)
        if not self.means:
            return chosen, total, np.zeros_like(total)
        own, sampled = mean_interactions(self.means[0], chosen, np.random.default_rng(SEED))
        return chosen, total + own, sampled

    @algebra.one_thread
    def strongest_pairs(self, count: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Pairs of players [pairs, 2], strongest first, their interactions and standard errors."""
        chosen, matrix, sampled = self.interactions()
        first, second = np.triu_indices(len(chosen), k=1)
        pairs, values = np.stack([chosen[first], chosen[second]], axis=1), matrix[first, second]
        if self.base_is_given:
            values = self._without_base(pairs, values)
        order = np.argsort(-np.abs(values), kind="stable")[:count]
        first, second, pairs, values = first[order], second[order], pairs[order], values[order]
        if self.complete:
            return pairs, values, np.full(len(pairs), self.varies)
        errors = np.hypot(self.effects_of.interaction_errors(pairs), self.varies)
        return pairs, values, np.hypot(errors, np.sqrt(sampled[first, second]))

    def _without_base(self, pairs: IntArray, values: FloatArray) -> FloatArray:
        """Interactions in the company of others only.

        By themselves two words are compared with the empty text, of which the model has said
        nothing: what stands for it would be put down to every pair.
        """
        share = company_odds(max(self.players - 2, 0), NEAR)[0]  # of all company that is none
        if share < LITTLE:
            return values
        if self.players < 3:
            return np.zeros(len(pairs))
        parts = np.zeros((4, len(pairs), self.players), dtype=bool)
        every = np.arange(len(pairs))
        for place, player in enumerate(pairs.T):
            parts[0, every, player] = parts[place + 1, every, player] = True
        both, one, other, neither = (self.predict(some)[:, 0] for some in parts)
        return np.asarray((values - share * (both - one - other + neither)) / (1 - share))
