"""Every class of an explanation made with target="all", as an explanation of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit, logsumexp, softmax

from piste.arrays import FloatArray
from piste.decision import CENTRED
from piste.render import words
from piste.result.explanation import Explanation, Target
from piste.result.scores import score

NEAR = 1e-6  # as a share of the score: the same number, computed twice


def of_every_class(explanation: Explanation) -> dict[str, Explanation]:
    """For each class, by the name of its score, the explanation towards it; the target's first.

    Those of other classes know their effects, the score and its base: no pairs, and nothing that
    would turn the decision. Empty where the file does not tell the scores of all classes.
    """
    named = words.by_class(explanation)
    targets = _targets(explanation, list(named))
    if targets is None:
        return {}
    own, *others = named.values()
    known = {own: explanation}
    for name, target in zip(others, targets[1:], strict=True):
        if target is not None:
            known[name] = _towards(explanation, target, own, name)
    return known


def _towards(explanation: Explanation, target: Target, own: str, name: str) -> Explanation:
    scores, errors = explanation.scores[name], explanation.errors.get(name)
    base = None
    if explanation.base is not None and score(own).adds_up:
        base = target.score - math.fsum(scores.tolist())  # they lead from there to the score
    return replace(
        explanation,
        scores={own: scores},
        errors={} if errors is None else {own: errors},
        primary=own,
        target=target,
        base=base,
        parts=None,
        formula=None,
        flip=None,
        core=None,
        surrogate_score=None,
    )


def _targets(explanation: Explanation, labels: list[str]) -> list[Target | None] | None:
    """The target of each class; None for all the others together."""
    record, target = explanation.record, explanation.target
    known = () if record is None or record.outputs is None else record.outputs
    if record is None or not labels or len(known) != len(target.labels):
        return None
    outputs = np.array(known)
    indices = [_index(target.labels, label) for label in labels]
    indices[0] = target.index
    exclusive = record.fingerprint.get("outputs") == "classes"
    told = _scores(outputs, indices, exclusive, target.scale == CENTRED)
    if abs(told[0] - target.score) > NEAR * (1 + abs(target.score)):
        return None  # on a scale of its own, as of a contrast
    shares = softmax(outputs) if exclusive else expit(outputs)
    return [
        None
        if index is None
        else replace(
            target,
            index=index,
            label=target.labels[index],
            score=float(told[place]),
            probability=None if target.probability is None else float(shares[index]),
        )
        for place, index in enumerate(indices)
    ]


def _index(labels: Sequence[str], named: str) -> int | None:
    """Where the label stands; duplicates are numbered: "spam (3)"."""
    numbered = {f"{label} ({index})": index for index, label in enumerate(labels)}
    return labels.index(named) if labels.count(named) == 1 else numbered.get(named)


def _scores(
    outputs: FloatArray, indices: Sequence[int | None], exclusive: bool, centred: bool
) -> FloatArray:
    """The scores of these outputs, on the scale of the explanation; None is all the others."""
    known = [index for index in indices if index is not None]
    if not exclusive:
        return outputs[known]
    if not centred:
        return np.array([outputs[i] - logsumexp(np.delete(outputs, i)) for i in known])
    kept = outputs[known]
    if len(known) < len(indices):
        kept = np.append(kept, logsumexp(np.delete(outputs, known)))
    return np.asarray(kept - kept.mean())
