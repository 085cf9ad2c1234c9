"""The outputs of one decision that are explained together, and the scale they share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from piste.arrays import FloatArray
from piste.decision import CENTRED, LOG_ODDS, margins, scale_of
from piste.errors import SettingError
from piste.models.protocol import Classifier
from piste.result.explanation import Target

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
        """Those of a decision; `whole` [outputs] is the model's answer to the text."""
        if len(whole) < 2:
            raise SettingError(
                "This model has one output: there are no classes to share importances.",
                'Use classes="one-vs-rest".',
            )
        indices = likeliest(whole, target)
        rest = classifier.outputs == "classes" and len(indices) < len(whole)
        found = cls(classifier, target, indices, rest)
        scale = CENTRED if classifier.outputs == "classes" else target.scale
        own = replace(target, scale=scale, score=float(found.scores(whole[None])[0, 0]))
        return replace(found, target=own)

    def scores(self, logits: FloatArray) -> FloatArray:
        """[rows, classes] of outputs [rows, outputs]."""
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
    """The labels of these outputs; those that occur twice with their number."""
    return tuple(
        labels[index] if labels.count(labels[index]) == 1 else f"{labels[index]} ({index})"
        for index in indices
    )


def left_out(target: Target) -> tuple[str, ...]:
    more = len(target.labels) - MOST
    if more <= 0:
        return ()
    return (f"Of {len(target.labels):,} classes the {MOST} likeliest have scores of their own.",)


def columns(logits: FloatArray, classifier: Classifier) -> tuple[FloatArray, str]:
    """What a lexicon keeps of outputs [rows, outputs], and its scale.

    Of two classes the log-odds of the second [rows, 1]; of more every logit above their mean.
    """
    if classifier.outputs != "classes":
        found = [margins(logits, classifier, index) for index in range(logits.shape[1])]
        return np.stack(found, axis=1), scale_of(classifier)
    if logits.shape[1] == 2:
        return margins(logits, classifier, 1)[:, None], LOG_ODDS
    return np.asarray(logits - logits.mean(axis=1, keepdims=True)), CENTRED
