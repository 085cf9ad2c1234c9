"""One text on trial: every explanation of it, judged by every metric."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from piste.compare import on_trial
from piste.data import Example, label_number
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
from piste.models.fingerprint import SAMPLES, Sample
from piste.models.protocol import Classifier
from piste.runs.store import Row

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
        return {"score": self.score, **self.made_by()}

    def made_by(self) -> dict[str, Any]:
        """What shapes its explanation: views with the same share it."""
        name, method = find_method(self.method)
        return {"method": name, **settings(method)}

    def see(self, explanation: Explanation) -> Explanation:
        """The explanation, ranked by the score of this view."""
        if self.score is None:
            return explanation
        if self.score not in explanation.scores:
            raise choices("score", self.score, list(explanation.scores))
        return replace(explanation, primary=self.score)


def usable(examples: Iterable[Example]) -> list[Example]:
    """Those that have a text."""
    return [one for one in examples if one.problem is None and one.text.strip()]


def samples(examples: Sequence[Example]) -> list[Sample]:
    """The texts by which a function is known again: a fixed one, and the first of the data."""
    first = usable(examples)[:SAMPLES]
    paired = bool(first) and first[0].pair is not None
    return [(PROBE, PROBE if paired else None), *((one.text, one.pair) for one in first)]


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

    def told(self, source: str, split: str, train: str | None) -> dict[str, Any]:
        """Everything that shapes the rows, for the store to compare."""
        return {
            "data": source,
            "split": split,
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
    if example.problem is not None:
        return {"error": example.problem}
    try:
        trial = _trial(example, plan)
    except Exception as error:  # one text must not end the run, whatever the model does to it
        return {"error": reason(error)}
    row: Row = {"target": trial.target.label, "score": trial.target.score}
    row |= {"values": {}, "cost": {}, "curves": {}, "failed": _lacking(plan, trial)}
    explained: dict[str, Explanation] = {}
    length = trial.query.sequence(trial.players.tokens(trial.players.whole)).size
    seen: dict[str, Explanation] = {}
    for view in plan.views:
        try:
            found = view.see(_explained(example, plan, trial, view, explained))
            row["values"][view.name] = _values(plan, _for_view(trial, example, plan, view), found)
            row["curves"][view.name] = [part.tolist() for part in _curve(trial, found)]
        except Exception as error:  # as above, for one method
            row["failed"][view.name] = reason(error)
            row["values"].pop(view.name, None)
            continue
        if not found.elsewhere:
            row["cost"][view.name] = asdict(found.cost) | {"text": length}
        seen[view.name] = found
    row["agreement"] = {"views": list(seen), "matrix": _plain(agreement(list(seen.values())))}
    return row


def reason(error: Exception) -> str:
    """Why a text or a method failed, in words."""
    return str(error) if isinstance(error, PisteError) else f"{type(error).__name__}: {error}"


def _lacking(plan: Plan, trial: Trial) -> dict[str, str]:
    """Metrics that cannot be measured on this text, and why."""
    lacks = {
        "human": None if trial.marked is not None else "no human marks fit this text",
        "reference": None if trial.reference is not None else "no training text has its label",
    }
    needed = {name: METRICS[name].needs for name in plan.metrics}
    found = {name: str(lacks[need]) for name, need in needed.items() if need and lacks[need]}
    if len(trial.players) < 2:
        found["metrics"] = f"a text of one {plan.unit}: there is nothing to remove"
    return found


def _trial(example: Example, plan: Plan) -> Trial:
    query, players, target = on_trial(
        example.text, plan.classifier, plan.target, plan.unit, plan.repeats, example.pair
    )
    reference = None
    if plan.reference is not None:
        known = plan.reference.counts
        names = [target.label, *(name for name in known if label_number(name) == target.index)]
        label = next((name for name in names if name in known), None)
        reference = None if label is None else plan.reference.weights(players, label)
    return Trial(
        query,
        players,
        target,
        plan.seed,
        marked=consensus(players, example.words, example.maps),
        reference=reference,
    )


def _for_view(trial: Trial, example: Example, plan: Plan, view: View) -> Trial:
    """The trial, with the view's own method for what is explained once more."""
    target = trial.target.index
    trial.again = lambda found, seed: _once_more(example, plan, view, target, found, seed)
    trial.elsewhere = _elsewhere(example, plan, view, target)
    return trial


def _elsewhere(
    example: Example, plan: Plan, view: View, target: int
) -> Callable[[Explanation], Explanation] | None:
    if plan.changed is None:
        return None
    forgetful = replace(plan, classifier=plan.changed)
    return lambda found: _once_more(example, forgetful, view, target, found, plan.seed)


def _explained(
    example: Example, plan: Plan, trial: Trial, view: View, known: dict[str, Explanation]
) -> Explanation:
    """The view's explanation; views of one method with the same settings share it.

    Methods ask for themselves, so that their cost is true; what they asked, the metrics know.
    """
    key = json.dumps(view.made_by(), sort_keys=True, default=str)
    if key not in known:
        answers: dict[bytes, FloatArray] = {}
        known[key] = _explain(example, plan, view.method, trial.target.index, plan.seed, answers)
        trial.query.answers.update(answers)
    return known[key]


def _explain(
    example: Example,
    plan: Plan,
    method: str | Method,
    target: int,
    seed: int,
    answers: dict[bytes, FloatArray] | None = None,
) -> Explanation:
    return explain(
        example.text,
        plan.classifier,
        method,
        pair=example.pair,
        target=target,
        unit=plan.unit,
        repeats=plan.repeats,
        seed=seed,
        budget=plan.budget,
        answers=answers,
    )


def _once_more(
    example: Example, plan: Plan, view: View, target: int, found: Explanation, seed: int
) -> Explanation:
    """The view's method again, ranked as before."""
    again = _explain(example, plan, view.method, target, seed)
    return replace(again, primary=found.primary)


def _values(plan: Plan, trial: Trial, seen: Explanation) -> dict[str, float | None]:
    found = {name: METRICS[name].measure(trial, seen) for name in plan.metrics}
    return {name: None if value is None else float(value) for name, value in found.items()}


def _curve(trial: Trial, seen: Explanation) -> tuple[FloatArray, FloatArray]:
    return deletion_curve(trial.query, trial.players, trial.target, seen.scores[seen.primary])


def _plain(matrix: FloatArray) -> list[list[float | None]]:
    return [[value if np.isfinite(value) else None for value in row] for row in matrix.tolist()]
