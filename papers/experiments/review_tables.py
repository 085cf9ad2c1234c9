"""Paper A, Tables 2b, 2c and 9: one evaluation, three of its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from papers.experiments.base import Context, Outcome
from papers.experiments.charts import PaperFigures, paired_bars
from papers.experiments.reviews import METHODS, REVIEW_SETTINGS, ReviewSettings, evaluated
from papers.tables import Table
from piste.metrics import METRICS
from piste.runs import Difference, Evaluation, differences, interval

SETTINGS = REVIEW_SETTINGS
HUMAN_AUROC: PaperFigures = {
    "DistilBERT": (0.68, 0.73, 0.71, 0.67, 0.69),
    "BERT": (0.57, 0.72, 0.64, 0.63, 0.68),
    "GPT-2": (0.67, 0.67, 0.67, 0.64, 0.60),
}
DELETION: PaperFigures = {
    "DistilBERT": (0.913, 0.249, 0.915, 0.892, 0.876, 0.360, 0.387),
    "BERT": (0.943, 0.262, 0.944, 0.939, 0.929, 0.093, 0.093),
    "GPT-2": (0.907, 0.294, 0.908, 0.905, 0.895, 0.378, 0.436),
}
INSERTION: PaperFigures = {
    "DistilBERT": (0.041, 0.442, 0.040, 0.041, 0.044, 0.439, 0.343),
    "BERT": (0.011, 0.293, 0.010, 0.009, 0.010, 0.482, 0.497),
    "GPT-2": (0.088, 0.531, 0.088, 0.089, 0.100, 0.617, 0.559),
}


def table2b(context: Context, settings: ReviewSettings) -> Outcome:
    """AUROC of absolute scores against the annotators' consensus; higher is better."""
    return beside_the_paper(
        *evaluated(context, settings), "human-auroc", "Human-attention AUROC, Yelp-HAT", HUMAN_AUROC
    )


def table2c(context: Context, settings: ReviewSettings) -> Outcome:
    """AOPC, higher is better. The paper's gradients ranked by the label's sign (a fault)."""
    return beside_the_paper(
        *evaluated(context, settings), "deletion", "Deletion AOPC, Yelp-HAT", DELETION
    )


def table9(context: Context, settings: ReviewSettings) -> Outcome:
    """Mean of what is missing with only the highest-scored words; lower is better."""
    return beside_the_paper(
        *evaluated(context, settings), "insertion", "Insertion, Yelp-HAT", INSERTION
    )


def beside_the_paper(
    evaluations: Mapping[str, Evaluation],
    settings: Mapping[str, Any],
    metric: str,
    title: str,
    paper: PaperFigures,
) -> Outcome:
    """One metric of the evaluations, every model a row of ours and a row of the paper's."""
    rows = []
    for model, evaluation in evaluations.items():
        ours = [str(interval(evaluation.values(view, metric))) for view in evaluation.views]
        rows.append((model, "ours", *ours))
        theirs = [f"{value:g}" for value in paper[model]]
        rows.append((model, "paper", *theirs, *["" for _ in METHODS[len(theirs) :]]))
    table = Table(title, ("model", "", *METHODS), tuple(rows))
    figure = _bars(evaluations, metric, paper)
    return Outcome((table,), {metric: figure}, settings, _findings(evaluations, metric, paper))


def _bars(evaluations: Mapping[str, Evaluation], metric: str, paper: PaperFigures) -> Figure:
    ours = {
        f"{model}\n{metric}": {
            name: interval(evaluation.values(view, metric))
            for name, view in zip(METHODS, evaluation.views, strict=True)
        }
        for model, evaluation in evaluations.items()
    }
    theirs = {
        f"{model}\n{metric}": dict(zip(METHODS, paper[model], strict=False))
        for model in evaluations
    }
    return paired_bars(ours, theirs)


def _findings(
    evaluations: Mapping[str, Evaluation], metric: str, paper: PaperFigures
) -> tuple[str, ...]:
    """Whether lin beats the others here as it does in the paper, and what piste's fit does."""
    higher = METRICS[metric].higher_is_better
    sentences, changed = [], []
    for model, evaluation in evaluations.items():
        pairs = {(d.one, d.other): d for d in differences(evaluation) if d.metric == metric}
        for place, other in enumerate(METHODS[3 : len(paper[model])], start=3):
            ours = pairs["SLALOM v:lin", other]
            theirs = paper[model][2] - paper[model][place]
            wins = (theirs > 0) == higher
            sentences.append(
                f"{model}: lin against {other}: {verdict(ours)}; in the paper lin is"
                f" {'better' if wins else 'worse'} by {abs(theirs):.3f}."
            )
            if other in ("IG", "Grad") and wins and ours.better != ours.one:
                changed.append(f"{other} on {model}")
        default = verdict(pairs["SLALOM v:lin", "piste"])
        sentences.append(f"{model}: {default} (piste's default fit).")
    if changed:
        sentences.append(
            f"Fairness changes a conclusion for {', '.join(changed)}: the public code took"
            " gradients of the predicted class and ranked by the label's sign. Of the explained"
            " target, with its sign, they are not behind lin here."
        )
    return tuple(sentences)


def verdict(pair: Difference) -> str:
    """Which of the two is better and by how much, without the metric's name."""
    text = str(pair).partition(": ")[2]
    return text.replace("SLALOM v:", "")
