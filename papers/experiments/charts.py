"""Figures that several experiments draw: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from piste.runs import Evaluation, Interval, interval

OURS, THEIRS = "#1f77d6", "#c9c9c9"
COLOURS = ("#1f77d6", "#de6800", "#2a9d5c", "#7d62c8", "#8c564b", "#c2408f")
DASHES = ("-", "--", "-.", ":")
SCORES = ("value", "importance", "lin")
PaperFigures = Mapping[str, tuple[float, ...]]  # by model, in the order of our columns


def whiskers(ours: Interval) -> list[list[float]]:
    """How far the interval extends below and above the mean, as matplotlib wants it."""
    return [[max(0.0, ours.mean - ours.low)], [max(0.0, ours.high - ours.mean)]]


def paired_bars(
    ours: Mapping[str, Mapping[str, Interval]], paper: Mapping[str, Mapping[str, float]]
) -> Figure:
    """One panel a metric, one pair of bars a method; the paper's where it has one."""
    figure = Figure(figsize=(8, 2.4 * len(ours)), layout="constrained")
    every = figure.subplots(len(ours), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (title, methods) in zip(every, ours.items(), strict=True):
        for place, (name, measured) in enumerate(methods.items()):
            axes.bar(place - 0.2, measured.mean, 0.38, color=OURS, yerr=whiskers(measured))
            if name in paper[title]:
                axes.bar(place + 0.2, paper[title][name], 0.38, color=THEIRS)
        axes.axhline(0, color="#999999", linewidth=0.8)
        axes.set_ylabel(title)
        axes.set_xticks(range(len(methods)), list(methods))
        axes.spines[["top", "right"]].set_visible(False)
    every[0].set_title("blue: ours, with 95 % intervals; grey: the paper", fontsize=9, loc="left")
    return figure


def score_bars(
    evaluations: Mapping[str, Evaluation], metric: str, paper: PaperFigures, label: str
) -> Figure:
    """Value, importance and lin of each model, ours as bars and the paper's as marks."""
    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(evaluations)
    for index, (model, evaluation) in enumerate(evaluations.items()):
        for place, view in enumerate(evaluation.views):
            ours = interval(evaluation.values(view, metric))
            at = place + width * (index - (len(evaluations) - 1) / 2)
            name = model if place == 0 else "_"  # matplotlib leaves such names out
            bars = axes.bar(at, ours.mean, 0.92 * width, yerr=whiskers(ours), color=COLOURS[index])
            bars.set_label(name)
            axes.plot(at, paper[model][place], "_", color="black", markersize=14)
    axes.set_xticks(range(len(SCORES)), SCORES)
    axes.set_ylabel(label)
    axes.set_title("bars: ours, with 95 % intervals; black: the paper", fontsize=9, loc="left")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
