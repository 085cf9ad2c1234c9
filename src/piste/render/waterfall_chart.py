"""The geometry of the page's waterfall, ready for SVG: base, words, score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from piste.render import waterfall, words
from piste.render.chart import GUTTER, Tick, axis_ticks, fitted, scaled, spread, text_width
from piste.render.placement import Box
from piste.render.waterfall import Step
from piste.result.explanation import Explanation

ROW = 24.0
BAR = 15.0  # height of a bar
AMOUNTS = 100.0  # the column of numbers at the right
BELOW = 42.0  # ticks and the axis' name
LEAST = 0.001  # of the axis: a smaller step or error counts as 0

Span = tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """One line: a step of the score, or (without a side) where it starts and ends."""

    label: str
    amount: str
    said: str  # to who cannot see it
    top: float
    left: float
    width: float
    ends: tuple[float, float]  # where the score was, and is
    whisker: tuple[float, float] | None = None  # a standard error to each side of the end
    side: str = ""  # f(or), a(gainst)
    group: int | None = None


@dataclass(frozen=True)
class Waterfall:
    """Everything in SVG units, y downwards."""

    width: float
    height: float
    frame: Box
    bars: list[Bar]
    across: list[Tick]

    @property
    def whiskers(self) -> bool:
        """Whether any standard error is large enough to be drawn."""
        return any(bar.whisker for bar in self.bars)


def chart(explanation: Explanation, width: float) -> Waterfall | None:
    """The waterfall; None where the scores do not add up from a base."""
    steps = waterfall.steps(explanation)
    if not steps:
        return None
    steps = [*steps, _end(explanation)]
    first = Step(_empty(explanation), steps[0].start, steps[0].start)
    return _drawn([first, *steps], width)


def _empty(explanation: Explanation) -> str:
    return "empty text" if explanation.second is None else "empty texts"


def _end(explanation: Explanation) -> Step:
    score = explanation.target.score
    return Step("whole text" if explanation.second is None else "both texts", score, score)


def _drawn(steps: Sequence[Step], width: float) -> Waterfall:
    names = [fitted(step.label, width * GUTTER) for step in steps]
    gutter = max(map(text_width, names)) + 12
    frame = Box(gutter, 6, width - AMOUNTS, 6 + ROW * len(steps))
    reach = [end for step in steps for end in (step.start, *_reach(step))]
    span, sides = spread(reach, margin=0.03), (frame.left, frame.right)
    bars = [
        _bar(step, names[row], frame.low + ROW * row, (span, sides), row in (0, len(steps) - 1))
        for row, step in enumerate(steps)
    ]
    return Waterfall(width, frame.high + BELOW, frame, bars, axis_ticks(span, sides))


def _bar(step: Step, name: str, top: float, axis: tuple[Span, Span], outer: bool) -> Bar:
    span, sides = axis
    start, end = (scaled(x, span, sides) for x in (step.start, step.end))
    low, high = (scaled(x, span, sides) for x in _reach(step))
    reach = span[1] - span[0]
    least = LEAST * reach
    change = step.change if abs(step.change) >= least else 0.0
    amount = words.signed(step.end if outer else change, reach)
    error = words.give_or_take(step.error, reach) if step.error and step.error >= least else ""
    ends = [words.signed(end, reach) for end in (step.start, step.end)]
    way = f", from {ends[0]} to {ends[1]}"
    return Bar(
        label=name,
        amount=f"{amount} {error}".strip(),
        said=f"{step.label}: {amount} {error}".strip() + ("" if outer else way),
        top=top,
        left=min(start, end),
        width=round(max(abs(end - start), 1.0), 2),
        ends=(start, end),
        whisker=(low, high) if error else None,
        side="" if outer else "f" if step.change > 0 else "a",
        group=step.group,
    )


def _reach(step: Step) -> tuple[float, float]:
    error = step.error or 0.0
    return step.end - error, step.end + error
