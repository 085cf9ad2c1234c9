"""Explain one text by every method and measure each explanation by every metric."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from piste.arrays import FloatArray
from piste.data import Example, label_number
from piste.decision import Decision
from piste.errors import choices, reason
from piste.explain import explain
from piste.methods import find_method
from piste.methods.base import Method
from piste.metrics import METRICS
from piste.metrics.agreement import agreement
from piste.metrics.case import Case
from piste.metrics.deletion import deletion_curve
from piste.metrics.human_attention import consensus
from piste.metrics.naive_bayes import NaiveBayes
from piste.models.fingerprint import SAMPLES, Sample
from piste.models.protocol import Classifier
from piste.options import DEFAULT, Options
from piste.result.explanation import Explanation, Target
from piste.runs.store import StoredRow
from piste.text.players import Players

PROBE = "This is neither good nor bad."


@dataclass(frozen=True)
class View:
    """One column of the result: a method, ranked by its primary score or by another."""

    name: str
    method: Method
    score: str | None = None

    @classmethod
    def of(cls, given: str | Method | View) -> View:
        """ "lime", or "slalom:value" to rank by another score, or a method object."""
        if isinstance(given, View):
            return given
        if not isinstance(given, str):
            return cls(find_method(given).name, find_method(given))
        method, _, score = given.partition(":")
        return cls(given, find_method(method), score or None)

    def told(self) -> dict[str, Any]:
        """The settings that its measured values depend on."""
        return {"score": self.score, **self.made_by()}

    def made_by(self) -> dict[str, Any]:
        """The settings that its explanation depends on; views with equal ones share it."""
        return {"method": self.method.name, **self.method.settings()}

    def see(self, explanation: Explanation) -> Explanation:
        """The explanation, ranked by the score of this view."""
        if self.score is None:
            return explanation
        if self.score not in explanation.scores:
            raise choices("score", self.score, list(explanation.scores))
        return replace(explanation, primary=self.score)


def usable(examples: Iterable[Example]) -> list[Example]:
    """The examples that have a text."""
    return [one for one in examples if one.problem is None and one.text.strip()]


def samples(examples: Sequence[Example]) -> list[Sample]:
    """The texts whose answers identify a function: a fixed one, and the first of the data."""
    first = usable(examples)[:SAMPLES]
    paired = bool(first) and first[0].pair is not None
    return [(PROBE, PROBE if paired else None), *((one.text, one.pair) for one in first)]


@dataclass(frozen=True)
class Plan:
    """What is done with each text."""

    classifier: Classifier
    views: tuple[View, ...]
    metrics: tuple[str, ...]
    options: Options = DEFAULT
    reference: NaiveBayes | None = None
    changed: Classifier | None = None  # with weights drawn anew

    def told(self, source: str, split: str, train: str | None) -> dict[str, Any]:
        """The settings that the rows depend on, for the store to compare."""
        return {
            "data": source,
            "split": split,
            "train": train,
            "model": self.classifier.name,
            "views": {view.name: view.told() for view in self.views},
            "metrics": list(self.metrics),
            **self.options.shaping(),
        }


def judged(example: Example, plan: Plan) -> StoredRow:
    """All measured values of one text, or the reason why it cannot be explained."""
    if example.problem is not None:
        return {"error": example.problem}
    try:
        case = _case(example, plan)
    except Exception as error:  # one text must not end the run, whatever the model does to it
        return {"error": reason(error)}
    target = case.decision.target
    row: StoredRow = {"target": target.label, "against": target.against, "score": target.score}
    row |= {"values": {}, "cost": {}, "curves": {}, "failed": _lacking(plan, case)}
    explained: dict[str, Explanation] = {}
    seen: dict[str, Explanation] = {}
    for view in plan.views:
        try:
            explanation = view.see(_explained(example, plan, case, view, explained))
            row["values"][view.name] = _values(
                plan, _for_view(case, example, plan, view), explanation
            )
            row["curves"][view.name] = [part.tolist() for part in _curve(case, explanation)]
        except Exception as error:  # as above, for one method
            row["failed"][view.name] = reason(error)
            row["values"].pop(view.name, None)
            continue
        if not explanation.elsewhere:
            row["cost"][view.name] = asdict(explanation.cost)
        seen[view.name] = explanation
    row["agreement"] = {"views": list(seen), "matrix": _plain(agreement(list(seen.values())))}
    return row


def _lacking(plan: Plan, case: Case) -> dict[str, str]:
    """Metrics that cannot be measured on this text, and why."""
    lacks = {
        "human": None if case.marked is not None else "no human marks fit this text",
        "reference": None if case.reference is not None else "no training text has its label",
    }
    needed = {name: METRICS[name].needs for name in plan.metrics}
    lacking = {name: str(lacks[need]) for name, need in needed.items() if need and lacks[need]}
    if len(case.decision.players) < 2:
        lacking["metrics"] = f"a text of one {plan.options.unit}: there is nothing to remove"
    return lacking


def _case(example: Example, plan: Plan) -> Case:
    decision = Decision.on(example.text, plan.classifier, plan.options, example.pair)
    players, target = decision.players, decision.target
    return Case(
        decision,
        plan.options.seed,
        marked=consensus(players, example.words, example.maps),
        reference=None if plan.reference is None else _weights(plan.reference, players, target),
    )


def _weights(reference: NaiveBayes, players: Players, target: Target) -> FloatArray | None:
    """Naive Bayes towards the target [players]; None where no text of its labels was counted."""
    label = _counted(reference, target.label, target.index)
    if target.against is None or target.against_index is None:
        return None if label is None else reference.weights(players, label)
    rival = _counted(reference, target.against, target.against_index)
    if label is None or rival is None:
        return None
    return reference.weights(players, label, rival)


def _counted(reference: NaiveBayes, label: str, index: int) -> int | str | None:
    """What the training texts call a label of the model: its name or its number."""
    known = reference.counts
    names = [label, *(name for name in known if label_number(name) == index)]
    return next((name for name in names if name in known), None)


def _for_view(case: Case, example: Example, plan: Plan, view: View) -> Case:
    """The case, with callbacks that explain the text again by the view's method."""
    target = case.decision.target
    case.again = lambda explanation, seed: _once_more(
        example, plan, view, target, explanation, seed
    )
    case.elsewhere = _elsewhere(example, plan, view, target)
    return case


def _elsewhere(
    example: Example, plan: Plan, view: View, target: Target
) -> Callable[[Explanation], Explanation] | None:
    if plan.changed is None:
        return None
    forgetful = replace(plan, classifier=plan.changed)
    return lambda explanation: _once_more(
        example, forgetful, view, target, explanation, plan.options.seed
    )


def _explained(
    example: Example, plan: Plan, case: Case, view: View, known: dict[str, Explanation]
) -> Explanation:
    """The view's explanation; views of one method with the same settings share it.

    Methods ask for themselves, so that their cost is true; what they asked, the metrics know.
    """
    key = json.dumps(view.made_by(), sort_keys=True, default=str)
    if key not in known:
        answers: dict[bytes, FloatArray] = {}
        known[key] = _explain(
            example, plan, view.method, case.decision.target, plan.options.seed, answers
        )
        case.decision.query.answers.update(answers)
    return known[key]


def _explain(
    example: Example,
    plan: Plan,
    method: Method,
    target: Target,
    seed: int,
    answers: dict[bytes, FloatArray] | None = None,
) -> Explanation:
    options = replace(plan.options, target=target.index, against=target.against_index, seed=seed)
    return explain(
        example.text,
        plan.classifier,
        method,
        pair=example.pair,
        answers=answers,
        **options.named(),
    )


def _once_more(
    example: Example, plan: Plan, view: View, target: Target, explanation: Explanation, seed: int
) -> Explanation:
    """Explain again by the view's method, ranked by the same score."""
    again = _explain(example, plan, view.method, target, seed)
    return replace(again, primary=explanation.primary)


def _values(plan: Plan, case: Case, seen: Explanation) -> dict[str, float | None]:
    figures = {name: METRICS[name].measure(case, seen) for name in plan.metrics}
    return {name: None if value is None else float(value) for name, value in figures.items()}


def _curve(case: Case, seen: Explanation) -> tuple[FloatArray, FloatArray]:
    return deletion_curve(case.decision, seen.scores[seen.primary])


def _plain(matrix: FloatArray) -> list[list[float | None]]:
    return [[value if np.isfinite(value) else None for value in row] for row in matrix.tolist()]
