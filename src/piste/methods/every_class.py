"""Any method, asked for every class of a decision."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np

from piste.explanation import SIDELESS, Target
from piste.methods.base import Attribution, Method
from piste.methods.classes import left_out, likeliest, names
from piste.methods.slalom import Slalom
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.models.target import resolve_target
from piste.text.players import Players

ALL = "all"


def is_every(target: str | int | None, classifier: Classifier) -> bool:
    """Whether all classes are meant: a label of that name goes before the word."""
    return target == ALL and ALL not in (classifier.labels or ())


@dataclass(frozen=True)
class EveryClass:
    """A method's scores for the target, and beside them those for every other class.

    SLALOM fits all classes at once; another method is asked for one class after the other, and
    the model answers what they have in common once.
    """

    method: Method

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        if isinstance(self.method, Slalom):
            return replace(self.method, classes="shared").explain(query, players, target, rng)
        whole = query.logits(players.tokens(players.whole))[0]
        found = self._one(query, players, target, rng)
        if found.primary in SIDELESS:
            note = f"{found.primary} is the same for every class."
            return replace(found, notes=(*found.notes, note))
        scores, errors, classes = dict(found.scores), dict(found.errors), likeliest(whole, target)
        for index, label in zip(classes[1:], names(target.labels, classes[1:]), strict=True):
            one = self._one(query, players, resolve_target(query.classifier, whole, index), rng)
            scores[f"{one.primary}: {label}"] = one.scores[one.primary]
            if errors:
                errors[f"{one.primary}: {label}"] = one.errors[one.primary]
        return replace(found, scores=scores, errors=errors, notes=found.notes + left_out(target))

    def _one(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        """With a copy of the generator: the same questions for every class."""
        return self.method.explain(query, players, target, copy.deepcopy(rng))
