"""Any method, asked for every class of a decision."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from piste.decision import Decision, resolve_target
from piste.methods.base import Attribution, Method
from piste.methods.class_columns import left_out, likeliest, names
from piste.result.explanation import Target
from piste.result.scores import CLASS, score


def explain_every_class(
    method: Method, decision: Decision, rng: np.random.Generator
) -> Attribution:
    """The method's scores for the target, and beside them those for every other class.

    A method that scores all classes at once does so; another is asked for one class after the
    other, and the model answers what they have in common once.
    """
    target = decision.target
    if len(target.labels) == 1:
        return method.explain(decision, rng)
    together = method.for_every_class()
    if together is not None:
        return together.explain(decision, rng)
    budget = decision.query.left  # every class may ask as much, and all ask the same
    attribution = _one_class(method, decision, target, budget, rng)
    if not score(attribution.primary).by_class:
        note = f"{attribution.primary} is the same for every class."
        return replace(attribution, notes=(*attribution.notes, note))
    scores, errors = dict(attribution.scores), dict(attribution.errors)
    whole = decision.logits(decision.players.whole)[0]
    classes = likeliest(whole, target)[1:]
    for index, label in zip(classes, names(target.labels, classes), strict=True):
        other = resolve_target(decision.query.classifier, whole, index)
        one = _one_class(method, decision, other, budget, rng)
        scores[f"{one.primary}{CLASS}{label}"] = one.scores[one.primary]
        errors |= {f"{n}{CLASS}{label}": e for n, e in one.errors.items() if n == one.primary}
    known = errors if errors.keys() == scores.keys() else {}
    notes = attribution.notes + left_out(target)
    return replace(attribution, scores=scores, errors=known, notes=notes)


def _one_class(
    method: Method,
    decision: Decision,
    target: Target,
    budget: int | None,
    rng: np.random.Generator,
) -> Attribution:
    """One class, on a query of its own and with a copy of the generator: the same questions."""
    query = decision.query.anew(budget)
    attribution = method.explain(replace(decision, query=query, target=target), copy.deepcopy(rng))
    decision.query.count_too(query)
    return attribution
