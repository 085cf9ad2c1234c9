"""The geometry of the page's charts, ready for SVG."""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from piste.render.clean import one_line
from piste.render.placement import Box, Point, place
from piste.result.explanation import Explanation, Row

FONT = 12.0
BARS = 20
BAR_STEP = 22.0
GUTTER = 0.38  # of the width, for the names of bars at most
_MARGIN = Box(46, 14, 16, 40)  # left, top, right, bottom


@dataclass(frozen=True)
class Mark:
    """A point or bar for one distinct player."""

    row: Row
    x: float
    y: float
    width: float = 0.0
    error: Box | None = None  # where the error bars end


@dataclass(frozen=True)
class Label:
    """A word in the chart, with the line that leads to its point."""

    row: Row
    text: str
    x: float
    y: float
    line: tuple[Point, Point] | None = None


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """Everything in SVG units, y downwards."""

    width: float
    height: float
    frame: Box
    marks: list[Mark]
    labels: list[Label]
    across: list[Tick]
    up: list[Tick]


def is_scatter(explanation: Explanation) -> bool:
    """Whether there are a value and an importance to set against each other."""
    return {"value", "importance"} <= explanation.scores.keys()


def scatter(rows: Sequence[Row], width: float, height: float, labels: int) -> Chart:
    """Value to the right, importance upwards; the strongest rows get a label."""
    frame = Box(_MARGIN.left, _MARGIN.low, width - _MARGIN.right, height - _MARGIN.high)
    finite = [row for row in rows if math.isfinite(row.scores["value"] + row.scores["importance"])]
    across = spread([row.scores["value"] for row in finite])
    up = spread([row.scores["importance"] for row in finite])
    marks = [
        Mark(
            row,
            scaled(row.scores["value"], across, (frame.left, frame.right)),
            scaled(row.scores["importance"], up, (frame.high, frame.low)),
            # Bars of the weaker ones, which crowd around 0, would hide the picture.
            error=_error(row, across, up, frame) if index < labels else None,
        )
        for index, row in enumerate(finite)
    ]
    return Chart(
        width=width,
        height=height,
        frame=frame,
        # From left to right, the way arrow keys walk through them.
        marks=sorted(marks, key=lambda mark: mark.x),
        labels=_labels(marks, frame, labels),
        across=axis_ticks(across, (frame.left, frame.right)),
        up=axis_ticks(up, (frame.high, frame.low)),
    )


def _error(
    row: Row, across: tuple[float, float], up: tuple[float, float], frame: Box
) -> Box | None:
    """A standard error to each side, as far as the frame; None where both numbers are exact."""
    x, y = row.scores["value"], row.scores["importance"]
    dx, dy = row.errors.get("value", 0.0), row.errors.get("importance", 0.0)
    if not dx and not dy:
        return None
    wide, high = (frame.left, frame.right), (frame.high, frame.low)
    return Box(
        max(scaled(x - dx, across, wide), frame.left),
        max(scaled(y + dy, up, high), frame.low),
        min(scaled(x + dx, across, wide), frame.right),
        min(scaled(y - dy, up, high), frame.high),
    )


def bars(rows: Sequence[Row], name: str, width: float) -> Chart:
    """The strongest rows as bars from a common zero."""
    rows = [row for row in rows[:BARS] if math.isfinite(row.scores[name])]
    names = [fitted(row.name, width * GUTTER) for row in rows]
    gutter = max((text_width(text) for text in names), default=0.0) + 14
    frame = Box(gutter, 6, width - 16, 6 + BAR_STEP * len(rows))
    scale = spread([0.0, *(row.scores[name] for row in rows)], margin=0.02)
    ends = (frame.left, frame.right)
    zero = scaled(0.0, scale, ends)
    tips = [scaled(row.scores[name], scale, ends) for row in rows]
    tops = [frame.low + BAR_STEP * index for index in range(len(rows))]
    return Chart(
        width=width,
        height=frame.high + 40,
        frame=frame,
        marks=[
            Mark(row, min(tip, zero), top + 3, max(abs(tip - zero), 1.0))
            for row, tip, top in zip(rows, tips, tops, strict=True)
        ],
        labels=[
            Label(row, text, frame.left - 8, top + BAR_STEP / 2 + FONT / 3)
            for row, text, top in zip(rows, names, tops, strict=True)
        ],
        across=axis_ticks(scale, ends),
        up=[],
    )


def spread(numbers: Sequence[float], margin: float = 0.07) -> tuple[float, float]:
    """The range of the numbers with 0 in it and some air around."""
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    low, high = min(low, 0.0), max(high, 0.0)
    air = (high - low) * margin or 1.0
    return low - air, high + air


def text_width(text: str, size: float = FONT) -> float:
    """An estimate, on the safe side: the browser's font is not known here."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return size * (0.6 * (len(text) - wide) + 1.05 * wide)


def fitted(text: str, room: float) -> str:
    """`text` as a label no wider than `room`, if it can be."""
    limit = 22
    while limit > 3 and text_width(one_line(text, limit)) > room:
        limit -= 1
    return one_line(text, limit)


def scaled(number: float, source: tuple[float, float], ends: tuple[float, float]) -> float:
    """Where a number of the range `source` lies between `ends`."""
    part = (number - source[0]) / (source[1] - source[0])
    return round(ends[0] + part * (ends[1] - ends[0]), 2)


def _labels(marks: Sequence[Mark], frame: Box, count: int) -> list[Label]:
    strongest = marks[:count]
    points = [(mark.x, mark.y) for mark in marks]
    names = [one_line(mark.row.name, 22) for mark in strongest]
    sizes = [(text_width(name) + 4, FONT + 2) for name in names]
    boxes = place(points[:count], sizes, points, frame)
    return [
        Label(mark.row, name, round(box.left + 2, 2), round(box.high - 3.5, 2), _line(mark, box))
        for mark, name, box in zip(strongest, names, boxes, strict=True)
        if box is not None
    ]


def _line(mark: Mark, box: Box) -> tuple[Point, Point] | None:
    end = box.nearest((mark.x, mark.y))
    if math.dist(end, (mark.x, mark.y)) < 9:
        return None
    return (mark.x, mark.y), (round(end[0], 2), round(end[1], 2))


def axis_ticks(span: tuple[float, float], ends: tuple[float, float]) -> list[Tick]:
    """Round numbers of the range `span`, placed between `ends`."""
    room = abs(ends[1] - ends[0]) / 55
    rough = (span[1] - span[0]) / max(room, 2)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= rough)
    numbers = range(math.ceil(span[0] / step), math.floor(span[1] / step) + 1)
    return [Tick(scaled(n * step, span, ends), f"{n * step:g}".replace("-", "−")) for n in numbers]
