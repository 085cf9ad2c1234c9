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
from piste.surrogates.context import Process, keys
from piste.surrogates.effects import Effects, removal_parts
from piste.surrogates.mean_effects import mean_interactions, mean_shapley

MOST_PAIRED = 200  # players among which pairs are looked for: the most relevant ones
SEED = 0  # of sampled company; what is sampled is the same for every reader


@dataclass(frozen=True, eq=False)
class PartSurrogate:
    """mean + process; `means` has one formula an output, or none where the mean is 0."""

    process: Process
    means: tuple[Formula, ...]
    groups: IntArray  # [players]: equal players have equal parameters in the mean

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

    def predict(self, parts: BoolArray) -> FloatArray:
        """Scores of parts [parts, outputs]; of a part that was asked, the model's own answer."""
        scores = self.mean(parts) + self.process.predict(parts)
        known, where = self._known(parts)
        scores[known] = (self.mean(self.process.parts) + self.process.residuals)[where]
        return scores

    def errors(self, parts: BoolArray) -> FloatArray:
        """Standard errors of `predict` [parts, outputs]; 0 for a part that was asked."""
        errors = self.process.errors(parts)
        errors[self._known(parts)[0]] = 0.0
        return errors

    def _known(self, parts: BoolArray) -> tuple[IntArray, IntArray]:
        """Which of the parts were asked, and as which questions."""
        asked = {key: index for index, key in enumerate(keys(self.process.parts))}
        pairs = [(i, asked[key]) for i, key in enumerate(keys(parts)) if key in asked]
        first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return first, second

    def effects(self) -> FloatArray:
        """Shapley values [players, outputs]; they sum to the whole text less the empty one."""
        effects = self.effects_of.shapley()
        if self.means:
            own = [
                mean_shapley(mean, self.groups, np.random.default_rng(SEED)) for mean in self.means
            ]
            effects = effects + np.stack(own, axis=1)
        ends = np.stack([np.ones(self.players, dtype=bool), np.zeros(self.players, dtype=bool)])
        whole, empty = self.predict(ends)
        # The process meets both ends to within its jitter: what that leaves is shared evenly.
        return effects + (whole - empty - effects.sum(axis=0)) / self.players

    def effect_errors(self) -> FloatArray:
        """Standard errors of the effects [players, outputs]."""
        return self.process.scaled(np.diag(self.effects_of.shapley_covariance()))

    def removals(self) -> tuple[FloatArray, FloatArray]:
        """How far the score falls without each player [players, outputs], and standard errors."""
        parts = removal_parts(self.players)
        scores, errors = self.predict(parts), self.errors(parts)
        return scores[0] - scores[1:], errors[1:]

    def interactions(self) -> tuple[IntArray, FloatArray]:
        """The players among which pairs are told, and their interactions [chosen, chosen]."""
        relevant = np.argsort(-self.process.kernel.relevances, kind="stable")[:MOST_PAIRED]
        chosen = np.sort(relevant).astype(np.int64)
        total = self.effects_of.interactions()[np.ix_(chosen, chosen)]
        if self.means:
            total = total + mean_interactions(self.means[0], chosen, np.random.default_rng(SEED))
        return chosen, total

    def strongest_pairs(self, count: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Pairs of players [pairs, 2], strongest first, their interactions and standard errors."""
        chosen, matrix = self.interactions()
        first, second = np.triu_indices(len(chosen), k=1)
        order = np.argsort(-np.abs(matrix[first, second]), kind="stable")[:count]
        pairs = np.stack([chosen[first[order]], chosen[second[order]]], axis=1)
        values = matrix[first[order], second[order]]
        return pairs, values, self.effects_of.interaction_errors(pairs)
