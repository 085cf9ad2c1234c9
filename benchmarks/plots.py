"""The plots of the benchmark: each measure against forward passes."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from contenders import CONTENDERS, OURS
from summary import MEASURES, Estimate, Results

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import LogLocator, NullFormatter

DRAWN = {  # contenders of the plots, and their colours; the tables have all of them
    OURS: "#d62728",
    "slalom": "#ff9f1c",
    "slalom-explanations": "#8c564b",
    "ridge": "#7f7f7f",
    "ridge-pairs": "#111111",
    "lime": "#2ca02c",
    "shap-kernel": "#1f77b4",
    "shap-partition": "#17becf",
    "captum-kernel": "#9467bd",
    "shapiq-kernel": "#e377c2",
    "shapiq-pairs": "#bcbd22",
    "shapiq-proxyspex": "#005f73",
}
LOWEST = {"r2": -0.1}  # of an axis: some surrogates are far below 0
HIGHEST = {"shapley": 1.5}


def curves(
    results: Results, panels: Sequence[tuple[str, str, str, str]], path: Path, columns: int = 3
) -> None:
    """Panels of (task, absence, measure, title)."""
    rows = -(-len(panels) // columns)
    width = min(columns, len(panels))
    figure, axes = pyplot.subplots(
        rows, width, figsize=(4.6 * width, 3.5 * rows), squeeze=False, layout="constrained"
    )
    for axis, panel in zip(axes.flat, panels, strict=False):
        _panel(axis, results, *panel)
    for axis in list(axes.flat)[len(panels) :]:
        axis.axis("off")
    handles = {
        label: handle
        for axis in axes.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _panel(
    axis: pyplot.Axes, results: Results, task: str, absence: str, measure: str, title: str
) -> None:
    for name, colour in DRAWN.items():
        line = curve(results, task, absence, name, measure)
        if not line:
            continue
        look = {"color": colour, "lw": 2.6 if name == OURS else 1.3, "ms": 4}
        spent, found = zip(*line, strict=True)
        bars = [
            [one.value - one.low for one in found],
            [one.high - one.value for one in found],
        ]
        values = [one.value for one in found]
        look |= {"fmt": "o-", "elinewidth": 0.6, "label": CONTENDERS[name].title}
        axis.errorbar(spent, values, bars, **look)
    axis.set(xscale="log", title=title, xlabel="forward passes", ylabel=MEASURES[measure].arrow)
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, LOWEST.get(measure, low)), min(high, HIGHEST.get(measure, high)))
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.25)


def curve(
    results: Results, task: str, absence: str, contender: str, measure: str
) -> list[tuple[float, Estimate]]:
    """Forward passes and the figure there, of the budgets that most of the texts have."""
    found = []
    texts = results.texts(task, absence)
    for point in results.points(task, absence, contender):
        estimate = results.estimate(point, measure)
        if point.passes and estimate is not None and 2 * estimate.texts > texts:
            found.append((results.spent(point), estimate))
    return sorted(found, key=lambda each: each[0])
