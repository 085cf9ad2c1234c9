"""Paper A, Table 12: deletion by the number of SLALOM's samples."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from matplotlib.figure import Figure

from piste.experiments.bars import reach
from piste.experiments.base import Context, Outcome
from piste.experiments.review_tables import said
from piste.experiments.reviews import Judging, hat_reviews, review_model, settings_of
from piste.methods.kernel_shap import KernelShap
from piste.methods.slalom import Slalom
from piste.runs.evaluate import Evaluation, evaluate
from piste.runs.judging import View
from piste.runs.summary import costs, differences, interval
from piste.theory.report import Table

PAPER = {"SHAP": 0.9135, "500": 0.9243, "1000": 0.9236, "2000": 0.9348, "5000": 0.9387,
         "10000": 0.9387}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Which numbers of samples, on how many texts."""

    judging: Judging
    samples: tuple[int, ...]


SMALL = Settings(Judging(texts=10, samples=300), (500, 1000, 2000, 5000))
FULL = Settings(Judging(texts=200, samples=2000, subset="100"), (500, 1000, 2000, 5000, 10_000))


def run(context: Context) -> Outcome:
    """Deletion AOPC of lin, more samples each row, beside SHAP and piste's default."""
    settings: Settings = context.pick(SMALL, FULL)
    classifier, facts = review_model(context, "bert", "yelp")
    found = evaluate(
        hat_reviews(context, settings.judging),
        classifier,
        views(settings),
        ["deletion"],
        seed=context.seed,
        watch=lambda done, total: context.say(f"{done} of {total} texts"),
    )
    return Outcome(
        (_table(found),),
        {"samples": _figure(found)},
        settings_of({"BERT": facts}, settings.judging) | {"samples": settings.samples},
        _findings(found, settings),
    )


def views(settings: Settings) -> list[View]:
    """SHAP, the paper's SLALOM by samples (Gauss-Newton: the same loss, sooner), piste's own."""
    paper = dataclasses.replace(Slalom.paper("eff"), fit="gauss-newton")
    sampled = [View(str(n), dataclasses.replace(paper, samples=n)) for n in settings.samples]
    return [View("SHAP", KernelShap(samples=settings.judging.samples), "removal"), *sampled,
            View("piste", Slalom())]  # fmt: skip


def _table(found: Evaluation) -> Table:
    spent = costs(found)
    rows = []
    for view in found.views:
        ours = str(interval(found.values(view, "deletion")))
        theirs = f"{PAPER[view]:g}" if view in PAPER else ""
        rows.append((view, ours, theirs, f"{spent[view].readings:.1f}"))
    columns = ("samples", "ours", "paper", "readings of the text")
    return Table("Deletion AOPC by samples, BERT on Yelp-HAT", columns, tuple(rows))


def _figure(found: Evaluation) -> Figure:
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    spent = costs(found)
    for view in found.views:
        ours = interval(found.values(view, "deletion"))
        sampled = view.isdigit()
        colour = "#1f77d6" if sampled else "#de6800" if view == "SHAP" else "#2a9d5c"
        where = spent[view].readings
        axes.errorbar(where, ours.mean, yerr=reach(ours), fmt="o", color=colour, capsize=2)
        name = f"{view} samples" if sampled else view
        axes.annotate(name, (where, ours.mean), (5, 5), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("tokens through the model, in lengths of the text")
    axes.set_ylabel("deletion AOPC")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _findings(found: Evaluation, settings: Settings) -> tuple[str, ...]:
    least, most = str(settings.samples[0]), str(settings.samples[-1])
    pairs = {(d.one, d.other): d for d in differences(found)}
    return (
        f"From {least} to {most} samples: {said(pairs[least, most])}; the paper gains"
        f" {PAPER['10000'] - PAPER['500']:.3f} from 500 to 10,000.",
        f"SHAP: {said(pairs['SHAP', most])}.",
        f"piste: {said(pairs[most, 'piste'])}.",
    )
