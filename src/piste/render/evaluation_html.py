"""An evaluation as one HTML report that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from piste.metrics import METRICS
from piste.render.chart import Tick, axis_ticks, scaled, spread
from piste.render.clean import one_line
from piste.render.corpus_html import sources
from piste.render.corpus_tables import Cell, PageTable, TableRow
from piste.render.evaluation_figure import COLOURS, title
from piste.render.html import framed, hue, level, policy_of
from piste.render.intervals import IntervalChart, Measure, fitting, intervals
from piste.render.placement import Box
from piste.render.words import listed
from piste.runs.evaluate import Evaluation
from piste.runs.statistics import (
    FEW,
    Difference,
    Interval,
    Leaders,
    Spent,
    agreements,
    costs,
    curves,
    differences,
    leaders,
    means,
)

WIDE, NARROW = 420.0, 340.0
CURVES = Box(46, 10, 524, 250)  # the frame, in a picture of 540 × 290
FRAME_HEIGHT = 900
LISTED = 20  # failures
SURE = "beyond chance"
Means = Mapping[str, Mapping[str, Interval]]  # by view and metric


@dataclass(frozen=True)
class Panel:
    """One metric: what it is, its chart, and what it decides."""

    title: str
    says: str
    below: tuple[str, str]
    charts: list[tuple[str, IntervalChart]]
    verdict: str


@dataclass(frozen=True)
class Curve:
    """A method's deletion curve in SVG units."""

    name: str
    colour: int
    points: str


def page(evaluation: Evaluation) -> str:
    """A complete document: no network, no foreign script, whatever names and texts contain."""
    environment, css, script = sources("evaluation")
    cells, pairs = means(evaluation), differences(evaluation)
    best = leaders(cells, pairs)
    return environment.get_template("evaluation.html.j2").render(
        evaluation=evaluation,
        title=title(evaluation),
        css=Markup(css),
        script=Markup(script),
        policy=policy_of(css, script),
        findings=findings(evaluation, best),
        panels=[_panel(evaluation, cells, one) for one in best.values()],
        cost=_cost_panel(evaluation),
        tables=[_figures(evaluation, cells, best), _pairs(pairs)],
        curves=_curves(evaluation),
        frame=CURVES,
        axes=_axes(evaluation),
        matrix=_matrix(evaluation),
        says={metric: METRICS[metric].says for metric in evaluation.metrics},
        settings=_settings(evaluation.settings),
        failures=[[one_line(cell, 200) for cell in row] for row in evaluation.failures()],
        listed=LISTED,
        few=FEW,
    )


def fragment(evaluation: Evaluation) -> str:
    """The page in a frame of its own, for a notebook."""
    return framed(page(evaluation), title(evaluation), FRAME_HEIGHT)


def findings(evaluation: Evaluation, best: Mapping[str, Leaders]) -> list[str]:
    """Which method leads by each metric, and whether that is beyond chance."""
    if len(evaluation.views) < 2:
        return []
    if all(not one.decided for one in best.values()):
        return [f"Fewer than {FEW} texts: no method is called better than another."]
    return [f"{metric}: {_verdict(one, evaluation)}" for metric, one in best.items()]


def _verdict(best: Leaders, evaluation: Evaluation) -> str:
    if not best.decided:
        return f"{best.texts} texts are too few to say (at least {FEW})."
    if len(evaluation.views) < 2:
        return ""
    if not best.level:
        return f"{one_line(best.best)} is better than every other method."
    names = listed([one_line(view) for view in best.level])
    if 1 + len(best.level) == len(evaluation.views):
        return "no difference beyond chance between the best and any other."
    return f"{one_line(best.best)} leads; not beyond chance better than {names}."


def _panel(evaluation: Evaluation, cells: Means, leading: Leaders) -> Panel:
    metric = leading.metric
    measures = [
        _measure(view, by_metric[metric], leading.includes(view))
        for view, by_metric in cells.items()
        if by_metric[metric].texts
    ]
    higher = METRICS[metric].higher_is_better
    return Panel(
        metric,
        METRICS[metric].says,
        ("", "better →") if higher else ("← better", ""),
        _charts(measures, from_zero=False),
        _verdict(leading, evaluation),
    )


def _charts(measures: Sequence[Measure], *, from_zero: bool) -> list[tuple[str, IntervalChart]]:
    return [
        (kind, intervals([_fitting(m, width) for m in measures], width, from_zero=from_zero))
        for kind, width in (("wide", WIDE), ("narrow", NARROW))
    ]


def _fitting(measure: Measure, width: float) -> Measure:
    named = fitting(measure.name, width)
    return Measure(named, *tuple(vars(measure).values())[1:])


def _measure(view: str, cell: Interval, leads: bool) -> Measure:
    name = one_line(view, 30)
    told = f"{name}: {cell}, {cell.texts} texts"
    return Measure(
        name, cell.mean, cell.low, cell.high, _number(cell.mean), "f" if leads else "w", told
    )


def _number(value: float) -> str:
    shown = f"{value:.3f}".replace("-", "−")
    return shown.removeprefix("−") if float(f"{value:.3f}") == 0 else shown


def _cost_panel(evaluation: Evaluation) -> list[tuple[str, IntervalChart]]:
    """The cost of every method that was counted, in forward passes of the full text."""
    measures = [
        Measure(
            one_line(view, 30),
            spent.passes,
            spent.passes,
            spent.passes,
            f"{spent.passes:,.1f}",
            "w",
            f"{one_line(view)}: {spent.passes:,.1f} forward passes, {spent.seconds:.2f} s",
        )
        for view, spent in costs(evaluation).items()
    ]
    return _charts(measures, from_zero=True) if measures else []


def _figures(evaluation: Evaluation, cells: Means, best: Mapping[str, Leaders]) -> PageTable:
    spent = costs(evaluation)
    rows = []
    for view, by_metric in cells.items():
        told = {
            metric: _cell(cell, metric in best and best[metric].includes(view))
            for metric, cell in by_metric.items()
        }
        ran = sum(view in row.get("values", {}) for row in evaluation.rows)
        told |= _spent(spent.get(view)) | {"texts": Cell(f"{ran:,}", ran)}
        rows.append(TableRow(one_line(view), told, ()))
    return PageTable.of(
        "figures",
        "All figures",
        "method",
        rows,
        unit="methods",
        why="Means over texts with 95 % bootstrap intervals; ★ marks the best by a metric and those"
        " that are not worse than it beyond chance. passes: forward passes of the full text, by"
        " tokens; seconds: both are medians over texts.",
    )


def _spent(spent: Spent | None) -> dict[str, Cell]:
    if spent is None:
        return {"passes": Cell("–"), "seconds": Cell("–")}
    return {
        "passes": Cell(f"{spent.passes:,.1f}", spent.passes),
        "seconds": Cell(f"{spent.seconds:.2f}", spent.seconds),
    }


def _cell(cell: Interval, leads: bool) -> Cell:
    if not cell.texts:
        return Cell("–")
    between = f"[{_number(cell.low)}, {_number(cell.high)}]"
    return Cell(_number(cell.mean) + (" ★" if leads else ""), cell.mean, between)


def _pairs(pairs: Sequence[Difference]) -> PageTable:
    return PageTable.of(
        "pairs",
        "Method against method",
        "metric",
        [_pair_row(pair) for pair in pairs if pair.interval.texts],
        unit="comparisons",
        why="The difference of the two methods, text by text, with its 95 % bootstrap interval. A"
        f" method is called better where the interval excludes 0, on at least {FEW} texts."
        " Of twenty such intervals about one excludes 0 by chance alone.",
    )


def _pair_row(pair: Difference) -> TableRow:
    gap = pair.interval
    between = f"[{_number(gap.low)}, {_number(gap.high)}]"
    better = pair.better
    return TableRow(
        pair.metric,
        {
            "method": Cell(one_line(pair.one, 30)),
            "other": Cell(one_line(pair.other, 30)),
            "difference": Cell(_number(gap.mean), gap.mean, between),
            "texts": Cell(f"{gap.texts:,}", gap.texts),
            "better": Cell("–" if better is None else one_line(better, 30)),
        },
        (),
        marks=() if better is None else (SURE,),
    )


def _curves(evaluation: Evaluation) -> list[Curve]:
    span = _fall(evaluation)
    drawn = []
    for index, (view, (shares, fall)) in enumerate(curves(evaluation).items()):
        points = [
            f"{scaled(share, (0.0, 1.0), (CURVES.left, CURVES.right)):g},"
            f"{scaled(height, span, (CURVES.high, CURVES.low)):g}"
            for share, height in zip(shares.tolist(), fall.tolist(), strict=True)
        ]
        drawn.append(Curve(one_line(view, 30), index % len(COLOURS) + 1, " ".join(points)))
    return drawn


def _fall(evaluation: Evaluation) -> tuple[float, float]:
    falls = [height for _, fall in curves(evaluation).values() for height in fall.tolist()]
    return spread(falls, margin=0.04)


def _axes(evaluation: Evaluation) -> tuple[list[Tick], list[Tick]]:
    across = axis_ticks((0.0, 100.0), (CURVES.left, CURVES.right))
    return across, axis_ticks(_fall(evaluation), (CURVES.high, CURVES.low))


def _matrix(evaluation: Evaluation) -> list[tuple[str, list[tuple[str, str, int]]]]:
    """The rank agreement of each pair of methods: text, hue and level."""
    rows = agreements(evaluation).tolist()
    if len(evaluation.views) < 2 or not any(math.isfinite(cell) for row in rows for cell in row):
        return []
    return [
        (one_line(view, 30), [_shaded(cell) for cell in row])
        for view, row in zip(evaluation.views, rows, strict=True)
    ]


def _shaded(value: float) -> tuple[str, str, int]:
    if not math.isfinite(value):
        return "–", "f", 0
    return f"{value:.2f}".replace("-", "−"), hue(value), level(value)


def _settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """What the figures were measured with, by name; settings that are not set are left out."""
    told: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            told |= {f"{name}: {one_line(str(key))}": _told(one) for key, one in value.items()}
        elif value is not None:
            told[name] = _told(value)
    return told


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
