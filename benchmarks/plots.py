"""The plots of the benchmark: each measure against forward passes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib
from contenders import CONTENDERS, OURS
from summary import MEASURES, Estimate, Results

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

DRAWN = {  # contenders of the plots, and their colours; the tables have all of them
    OURS: "#c1121f",
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
FRONT = (OURS, "lime", "shap-kernel", "shapiq-proxyspex", "shapiq-pairs", "ridge-pairs")
LOWEST = {"r2": -0.1, "calibrated": 0.0, "halves": -0.1, "interactions": 0.0}  # of an axis
LOWEST |= {"shapley": 0.0, "removals": 0.0}
HIGHEST = {"r2": 1.0, "calibrated": 1.0, "halves": 1.0, "interactions": 1.0}  # likewise
HIGHEST |= {"shapley": 1.2, "removals": 1.2}  # some surrogates are far beyond
TICKS = (10, 20, 40, 70, 150, 300, 1000, 3000)
Panel = tuple[str, str, str, str]  # task, absence, measure, title


def curves(
    results: Results,
    panels: Sequence[Panel],
    path: Path,
    names: Iterable[str] = tuple(DRAWN),
    columns: int = 3,
) -> None:
    rows = -(-len(panels) // columns)
    width = min(columns, len(panels))
    figure, axes = pyplot.subplots(
        rows, width, figsize=(4.4 * width, 3.3 * rows + 0.5), squeeze=False, layout="constrained"
    )
    for axis, panel in zip(axes.flat, panels, strict=False):
        _panel(axis, results, panel, names)
    for axis in list(axes.flat)[len(panels) :]:
        axis.axis("off")
    handles = {
        label: handle
        for axis in axes.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=6, fontsize=9, frameon=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _panel(axis: pyplot.Axes, results: Results, panel: Panel, names: Iterable[str]) -> None:
    task, absence, measure, title = panel
    for name in names:
        line = curve(results, task, absence, name, measure)
        if not line:
            continue
        spent, found = zip(*line, strict=True)
        ours = name == OURS
        look = {"color": DRAWN[name], "label": CONTENDERS[name].title, "zorder": 5 if ours else 2}
        look |= {"lw": 2.8 if ours else 1.4, "ms": 5 if ours else 3.5}
        axis.plot(spent, [one.value for one in found], "o-", **look)
        axis.fill_between(
            spent,
            [one.low for one in found],
            [one.high for one in found],
            color=DRAWN[name],
            alpha=0.18 if ours else 0.07,
            lw=0,
        )
    axis.set(xscale="log", xlabel="forward passes", ylabel=MEASURES[measure].arrow)
    axis.set_title(title, fontsize=10)
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, LOWEST.get(measure, low)), min(high, HIGHEST.get(measure, high)))
    axis.xaxis.set_major_locator(FixedLocator(TICKS))
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.2)


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
