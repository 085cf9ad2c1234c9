"""Paper B: runs of LIME on one review, and the closed forms that they should scatter around."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.arrays import FloatArray
from papers.experiments import single_layer_imdb as imdb
from papers.experiments.base import Context, Outcome
from papers.experiments.lime_runs import (
    Forms,
    LimeErrors,
    RuleFit,
    closed_forms,
    lime_runs,
    measure,
    of_large_width,
    rate,
    rule_fit,
    within,
)
from papers.tables import Table
from papers.theory.lime_by_subsets import LIME_BANDWIDTH
from papers.theory.single_layer import UNK
from piste import Lime
from piste.render import house_style, literal

BOX, EXACT, RULE = "#9ecae1", "#b2182b", "#4d4d4d"
LimePlan = tuple[int, float]  # samples and width


@dataclass(frozen=True)
class LimeBoxplotsSettings:
    """The model, and how often and how long LIME runs."""

    model: imdb.SingleLayerSettings
    runs: int = 5
    samples: tuple[int, ...] = (100, 400, 1_600, 5_000)  # the last is lime's own number
    ridge: float = 1.0
    reviews: int = 1_000  # over which the 3/2 rule is compared with the exact form


SETTINGS = {
    "tiny": LimeBoxplotsSettings(imdb.SETTINGS["tiny"], runs=3, samples=(60, 240), reviews=4),
    "small": LimeBoxplotsSettings(imdb.SETTINGS["small"]),
    "paper": LimeBoxplotsSettings(imdb.SETTINGS["paper"]),
}


def run(context: Context, settings: LimeBoxplotsSettings) -> Outcome:
    """Explain one review by LIME several times."""
    stage = imdb.stage(context, settings.model)
    module, sentence = stage.model.exact, stage.sentence
    forms, names = closed_forms(module, sentence.ids), word_names(sentence)
    series = _series(context, stage, settings)
    errors = [measure(runs, forms, *plan) for plan, runs in series.items()]
    context.say("the 3/2 rule over reviews")
    texts = [ids for ids in stage.texts(settings.reviews) if len(np.unique(ids[1:])) > 1]
    fits = [rule_fit(closed_forms(module, ids)) for ids in texts]
    shown = series[settings.samples[-1], math.inf]
    return stage.outcome(
        tables=(
            _error_table(errors, settings.runs),
            _rule_table(rule_fit(forms), fits),
            _word_table(shown, forms, names),
        ),
        figures={"boxplots": draw(shown, forms, names, settings), "errors": draw_errors(errors)},
        settings=_reported(settings, len(fits)),
        findings=findings(errors, shown, forms, fits),
    )


def _series(
    context: Context, stage: imdb.Stage, settings: LimeBoxplotsSettings
) -> dict[LimePlan, FloatArray]:
    """Runs of every number of samples with a large width, and of the most with lime's own."""
    plans = [(samples, math.inf) for samples in settings.samples]
    series = {}
    for plan in (*plans, (settings.samples[-1], LIME_BANDWIDTH)):
        context.say(f"LIME, {settings.runs} runs of {plan[0]:,} samples")
        method = Lime(samples=plan[0], width=plan[1], ridge=settings.ridge, removal="unk")
        first = settings.runs * context.seed  # so that no two seeds share a run
        seeds = range(first, first + settings.runs)
        series[plan] = lime_runs(stage.model.classifier, stage.sentence.text, method, seeds)
    return series


def word_names(sentence: imdb.Sentence) -> dict[int, str]:
    """The words by id, as they first stand in the sentence; every unknown one is [UNK]."""
    pairs = zip(sentence.ids[1:].tolist(), sentence.tokens, strict=True)
    return dict(reversed(list(pairs))) | {UNK: "[UNK]"}


def findings(
    errors: Sequence[LimeErrors], runs: FloatArray, forms: Forms, fits: Sequence[RuleFit]
) -> tuple[str, ...]:
    """Whether the closed forms hold."""
    wide = of_large_width(errors)
    narrow = [one for one in errors if not math.isinf(one.width)]
    first, last = wide[0], wide[-1]
    inside = int(within(runs, forms.exact).sum())
    return (
        f"One run of LIME is {first.one_run:.0%} from the exact form at {first.samples:,} samples"
        f" and {last.one_run:.1%} at {last.samples:,}; the mean of {len(runs)} runs is"
        f" {last.mean:.1%} from it. The error falls as the samples to the power {rate(errors):.2f}"
        " (sampling noise alone: -0.50).",
        f"At {last.samples:,} samples the exact form lies in the 95 % interval of the runs' mean"
        f" for {inside} of {len(forms.exact)} words.",
        _rule_finding(rule_fit(forms), fits),
        *(
            f"With lime's own width of {one.width:g} the mean of the runs is {one.mean:.0%} from"
            " the form for a large width."
            for one in narrow
        ),
    )


def _rule_finding(here: RuleFit, fits: Sequence[RuleFit]) -> str:
    typical = float(np.median([one.correlation for one in fits]))
    far = float(np.median([one.distance for one in fits]))
    rough = "follows LIME, but not closely" if typical > 0.9 else "is only a rough guide to LIME"
    return (
        f"The paper's 3/2 rule is {here.distance:.0%} from the exact form on this review"
        f" (correlation {here.correlation:.2f}); over {len(fits):,} test reviews the medians are"
        f" {far:.0%} and {typical:.2f}: for this model it {'holds' if far < 0.1 else rough}."
    )


def draw(
    runs: FloatArray, forms: Forms, names: Mapping[int, str], settings: LimeBoxplotsSettings
) -> Figure:
    """A box for each word with the closed forms on top; below, the runs less the exact form."""
    order = np.argsort(-forms.exact)
    shown = [literal(names[number]) for number in forms.words[order].tolist()]
    with house_style():
        figure = Figure(figsize=(9.6, 6), layout="constrained")
        whole, rest = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        for axes, boxes in ((whole, runs), (rest, runs - forms.exact)):
            axes.axhline(0, color="#999999", linewidth=0.8, zorder=1)
            _boxes(axes, boxes[:, order])
        _marks(whole, forms.exact[order], forms.rule[order])
        whole.set_ylabel("LIME coefficient,\nlog-odds of positive")
        rest.set_ylabel("the same less\nthe exact form")
        rest.set_xticks(range(len(shown)))
        style = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
        rest.set_xticklabels(shown, parse_math=False, **style)
        rest.set_xlabel(f"words; boxes: {len(runs)} runs of {settings.samples[-1]:,} samples")
    return figure


def _marks(axes: Axes, exact: FloatArray, rule: FloatArray) -> None:
    places = range(len(exact))
    label = "closed form, exact (integral)"
    axes.plot(places, exact, "x", color=EXACT, markersize=7, label=label, zorder=4)
    label = "closed form, the paper's 3/2 rule"
    axes.plot(places, rule, "D", color=RULE, markersize=5, fillstyle="none", label=label, zorder=3)
    axes.legend(frameon=False)


def _boxes(axes: Axes, runs: FloatArray) -> None:
    axes.boxplot(
        list(runs.T),
        positions=np.arange(runs.shape[1]),
        widths=0.62,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": BOX, "linewidth": 0.8},
        medianprops={"color": "black", "linewidth": 1},
    )


def draw_errors(errors: Sequence[LimeErrors]) -> Figure:
    """LimeErrors by samples, both axes in powers of ten."""
    wide = of_large_width(errors)
    samples = [one.samples for one in wide]
    lines = (
        ("one run, from the exact form", "o-", "#0072b2", [one.one_run for one in wide]),
        ("mean of the runs, from the exact form", "s-", "#009e73", [one.mean for one in wide]),
        ("mean of the runs, from the 3/2 rule", "D--", "#d55e00", [one.rule for one in wide]),
    )
    with house_style():
        figure = Figure(figsize=(6.4, 4), layout="constrained")
        axes = figure.subplots()
        for label, style, colour, values in lines:
            axes.plot(samples, [100 * v for v in values], style, color=colour, label=label)
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(samples, [f"{number:,}" for number in samples])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("samples of a run")
        axes.set_ylabel("distance, % of the exact form's norm")
        axes.legend(frameon=False)
    return figure


def _error_table(errors: Sequence[LimeErrors], runs: int) -> Table:
    rows = tuple(
        (
            f"{one.samples:,}",
            "large" if math.isinf(one.width) else f"{one.width:g} (lime's own)",
            f"{one.one_run:.1%}",
            f"{one.mean:.1%}",
            f"{one.rule:.1%}",
            f"{one.spread:.3f}",
        )
        for one in errors
    )
    columns = (
        "samples", "width", "one run from the exact form", "mean of the runs from the exact form",
        "mean of the runs from the 3/2 rule", "standard deviation of a coefficient",
    )  # fmt: skip
    return Table(f"{runs} runs of LIME: distances in % of the exact form's norm", columns, rows)


def _rule_table(here: RuleFit, fits: Sequence[RuleFit]) -> Table:
    both = (here, *fits)
    rows = (
        _rule_row("correlation", [one.correlation for one in both], "{:.2f}"),
        _rule_row("distance, of the exact form's norm", [one.distance for one in both], "{:.0%}"),
        _rule_row("exact = this times the rule", [one.slope for one in both], "{:.2f}"),
    )
    columns = ("", "this review", "lowest tenth", "median", "highest tenth")
    return Table(f"The 3/2 rule against the exact form, {len(fits):,} test reviews", columns, rows)


def _rule_row(name: str, values: Sequence[float], shape: str) -> tuple[str, ...]:
    """The sentence's figure, which comes first, and quantiles of the others."""
    cuts = np.quantile(values[1:], (0.1, 0.5, 0.9)).tolist()
    return (name, *(shape.format(value) for value in (values[0], *cuts)))


def _word_table(runs: FloatArray, forms: Forms, names: Mapping[int, str]) -> Table:
    order = np.argsort(-np.abs(forms.exact))
    rows = tuple(
        (
            names[int(forms.words[word])],
            f"{runs[:, word].mean():+.3f}",
            f"{runs[:, word].min():+.3f} to {runs[:, word].max():+.3f}",
            f"{forms.exact[word]:+.3f}",
            f"{forms.rule[word]:+.3f}",
        )
        for word in order
    )
    columns = ("word", f"mean of {len(runs)} runs", "from, to", "exact form", "3/2 rule")
    return Table("By word, most samples, large width", columns, rows)


def _reported(settings: LimeBoxplotsSettings, reviews: int) -> dict[str, object]:
    return {
        "runs": settings.runs,
        "samples": ", ".join(map(str, settings.samples)),
        "ridge": settings.ridge,
        "width": f"infinite, and {LIME_BANDWIDTH:g}",
        "removal": "[UNK] in place, every occurrence",
        "target": "log-odds of positive",
        "reviews for the rule": f"the first {reviews:,} of the test file",
    }
