"""Numbers with intervals on a common scale, ready for SVG: a line a name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from piste.render.chart import FONT, Tick, axis_ticks, scaled, spread, text_width
from piste.render.placement import Box

STEP = 22.0  # from line to line
ROOM = 0.42  # of the width, for names at most
RIGHT = 62.0  # for the figure at the end of a line
BELOW = 36.0


@dataclass(frozen=True)
class Measure:
    """What one line shows: a number, how far it may be off, and its words."""

    name: str
    value: float
    low: float
    high: float
    figure: str  # the number as text
    hue: str = "w"
    title: str = ""  # all of it, for those who point at it or cannot see it


@dataclass(frozen=True)
class Line:
    """A measure in its place."""

    measure: Measure
    y: float
    at: float
    low: float
    high: float


@dataclass(frozen=True)
class IntervalChart:
    """Everything in SVG units, y downwards."""

    width: float
    height: float
    frame: Box
    zero: float
    lines: list[Line]
    ticks: list[Tick]


def intervals(measures: Sequence[Measure], width: float, *, from_zero: bool) -> IntervalChart:
    """The measures in the given order. from_zero: 0 belongs to the scale, as bars need it."""
    known = [one for one in measures if math.isfinite(one.value + one.low + one.high)]
    gutter = max((text_width(one.name) for one in known), default=0.0) + 14
    left = min(gutter, width * ROOM)
    frame = Box(left, 4, width - RIGHT, 4 + STEP * len(known))
    span = _span(known, from_zero=from_zero)
    ends = (frame.left, frame.right)
    lines = [
        Line(
            one,
            round(frame.low + STEP * (index + 0.5), 2),
            *(scaled(number, span, ends) for number in (one.value, one.low, one.high)),
        )
        for index, one in enumerate(known)
    ]
    zero = scaled(0.0, span, ends)
    return IntervalChart(width, frame.high + BELOW, frame, zero, lines, axis_ticks(span, ends))


def _span(measures: Sequence[Measure], *, from_zero: bool) -> tuple[float, float]:
    numbers = [number for one in measures for number in (one.low, one.high)]
    if from_zero or not numbers:
        return spread(numbers, margin=0.03)
    low, high = min(numbers), max(numbers)
    air = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - air, high + air


def fitting(name: str, width: float) -> str:
    """The name, cut to the room that a chart of this width has for names."""
    most = max(6, int((width * ROOM - 14) / (0.6 * FONT)))
    return name if len(name) <= most else name[: most - 1] + "…"
