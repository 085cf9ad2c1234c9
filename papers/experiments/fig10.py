"""Paper A, Figure 10: the text highlighted by each score, beside the words that people marked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from papers.arrays import BoolArray
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import SCORES
from papers.experiments.reviews import (
    ONE_REVIEW,
    Models,
    ReviewSettings,
    hat_reviews,
    reported,
    review_models,
)
from papers.tables import Table
from piste import Example, Explanation, explain
from piste.compare import Comparison
from piste.decision import Decision
from piste.metrics import agreement, auroc, consensus

SETTINGS = ONE_REVIEW


def run(context: Context, settings: ReviewSettings) -> Outcome:
    """One review: value, importance and lin of each model, and the annotators' consensus."""
    (example,) = hat_reviews(context, settings)
    return highlighted(context, settings, example, review_models(context, settings.training))


def highlighted(
    context: Context, settings: ReviewSettings, example: Example, models: Models
) -> Outcome:
    """The review as each of the models reads it."""
    figures, rows, facts = {}, [], {}
    for name, (classifier, fact) in models.items():
        context.say(f"explaining with {name}")
        explanation = explain(example.text, classifier, seed=context.seed)
        players = Decision.on(example.text, classifier).players
        marked = consensus(players, example.words, example.maps)
        if marked is None:
            continue
        figures[f"highlights-{name.lower()}"] = beside(explanation, marked).plot()
        facts[name] = fact
        scores = (explanation.scores[score] for score in SCORES)
        rows.append((name, *(_shown(auroc(score, marked)) for score in scores)))
    table = Table(
        f"AUROC against the marked words of review {example.id}",
        ("model", "v", "s", "lin"),
        tuple(rows),
    )
    shown = reported(facts, settings) | {"review": example.id, "method": "slalom"}
    return Outcome((table,), figures, shown, _findings(rows))


def beside(explanation: Explanation, marked: BoolArray) -> Comparison:
    """Rows of highlights: people first, then the three scores."""
    free = replace(explanation.cost, forwards=0, tokens=0, query_seconds=0.0, fit_seconds=0.0)
    people = replace(
        explanation,
        scores={"importance": marked.astype(np.float64)},
        errors={},
        primary="importance",
        cost=free,
    )
    rows = {"people": people} | {score: replace(explanation, primary=score) for score in SCORES}
    return Comparison(rows, {}, agreement(list(rows.values())), {})


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _findings(rows: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(
        f"{model}: importance finds marked words {'better' if s > v else 'no better'} than value"
        f" ({s} against {v})."
        for model, v, s, _ in rows
    )
