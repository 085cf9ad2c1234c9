"""Any method, asked for every class of a decision."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np

from piste.explanation import CLASS, Target
from piste.methods.base import Attribution, Method
from piste.methods.classes import left_out, likeliest, names
from piste.methods.slalom import Slalom
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.models.target import resolve_target
from piste.text.players import Players

ALL = "all"
CLASSLESS = frozenset({"alpha-avg", "alpha-max", "rollout"})  # the same whatever the class


def is_every(target: str | int | None, classifier: Classifier) -> bool:
    """Whether all classes are meant: a label of that name goes before the word."""
    labels = [label.casefold() for label in classifier.labels or ()]
    return isinstance(target, str) and target == ALL and ALL not in labels


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
        if len(target.labels) == 1:
            return self.method.explain(query, players, target, rng)
        if isinstance(self.method, Slalom):
            return replace(self.method, classes="shared").explain(query, players, target, rng)
        whole = query.logits(players.tokens(players.whole))[0]
        left = query.left  # every class may ask as much, and all ask the same
        found = self._one(query, left, players, target, rng)
        if found.primary in CLASSLESS:
            note = f"{found.primary} is the same for every class."
            return replace(found, notes=(*found.notes, note))
        scores, errors, classes = dict(found.scores), dict(found.errors), likeliest(whole, target)
        for index, label in zip(classes[1:], names(target.labels, classes[1:]), strict=True):
            other = resolve_target(query.classifier, whole, index)
            one = self._one(query, left, players, other, rng)
            scores[f"{one.primary}{CLASS}{label}"] = one.scores[one.primary]
            errors |= {f"{n}{CLASS}{label}": e for n, e in one.errors.items() if n == one.primary}
        known = errors if errors.keys() == scores.keys() else {}
        return replace(found, scores=scores, errors=known, notes=found.notes + left_out(target))

    def _one(
        self,
        query: Query,
        left: int | None,
        players: Players,
        target: Target,
        rng: np.random.Generator,
    ) -> Attribution:
        """One class, on a line of its own and with a copy of the generator: the same questions."""
        line = query.anew(left)
        found = self.method.explain(line, players, target, copy.deepcopy(rng))
        query.count_too(line)
        return found
