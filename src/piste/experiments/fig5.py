"""Paper A, Figures 5 and 11: value against importance of every word."""

from __future__ import annotations

from piste.experiments.base import Context, Outcome
from piste.experiments.review_tables import SCORES
from piste.experiments.reviews import Judging, hat_reviews, review_models, settings_of
from piste.explain import explain
from piste.explanation import Explanation
from piste.metrics.agreement import spearman
from piste.theory.report import Table

SMALL, FULL = Judging(texts=1, samples=0), Judging(texts=1, samples=0, subset="100")
STRONGEST = 8


def run(context: Context) -> Outcome:
    """One review, each model's scatter, and its strongest words."""
    judging: Judging = context.pick(SMALL, FULL)
    (example,) = hat_reviews(context, judging)
    figures, rows, facts, found = {}, [], {}, {}
    for name, (classifier, fact) in review_models(context).items():
        context.say(f"explaining with {name}")
        found[name] = explain(example.text, classifier, seed=context.seed)
        figures[f"scatter-{name.lower()}"] = found[name].plot()
        facts[name] = fact
        rows += [(name, *row) for row in strongest(found[name])]
    table = Table(
        f"The strongest words of review {example.id}",
        ("model", "word", *SCORES),
        tuple(rows),
    )
    settings = settings_of(facts, judging) | {"review": example.id, "method": "slalom"}
    return Outcome((table,), figures, settings, tuple(map(_said, found, found.values())))


def strongest(explanation: Explanation) -> list[tuple[str, ...]]:
    """Word, value, importance and lin of the strongest, with errors."""
    return [
        (row.player.text, *(f"{row.scores[n]:+.2f} ±{row.errors[n]:.2f}" for n in SCORES))
        for row in explanation.top(STRONGEST)
    ]


def _said(name: str, explanation: Explanation) -> str:
    """How far the two scores are two things: a word can be weighty and neutral, or the reverse."""
    rank = spearman(abs(explanation.scores["value"]), explanation.scores["importance"])
    return f"{name}: rank correlation of importance with the size of the value {rank:+.2f}."
