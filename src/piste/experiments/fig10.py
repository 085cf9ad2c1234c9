"""Paper A, Figure 10: the text highlighted by each score, beside the words that people marked."""

from __future__ import annotations

import dataclasses

import numpy as np

from piste.compare import Comparison
from piste.experiments.base import Context, Outcome
from piste.experiments.review_tables import SCORES
from piste.experiments.reviews import Judging, hat_reviews, review_models, settings_of
from piste.explain import explain
from piste.explanation import Cost, Explanation
from piste.metrics.agreement import agreement
from piste.metrics.human_attention import BoolArray, auroc, consensus
from piste.text.cutting import truncated
from piste.text.players import split
from piste.theory.report import Table

SMALL, FULL = Judging(texts=1, samples=0), Judging(texts=1, samples=0, subset="100")


def run(context: Context) -> Outcome:
    """One review: value, importance and lin of each model, and the annotators' consensus."""
    judging: Judging = context.pick(SMALL, FULL)
    (example,) = hat_reviews(context, judging)
    figures, rows, facts = {}, [], {}
    for name, (classifier, fact) in review_models(context).items():
        context.say(f"explaining with {name}")
        found = explain(example.text, classifier, seed=context.seed)
        players = split(truncated(classifier.encode(example.text)))
        marked = consensus(players, example.words, example.maps)
        if marked is None:
            continue
        figures[f"highlights-{name.lower()}"] = beside(found, marked).plot()
        facts[name] = fact
        scores = (found.scores[score] for score in SCORES)
        rows.append((name, *(_shown(auroc(score, marked)) for score in scores)))
    table = Table(
        f"AUROC against the marked words of review {example.id}",
        ("model", "v", "s", "lin"),
        tuple(rows),
    )
    settings = settings_of(facts, judging) | {"review": example.id, "method": "slalom"}
    return Outcome((table,), figures, settings, _findings(rows))


def beside(found: Explanation, marked: BoolArray) -> Comparison:
    """Rows of highlights: people first, then the three scores."""
    views = {
        "people": dataclasses.replace(
            found,
            scores={"importance": marked.astype(np.float64)},
            errors={},
            primary="importance",
            cost=Cost(0, 0, 0.0, 0.0),
        )
    }
    for score in SCORES:
        views[score] = dataclasses.replace(found, primary=score)
    return Comparison(views, {}, agreement(list(views.values())), {})


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _findings(rows: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(
        f"{model}: importance finds marked words {'better' if s > v else 'no better'} than value"
        f" ({s} against {v})."
        for model, v, s, _ in rows
    )
