"""Every class of a decision: explained together on one scale, or one after the other."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np

from piste.arrays import FloatArray
from piste.decision import CENTRED, LOG_ODDS, Decision, margins, resolve_target, scale_of
from piste.errors import SettingError
from piste.methods.base import Attribution, Method
from piste.models.protocol import Classifier
from piste.result.explanation import Target
from piste.result.scores import CLASS, score
from piste.special import logsumexp

MOST = 12  # classes with scores of their own; the others, less likely, are one


@dataclass(frozen=True)
class Classes:
    """The outputs that are fitted together, the target's first.

    Where they exclude each other (a softmax), each is told as its logit above the mean of all:
    then they sum to zero, as SLALOM's values do. Beyond the `MOST` likeliest the rest is one.
    """

    classifier: Classifier
    target: Target  # on the scale of `scores`
    indices: tuple[int, ...]
    rest: bool

    @classmethod
    def of(cls, classifier: Classifier, whole: FloatArray, target: Target) -> Classes:
        """The classes of a decision; `whole` [outputs] is the model's answer to the text."""
        if len(whole) < 2:
            raise SettingError(
                "This model has one output: there are no classes to share importances.",
                'Use classes="one-vs-rest".',
            )
        if target.against is not None:
            raise SettingError(
                f"against is {target.against!r}, and shared importances explain every class.",
                'Leave against out, or use classes="one-vs-rest".',
            )
        indices = likeliest(whole, target)
        rest = classifier.outputs == "classes" and len(indices) < len(whole)
        classes = cls(classifier, target, indices, rest)
        scale = CENTRED if classifier.outputs == "classes" else target.scale
        own = replace(target, scale=scale, score=float(classes.scores(whole[None])[0, 0]))
        return replace(classes, target=own)

    def scores(self, logits: FloatArray) -> FloatArray:
        """Scores [rows, classes] of outputs [rows, outputs]."""
        if self.classifier.outputs != "classes":
            return np.stack([margins(logits, self.classifier, i) for i in self.indices], axis=1)
        kept = logits[:, self.indices]
        if self.rest:
            others = np.delete(logits, self.indices, axis=1)
            kept = np.column_stack([kept, logsumexp(others, axis=1)])
        return np.asarray(kept - kept.mean(axis=1, keepdims=True))

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the classes beside the target."""
        named = names(self.target.labels, self.indices[1:])
        rest = "all others" if "all others" not in named else "all other classes"
        return (*named, rest) if self.rest else named


def likeliest(whole: FloatArray, target: Target) -> tuple[int, ...]:
    """The target's index, then the others', likeliest first, `MOST` in all."""
    ranked = [i for i in np.argsort(-whole, kind="stable").tolist() if i != target.index]
    return (target.index, *ranked[: MOST - 1])


def names(labels: tuple[str, ...], indices: tuple[int, ...]) -> tuple[str, ...]:
    """The labels of these outputs; duplicate labels are numbered."""
    return tuple(
        labels[index] if labels.count(labels[index]) == 1 else f"{labels[index]} ({index})"
        for index in indices
    )


def left_out(target: Target) -> tuple[str, ...]:
    more = len(target.labels) - MOST
    if more <= 0:
        return ()
    return (f"Only the {MOST} most likely of {len(target.labels):,} classes have scores.",)


def columns(logits: FloatArray, classifier: Classifier) -> tuple[FloatArray, str]:
    """What a lexicon keeps of outputs [rows, outputs], and its scale.

    Of two classes the log-odds of the second [rows, 1]; of more every logit above their mean.
    """
    if classifier.outputs != "classes":
        scores = [margins(logits, classifier, index) for index in range(logits.shape[1])]
        return np.stack(scores, axis=1), scale_of(classifier)
    if logits.shape[1] == 2:
        return margins(logits, classifier, 1)[:, None], LOG_ODDS
    return np.asarray(logits - logits.mean(axis=1, keepdims=True)), CENTRED


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
