"""Paper A, Figures 5 and 11: value against importance of every word."""

from __future__ import annotations

from papers.arrays import rank_correlation
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import SCORES
from papers.experiments.reviews import (
    ONE_REVIEW,
    ReviewSettings,
    hat_reviews,
    reported,
    review_models,
)
from papers.tables import Table
from piste import Explanation, explain

SETTINGS = ONE_REVIEW
STRONGEST = 8


def run(context: Context, settings: ReviewSettings) -> Outcome:
    """One review, each model's scatter, and its strongest words."""
    (example,) = hat_reviews(context, settings)
    figures, rows, facts, sentences = {}, [], {}, []
    for name, (classifier, fact) in review_models(context, settings.training).items():
        context.say(f"explaining with {name}")
        explanation = explain(example.text, classifier, seed=context.seed)
        figures[f"scatter-{name.lower()}"] = explanation.plot()
        facts[name] = fact
        rows += [(name, *row) for row in strongest(explanation)]
        sentences.append(_finding(name, explanation))
    table = Table(
        f"The strongest words of review {example.id}",
        ("model", "word", *SCORES),
        tuple(rows),
    )
    shown = reported(facts, settings) | {"review": example.id, "method": "slalom"}
    return Outcome((table,), figures, shown, tuple(sentences))


def strongest(explanation: Explanation) -> list[tuple[str, ...]]:
    """Word, value, importance and lin of the strongest, with errors."""
    return [
        (row.player.text, *(f"{row.scores[n]:+.2f} ±{row.errors[n]:.2f}" for n in SCORES))
        for row in explanation.top(STRONGEST)
    ]


def _finding(name: str, explanation: Explanation) -> str:
    """How far the two scores are two things: a word can be weighty and neutral, or the reverse."""
    scores = explanation.scores
    rank = rank_correlation(abs(scores["value"]), scores["importance"])
    return f"{name}: rank correlation of importance with the size of the value {rank:+.2f}."
