"""One text on trial: every explanation of it, judged by every metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from piste.data import Columns, Example
from piste.errors import PisteError, choices
from piste.explain import explain
from piste.explanation import Explanation, FloatArray
from piste.methods import find_method, settings
from piste.methods.base import Method
from piste.metrics import METRICS
from piste.metrics.agreement import agreement
from piste.metrics.deletion import deletion_curve
from piste.metrics.human_attention import consensus
from piste.metrics.naive_bayes import NaiveBayes
from piste.metrics.trial import Trial
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.models.target import resolve_target
from piste.ragged import Ragged
from piste.runs.store import Row
from piste.text.encoding import check_text
from piste.text.players import split

PROBE = "This is neither good nor bad."


@dataclass(frozen=True)
class View:
    """One column of the result: a method, ranked by its primary score or by another."""

    name: str
    method: str | Method
    score: str | None = None

    @classmethod
    def of(cls, given: str | Method | View) -> View:
        """ "lime", or "slalom:value" to rank by another score, or a method object."""
        if isinstance(given, View):
            return given
        if not isinstance(given, str):
            return cls(find_method(given)[0], given)
        method, _, score = given.partition(":")
        find_method(method)
        return cls(given, method, score or None)

    def told(self) -> dict[str, Any]:
        """What shapes its figures."""
        return {"score": self.score, **settings(find_method(self.method)[1])}

    def see(self, explanation: Explanation) -> Explanation:
        """The explanation, ranked by the score of this view."""
        if self.score is None:
            return explanation
        if self.score not in explanation.scores:
            raise choices("score", self.score, list(explanation.scores))
        return replace(explanation, primary=self.score)


def answer_to_the_probe(classifier: Classifier) -> list[float]:
    """What tells one model from another: its outputs for one short text."""
    encoding = classifier.encode(PROBE)
    query = Query(classifier, encoding.frame)
    answer: list[float] = query.logits(Ragged.of([encoding.ids]))[0].tolist()
    return answer


@dataclass(frozen=True)
class Plan:
    """What is done with each text."""

    classifier: Classifier
    views: tuple[View, ...]
    metrics: tuple[str, ...]
    unit: str = "word"
    repeats: str = "shared"
    target: str | int | None = None
    seed: int = 0
    budget: int | None = None
    reference: NaiveBayes | None = None
    changed: Classifier | None = None  # with weights drawn anew

    def told(self, source: str, columns: Columns, train: str | None) -> dict[str, Any]:
        """Everything that shapes the rows, for the store to compare."""
        return {
            "data": source,
            "columns": asdict(columns),
            "train": train,
            "model": self.classifier.name,
            "views": {view.name: view.told() for view in self.views},
            "metrics": list(self.metrics),
            "unit": self.unit,
            "repeats": self.repeats,
            "target": self.target,
            "seed": self.seed,
            "budget": self.budget,
        }


def judged(example: Example, plan: Plan) -> Row:
    """All figures of one text; where it cannot be explained at all, the reason."""
    try:
        if example.problem is not None:
            return {"error": example.problem}
        trial = _trial(example, plan)
    except PisteError as error:
        return {"error": str(error)}
    row: Row = {"target": trial.target.label, "score": trial.target.score}
    row |= {"values": {}, "cost": {}, "curves": {}, "failed": {}}
    explained: dict[str, Explanation] = {}
    length = trial.query.sequence(trial.players.whole.expand(trial.players.ids)).size
    for view in plan.views:
        try:
            seen = view.see(_explained(example, plan, trial, view, explained))
            row["values"][view.name] = _values(plan, trial, seen)
        except PisteError as error:
            row["failed"][view.name] = str(error)
            continue
        row["cost"][view.name] = asdict(seen.cost) | {"text": length}
        row["curves"][view.name] = [part.tolist() for part in _curve(trial, seen)]
    shown = [view.see(explained[_key(view)]) for view in plan.views if view.name in row["values"]]
    row["agreement"] = _plain(agreement(shown))
    return row


def _trial(example: Example, plan: Plan) -> Trial:
    encoding = plan.classifier.encode(check_text(example.text))
    players = split(encoding, plan.unit, plan.repeats)
    query = Query(plan.classifier, encoding.frame)
    whole = query.logits(players.whole.expand(players.ids))[0]
    target = resolve_target(plan.classifier, whole, plan.target)
    reference = None
    if plan.reference is not None:
        names = (target.label, target.index, str(target.index))
        label = next((name for name in names if name in plan.reference.counts), None)
        reference = None if label is None else plan.reference.weights(players, label)
    return Trial(
        query,
        players,
        target,
        plan.seed,
        marked=consensus(players, example.words, example.maps),
        reference=reference,
        again=lambda found, seed: _once_more(example, plan, target.index, found, seed),
        elsewhere=_elsewhere(example, plan, target.index),
    )


def _elsewhere(
    example: Example, plan: Plan, target: int
) -> Callable[[Explanation], Explanation] | None:
    if plan.changed is None:
        return None
    forgetful = replace(plan, classifier=plan.changed)
    return lambda found: _once_more(example, forgetful, target, found, plan.seed)


def _key(view: View) -> str:
    return view.name.partition(":")[0] if view.score else view.name


def _explained(
    example: Example, plan: Plan, trial: Trial, view: View, known: dict[str, Explanation]
) -> Explanation:
    """The view's explanation; views of one method share it."""
    key = _key(view)
    if key not in known:
        known[key] = _explain(example, plan, view.method, trial.target.index, plan.seed)
    return known[key]


def _explain(
    example: Example, plan: Plan, method: str | Method, target: int, seed: int
) -> Explanation:
    return explain(
        example.text,
        plan.classifier,
        method,
        target=target,
        unit=plan.unit,
        repeats=plan.repeats,
        seed=seed,
        budget=plan.budget,
    )


def _once_more(
    example: Example, plan: Plan, target: int, found: Explanation, seed: int
) -> Explanation:
    """The same method again; its settings are those of the view that it came from."""
    methods = {find_method(view.method)[0]: view.method for view in plan.views}
    again = _explain(example, plan, methods[found.method], target, seed)
    return replace(again, primary=found.primary)


def _values(plan: Plan, trial: Trial, seen: Explanation) -> dict[str, float | None]:
    found = {name: METRICS[name].measure(trial, seen) for name in plan.metrics}
    return {name: None if value is None else float(value) for name, value in found.items()}


def _curve(trial: Trial, seen: Explanation) -> tuple[FloatArray, FloatArray]:
    return deletion_curve(trial.query, trial.players, trial.target, seen.scores[seen.primary])


def _plain(matrix: FloatArray) -> list[list[float | None]]:
    return [[value if np.isfinite(value) else None for value in row] for row in matrix.tolist()]
