"""Tables 2b, 2c and 9 of paper A: one evaluation, three of its figures."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from piste.experiments.bars import panels, reach
from piste.experiments.base import Context, Outcome
from piste.experiments.reviews import SHOWN, judge
from piste.metrics import METRICS
from piste.render.evaluation import COLOURS
from piste.runs.evaluate import Evaluation
from piste.runs.summary import Difference, differences, interval
from piste.theory.report import Table

SCORES = ("value", "importance", "lin")
Paper = Mapping[str, tuple[float, ...]]  # a model's figures, as SHOWN


def tabled(context: Context, metric: str, title: str, paper: Paper) -> Outcome:
    """Ours beside the paper's, every model a row of each."""
    found, settings = judge(context)
    rows = []
    for model, evaluation in found.items():
        ours = [str(interval(evaluation.values(view, metric))) for view in evaluation.views]
        rows.append((model, "ours", *ours))
        theirs = [f"{value:g}" for value in paper[model]]
        rows.append((model, "paper", *theirs, *["" for _ in SHOWN[len(theirs) :]]))
    table = Table(title, ("model", "", *SHOWN), tuple(rows))
    figure = _bars(found, metric, paper)
    return Outcome((table,), {metric: figure}, settings, _findings(found, metric, paper))


def _bars(found: dict[str, Evaluation], metric: str, paper: Paper) -> Figure:
    ours = {
        f"{model}\n{metric}": {
            name: interval(evaluation.values(view, metric))
            for name, view in zip(SHOWN, evaluation.views, strict=True)
        }
        for model, evaluation in found.items()
    }
    theirs = {f"{model}\n{metric}": dict(zip(SHOWN, paper[model], strict=False)) for model in found}
    return panels(ours, theirs)


def score_bars(found: dict[str, Evaluation], metric: str, paper: Paper, label: str) -> Figure:
    """Value, importance and lin of each model, ours as bars and the paper's as marks."""
    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(found)
    for index, (model, evaluation) in enumerate(found.items()):
        for place, view in enumerate(evaluation.views):
            ours = interval(evaluation.values(view, metric))
            at = place + width * (index - (len(found) - 1) / 2)
            name = model if place == 0 else "_"  # matplotlib leaves such names out
            bars = axes.bar(at, ours.mean, 0.92 * width, yerr=reach(ours), color=COLOURS[index])
            bars.set_label(name)
            axes.plot(at, paper[model][place], "_", color="black", markersize=14)
    axes.set_xticks(range(len(SCORES)), SCORES)
    axes.set_ylabel(label)
    axes.set_title("bars: ours, with 95 % intervals; black: the paper", fontsize=9, loc="left")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _findings(found: dict[str, Evaluation], metric: str, paper: Paper) -> tuple[str, ...]:
    """Whether lin beats the others here as it does in the paper, and what piste's fit does."""
    higher = METRICS[metric].higher_is_better
    sentences, changed = [], []
    for model, evaluation in found.items():
        pairs = {(d.one, d.other): d for d in differences(evaluation) if d.metric == metric}
        for place, other in enumerate(SHOWN[3 : len(paper[model])], start=3):
            ours = pairs["SLALOM v:lin", other]
            theirs = paper[model][2] - paper[model][place]
            wins = (theirs > 0) == higher
            sentences.append(
                f"{model}: lin against {other}: {said(ours)}; in the paper lin is"
                f" {'better' if wins else 'worse'} by {abs(theirs):.3f}."
            )
            if other in ("IG", "Grad") and wins and ours.better != ours.one:
                changed.append(f"{other} on {model}")
        sentences.append(f"{model}: {said(pairs['SLALOM v:lin', 'piste'])} (piste's default fit).")
    if changed:
        sentences.append(
            f"Fairness changes a conclusion for {', '.join(changed)}: the public code took"
            " gradients of the predicted class and ranked by the label's sign. Of the explained"
            " target, with its sign, they are not behind lin here."
        )
    return tuple(sentences)


def said(pair: Difference) -> str:
    """Who is better and by how much, without the metric's name."""
    text = str(pair).partition(": ")[2]
    return text.replace("SLALOM v:", "")
