"""Bars of ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from piste.runs.summary import Interval

OURS, THEIRS = "#1f77d6", "#c9c9c9"


def reach(ours: Interval) -> list[list[float]]:
    """How far the interval reaches down and up from the mean, as matplotlib wants it."""
    return [[max(0.0, ours.mean - ours.low)], [max(0.0, ours.high - ours.mean)]]


def panels(
    found: Mapping[str, Mapping[str, Interval]], paper: Mapping[str, Mapping[str, float]]
) -> Figure:
    """One panel a figure, one pair of bars a method; the paper's where it has one."""
    figure = Figure(figsize=(8, 2.4 * len(found)), layout="constrained")
    every = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (title, methods) in zip(every, found.items(), strict=True):
        for place, (name, ours) in enumerate(methods.items()):
            axes.bar(place - 0.2, ours.mean, 0.38, color=OURS, yerr=reach(ours))
            if name in paper[title]:
                axes.bar(place + 0.2, paper[title][name], 0.38, color=THEIRS)
        axes.axhline(0, color="#999999", linewidth=0.8)
        axes.set_ylabel(title)
        axes.set_xticks(range(len(methods)), list(methods))
        axes.spines[["top", "right"]].set_visible(False)
    every[0].set_title("blue: ours, with 95 % intervals; grey: the paper", fontsize=9, loc="left")
    return figure
