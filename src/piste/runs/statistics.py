"""Statistics of an evaluation: means with intervals, and paired differences."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from piste.arrays import FloatArray
from piste.errors import printable
from piste.metrics import METRICS
from piste.runs.evaluate import Evaluation

DRAWS = 2000
LEVEL = 0.95
ROUNDING = 1e-6  # no difference of figures
FORMULAS = tuple("=+-@＝＋－＠")  # how a formula begins in a spreadsheet, in wide letters too
FEW = 8  # texts; intervals of fewer are too narrow to claim anything


@dataclass(frozen=True)
class Interval:
    """A mean over texts with its 95 % bootstrap confidence interval."""

    mean: float
    low: float
    high: float
    texts: int

    def __str__(self) -> str:
        if not self.texts:
            return "-"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Difference:
    """One view less another by one metric, text by text."""

    metric: str
    one: str
    other: str
    interval: Interval

    @property
    def better(self) -> str | None:
        """The better of the two; None for few texts, or if the interval includes 0."""
        low, high = self.interval.low, self.interval.high
        nothing = abs(self.interval.mean) < ROUNDING
        if self.interval.texts < FEW or low <= 0 <= high or nothing:
            return None
        return self.one if (low > 0) == METRICS[self.metric].higher_is_better else self.other

    def __str__(self) -> str:
        worse = self.other if self.better == self.one else self.one
        if self.better is None:
            return f"{self.metric}: no difference beyond chance between {self.one} and {self.other}"
        gap = self.interval
        sign = 1 if self.better == self.one else -1
        low, high = sorted((sign * gap.low, sign * gap.high))
        return (
            f"{self.metric}: {self.better} better than {worse} by"
            f" {abs(gap.mean):.3f} [{min(abs(low), abs(high)):.3f}, {max(abs(low), abs(high)):.3f}]"
        )


def interval(values: FloatArray, seed: int = 0) -> Interval:
    """Mean and percentile bootstrap over texts; NaN values are left out."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Interval(float("nan"), float("nan"), float("nan"), 0)
    chosen = np.random.default_rng(seed).integers(len(known), size=(DRAWS, len(known)))
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    low, high = np.quantile(known[chosen].mean(axis=1), tails)
    return Interval(float(known.mean()), float(low), float(high), len(known))


def means(evaluation: Evaluation) -> dict[str, dict[str, Interval]]:
    """The interval of every view by every metric."""
    return {
        view: {metric: interval(evaluation.values(view, metric)) for metric in evaluation.metrics}
        for view in evaluation.views
    }


def differences(evaluation: Evaluation) -> list[Difference]:
    """Every pair of views by every metric, paired by text."""
    return [
        Difference(metric, one, other, interval(_paired(evaluation, metric, one, other)))
        for metric in evaluation.metrics
        for one, other in combinations(evaluation.views, 2)
    ]


def _paired(evaluation: Evaluation, metric: str, one: str, other: str) -> FloatArray:
    return evaluation.values(one, metric) - evaluation.values(other, metric)


@dataclass(frozen=True)
class Leaders:
    """The best by one metric: the view with the best mean, and those not surely worse than it."""

    metric: str
    best: str
    level: tuple[str, ...]  # beside the best
    texts: int  # of the best

    @property
    def decided(self) -> bool:
        """Whether there are texts enough to call any view better than another."""
        return self.texts >= FEW

    def includes(self, view: str) -> bool:
        """Whether it is one of the best, as far as that can be said."""
        return self.decided and view in (self.best, *self.level)


def leaders(
    intervals: Mapping[str, Mapping[str, Interval]], pairs: Sequence[Difference]
) -> dict[str, Leaders]:
    """The best views by every metric that was measured, from `means` and `differences`."""
    measured = {metric: None for by_metric in intervals.values() for metric in by_metric}
    chosen = {}
    for metric in measured:
        known = {view: cells[metric] for view, cells in intervals.items() if cells[metric].texts}
        if known:
            sign = 1 if METRICS[metric].higher_is_better else -1
            best = max((sign * cell.mean, view) for view, cell in known.items())[1]
            worse = _worse(pairs, metric, best)
            level = tuple(view for view in known if view not in (best, *worse))
            chosen[metric] = Leaders(metric, best, level, known[best].texts)
    return chosen


def _worse(pairs: Sequence[Difference], metric: str, best: str) -> set[str]:
    """The views that are surely worse than the best by a metric."""
    beaten = [pair for pair in pairs if pair.metric == metric and pair.better == best]
    return {view for pair in beaten for view in (pair.one, pair.other)} - {best}


@dataclass(frozen=True)
class Spent:
    """The cost of a view: medians over texts."""

    sequences: float
    tokens: float
    passes: float  # forward passes of the full text: tokens in lengths of it
    seconds: float


def costs(evaluation: Evaluation) -> dict[str, Spent]:
    """The cost of every view that ran."""
    spent = {}
    for view in evaluation.views:
        rows = [row["cost"][view] for row in evaluation.rows if view in row.get("cost", {})]
        if rows:
            spent[view] = Spent(
                _median(row["forwards"] for row in rows),
                _median(row["tokens"] for row in rows),
                _median(row["tokens"] / _full_tokens(row) for row in rows),
                _median(row["query_seconds"] + row["fit_seconds"] for row in rows),
            )
    return spent


def _full_tokens(row: Mapping[str, Any]) -> int:
    """The tokens of the full text; rows of 0.1 call them "text"."""
    return int(row["text"] if "text" in row else row["full_tokens"])


def _median(values: object) -> float:
    return float(np.median(list(values)))  # type: ignore[call-overload]


def agreements(evaluation: Evaluation) -> FloatArray:
    """The mean rank agreement of each pair of views [views, views]; NaN where none is known."""
    place = {view: index for index, view in enumerate(evaluation.views)}
    stacked = np.full((len(evaluation.rows), len(place), len(place)), np.nan)
    for number, row in enumerate(evaluation.rows):
        told = row.get("agreement", {"views": [], "matrix": []})
        where = [place[view] for view in told["views"]]
        if where:
            stacked[number][np.ix_(where, where)] = np.array(told["matrix"], dtype=np.float64)
    known = np.isfinite(stacked).sum(axis=0)
    total = np.nansum(stacked, axis=0)
    return np.where(known > 0, total / np.maximum(known, 1), np.nan)


def curves(evaluation: Evaluation, points: int = 21) -> dict[str, tuple[FloatArray, FloatArray]]:
    """The mean deletion curve of every view: shares removed, and the fall there."""
    shares = np.linspace(0, 1, points)
    by_view = {}
    for view in evaluation.views:
        rows = [row["curves"][view] for row in evaluation.rows if view in row.get("curves", {})]
        read = [np.interp(shares, [0.0, *x], [0.0, *y]) for x, y in rows if x]
        if read:
            by_view[view] = (shares, np.asarray(np.mean(read, axis=0)))
    return by_view


def table(evaluation: Evaluation) -> list[list[str]]:
    """Header and rows as text: one row a view, one column a metric, then what it took."""
    spent, intervals = costs(evaluation), means(evaluation)
    rows = [["method", *map(headed, evaluation.metrics), "passes", "texts"]]
    for view in evaluation.views:
        ran = sum(view in row.get("values", {}) for row in evaluation.rows)
        passes = f"{spent[view].passes:.1f}" if view in spent else "-"
        cells = [_counted(cell, ran) for cell in intervals[view].values()]
        rows.append([view, *cells, passes, str(ran)])
    return rows


def _counted(cell: Interval, ran: int) -> str:
    """The interval, with the number of texts if some are missing."""
    return f"{cell} (n = {cell.texts})" if 0 < cell.texts < ran else str(cell)


def headed(metric: str) -> str:
    """The metric's name with an arrow for the better direction."""
    return f"{metric} {'↑' if METRICS[metric].higher_is_better else '↓'}"


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as a Markdown table, the first its header."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    shown = ["| " + " | ".join(map(markdown_cell, line)) + " |" for line in lines]
    return "\n".join(shown) + "\n"


def markdown_cell(cell: str) -> str:
    """A cell that stays one, and in which nothing is a tag, a link or code."""
    return re.sub(r"[\\|<`]|(?<=\])\(", r"\\\g<0>", printable(cell))


def as_csv(rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV; a cell that a spreadsheet would run as a formula is quoted as text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([[_harmless(cell) for cell in row] for row in rows])
    return stream.getvalue()


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    plain = printable(cell)
    return f"'{plain}" if plain.startswith(FORMULAS) and plain != "-" else plain


def numbers(evaluation: Evaluation) -> list[list[object]]:
    """The table as numbers: one row per view and metric."""
    rows: list[list[object]] = [["method", "metric", "mean", "low", "high", "texts"]]
    for view, by_metric in means(evaluation).items():
        rows += [
            [view, metric, interval.mean, interval.low, interval.high, interval.texts]
            for metric, interval in by_metric.items()
        ]
    return rows
