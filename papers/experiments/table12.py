"""Paper A, Table 12: deletion by the number of SLALOM's samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from papers.experiments.base import Context, Outcome
from papers.experiments.charts import whiskers
from papers.experiments.review_tables import verdict
from papers.experiments.reviews import (
    REVIEW_SETTINGS,
    Models,
    ReviewSettings,
    hat_reviews,
    reported,
    review_model,
    watch,
)
from papers.tables import Table
from piste import Example, KernelShap, Slalom, evaluate
from piste.runs import Evaluation, View, costs, differences, interval

PAPER = {"SHAP": 0.9135, "500": 0.9243, "1000": 0.9236, "2000": 0.9348, "5000": 0.9387,
         "10000": 0.9387}  # fmt: skip


@dataclass(frozen=True)
class Table12Settings:
    """Which numbers of samples, on how many texts."""

    reviews: ReviewSettings  # its samples are SHAP's
    samples: tuple[int, ...]


SETTINGS = {
    "tiny": Table12Settings(REVIEW_SETTINGS["tiny"], (60, 120)),
    "small": Table12Settings(replace(REVIEW_SETTINGS["small"], texts=10), (500, 1000, 2000, 5000)),
    "paper": Table12Settings(
        replace(REVIEW_SETTINGS["paper"], samples=2000), (500, 1000, 2000, 5000, 10_000)
    ),
}


def run(context: Context, settings: Table12Settings) -> Outcome:
    """Deletion AOPC of lin, more samples each row, beside SHAP and piste's default."""
    models = {"BERT": review_model(context, settings.reviews.training, "bert")}
    return by_samples(context, settings, hat_reviews(context, settings.reviews), models)


def by_samples(
    context: Context, settings: Table12Settings, examples: list[Example], models: Models
) -> Outcome:
    """The same for the only one of the models."""
    ((name, (classifier, facts)),) = models.items()
    evaluation = evaluate(
        examples,
        classifier,
        views(settings),
        ["deletion"],
        seed=context.seed,
        watch=watch(context, name),
    )
    return Outcome(
        (_table(evaluation),),
        {"samples": _figure(evaluation)},
        reported({name: facts}, settings.reviews) | {"samples": settings.samples},
        _findings(evaluation, settings),
    )


def views(settings: Table12Settings) -> list[View]:
    """SHAP, the paper's SLALOM by samples (Gauss-Newton: the same loss, sooner), piste's own."""
    paper = replace(Slalom.paper("eff"), fit="gauss-newton")
    sampled = [View(str(n), replace(paper, samples=n)) for n in settings.samples]
    return [View("SHAP", KernelShap(samples=settings.reviews.samples), "removal"), *sampled,
            View("piste", Slalom())]  # fmt: skip


def _table(evaluation: Evaluation) -> Table:
    spent = costs(evaluation)
    rows = []
    for view in evaluation.views:
        ours = str(interval(evaluation.values(view, "deletion")))
        theirs = f"{PAPER[view]:g}" if view in PAPER else ""
        rows.append((view, ours, theirs, f"{spent[view].passes:.1f}"))
    columns = ("samples", "ours", "paper", "forward passes of the full text")
    return Table("Deletion AOPC by samples, BERT on Yelp-HAT", columns, tuple(rows))


def _figure(evaluation: Evaluation) -> Figure:
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    spent = costs(evaluation)
    for view in evaluation.views:
        ours = interval(evaluation.values(view, "deletion"))
        sampled = view.isdigit()
        colour = "#1f77d6" if sampled else "#de6800" if view == "SHAP" else "#2a9d5c"
        where = spent[view].passes
        axes.errorbar(where, ours.mean, yerr=whiskers(ours), fmt="o", color=colour, capsize=2)
        name = f"{view} samples" if sampled else view
        axes.annotate(name, (where, ours.mean), (5, 5), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("forward passes of the full text")
    axes.set_ylabel("deletion AOPC")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _findings(evaluation: Evaluation, settings: Table12Settings) -> tuple[str, ...]:
    least, most = str(settings.samples[0]), str(settings.samples[-1])
    pairs = {(d.one, d.other): d for d in differences(evaluation)}
    return (
        f"From {least} to {most} samples: {verdict(pairs[least, most])}; the paper gains"
        f" {PAPER['10000'] - PAPER['500']:.3f} from 500 to 10,000.",
        f"SHAP: {verdict(pairs['SHAP', most])}.",
        f"piste: {verdict(pairs[most, 'piste'])}.",
    )
