"""An evaluation as a matplotlib figure: a panel a metric, the costs, and the deletion curves."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from piste.errors import several
from piste.metrics import METRICS
from piste.render.clean import one_line
from piste.render.figure import drawn, house_style, literal
from piste.runs.evaluate import Evaluation
from piste.runs.statistics import Interval, Leaders, costs, curves, differences, leaders, means

COLOURS = ("#1f77d6", "#de6800", "#2a9d5c", "#7d62c8", "#8c564b", "#c2408f", "#5f6b7a", "#b5a000")
DASHES = ("-", "--", "-.", ":")
LEADING, REST = "#1f77d6", "#8a8f98"
COLUMNS = 3
PANEL = (3.3, 0.95, 0.3)  # inches: width, height without lines, height of a line
CURVES = 3.0
READING = (
    "Means, 95 % intervals. Blue: the best and those not worse than it beyond chance, compared text"
    " by text."
)


def draw(evaluation: Evaluation, path: str | os.PathLike[str] | None = None) -> Figure:
    """The figure, also written to `path` (.png, .svg or .pdf) when given."""
    return drawn(lambda: _figure(evaluation), path)


def _figure(evaluation: Evaluation) -> Figure:
    panels = len(evaluation.metrics) + 1
    columns = min(COLUMNS, panels)
    rows = -(-panels // columns)
    height = PANEL[1] + PANEL[2] * len(evaluation.views)
    figure = Figure(figsize=(PANEL[0] * columns, rows * height + CURVES), layout="constrained")
    parts = figure.subfigures(2, 1, squeeze=False, height_ratios=[rows * height, CURVES])
    above, below = parts.ravel()
    grid = np.atleast_1d(above.subplots(rows, columns, squeeze=False)).ravel()
    intervals = means(evaluation)
    by_metric = leaders(intervals, differences(evaluation))
    for axes, metric in zip(grid, evaluation.metrics, strict=False):
        cells = [intervals[view][metric] for view in evaluation.views]
        _metric(axes, metric, evaluation.views, cells, by_metric.get(metric))
    _costs(grid[panels - 1], evaluation)
    for axes in grid[panels:]:
        axes.set_axis_off()
    _curves(below.subplots(), evaluation)
    head = literal(f"{title(evaluation)}\n{READING}")
    figure.suptitle(head, fontsize=9, x=0.01, ha="left")
    return figure


def title(evaluation: Evaluation) -> str:
    """What was measured, in one line."""
    model = one_line(str(evaluation.settings.get("model", "")), 60)
    of = f", {model}" if evaluation.settings.get("model") else ""
    texts = several(len(evaluation.rows), "text")
    return f"{several(len(evaluation.views), 'method')} on {texts}{of}"


def _metric(
    axes: Axes, metric: str, views: Sequence[str], cells: Sequence[Interval], best: Leaders | None
) -> None:
    """Means and 95 % intervals, the first method on top."""
    for place, (view, cell) in enumerate(zip(views, cells, strict=True)):
        if cell.texts:
            leads = best is not None and best.includes(view)
            colour = LEADING if leads else REST
            axes.plot([cell.low, cell.high], [place, place], color=colour, linewidth=1.6)
            axes.plot([cell.mean], [place], "o", color=colour, markersize=5)
    _named(axes, views)
    higher = METRICS[metric].higher_is_better
    axes.set_title(f"{metric}: {'higher' if higher else 'lower'} is better", fontsize=9, loc="left")


def _named(axes: Axes, views: Sequence[str]) -> None:
    axes.set_yticks(range(len(views)), [literal(one_line(view, 18)) for view in views], fontsize=8)
    axes.set_ylim(len(views) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)


def _costs(axes: Axes, evaluation: Evaluation) -> None:
    spent = costs(evaluation)
    for place, view in enumerate(evaluation.views):
        if view in spent:
            axes.barh(place, spent[view].passes, color=REST, height=0.6)
    _named(axes, evaluation.views)
    axes.set_title("cost: forward passes of the full text", fontsize=9, loc="left")


def deletion_figure(evaluation: Evaluation) -> Figure:
    """How far the probability falls as the highest-scored words go first, each method a line."""
    with house_style():
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        _curves(figure.subplots(), evaluation)
    return figure


def _curves(axes: Axes, evaluation: Evaluation) -> None:
    for index, (view, (shares, fall)) in enumerate(curves(evaluation).items()):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index // 2 % len(DASHES)]
        name = literal(one_line(view))
        axes.plot(100 * shares, fall, color=colour, linestyle=dash, linewidth=1.8, label=name)
    axes.set_xlabel("words removed, highest score first, to the last but one (%)")
    axes.set_ylabel("mean fall of the probability")
    texts = sum(any(c[0] for c in row.get("curves", {}).values()) for row in evaluation.rows)
    axes.set_title(f"deletion curves, {texts} texts; higher is better", fontsize=9, loc="left")
    if axes.get_legend_handles_labels()[0]:  # every text may have failed
        for entry in axes.legend(frameon=False, fontsize=9).get_texts():
            entry.set_parse_math(False)
