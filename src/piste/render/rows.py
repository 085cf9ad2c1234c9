"""The table of an explanation's strongest words in a terminal, with bars that fit its width."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.table import Table
from rich.text import Text

from piste.render import waterfall, words
from piste.render.clean import one_line, shorten
from piste.render.plain import plain
from piste.render.shades import AGAINST, FOR, sided
from piste.render.waterfall import Step
from piste.result.explanation import Explanation, Row

NAME = 32  # columns of the longest name, and of the shortest column of names
SHORT_NAME = 16
COLUMNS = 3  # scores beside each other
HALF_BAR = 7
BAR, SHORT_BAR, NO_BAR = 32, 14, 6  # columns of a waterfall: the most, too few, none
BLUE, ORANGE = (Style(color=Color.from_rgb(*hue)) for hue in (FOR, AGAINST))
UP, DOWN, HARDLY, EDGE = "█", "▒", "▏", "▌"


@dataclass(frozen=True)
class Line:
    """One line of the table: a word, a number of words, the base or the score."""

    name: str
    scores: dict[str, Text]
    bar: Callable[[int], Text]  # by its width
    style: str = ""
    tail: str = ""  # of the name: is not cut where that has no room

    def named(self, width: int) -> str:
        """The name in at most so many columns, cut in the middle."""
        room = max(width - cell_len(self.tail), 1)
        shorter = (shorten(self.name, length) for length in range(len(self.name), 0, -1))
        return f"{next((one for one in shorter if cell_len(one) <= room), '…')}{self.tail}"


def table(explanation: Explanation, top: int, width: int) -> Table:
    """The strongest words with their scores, and a bar each.

    Where the scores add up the bars lead from the base to the model's score, each from the end of
    the one before; else they go to both sides. Too narrow a terminal loses scores from the right.
    """
    steps = waterfall.steps(explanation, top)
    lines = _waterfall(explanation, steps, top) if steps else _both_sides(explanation, top)
    most = BAR if steps else 2 * HALF_BAR + 1
    key = _key(explanation, bool(steps))
    least = max(SHORT_BAR, len(key)) if steps else most
    fit = _Fit.of(_title(explanation, top, bool(steps)), lines, names(explanation), width, least)
    bar = min(most, fit.rest)
    shown = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    shown.add_column(plain(f"  {fit.title}"), no_wrap=True, width=fit.name + 2, overflow="ellipsis")
    for name in fit.scores:
        shown.add_column(plain(heading(name)), justify="right", no_wrap=True)
    shown.add_column(key if bar >= len(key) else Text(), no_wrap=True)
    for line in lines:
        cells = [line.scores.get(name, Text()) for name in fit.scores]
        drawn = line.bar(bar) if bar >= NO_BAR else Text()
        shown.add_row(plain(f"  {line.named(fit.name)}"), *cells, drawn, style=line.style)
    return shown


def names(explanation: Explanation) -> list[str]:
    """The scores that get a column. SLALOM's product is what its bars show: it gets none."""
    told = words.told(explanation)
    if {"value", "importance", "lin"} == set(told):
        told.remove("lin")
    return told[:COLUMNS]


def heading(name: str) -> str:
    """The title of a column; the score's name is in it."""
    return "value alone" if name == "value" else name


@dataclass(frozen=True)
class _Fit:
    """What has room: the names, how many scores, and what they leave for the bars."""

    title: str
    name: int
    scores: list[str]
    rest: int

    @classmethod
    def of(
        cls, title: str, lines: Sequence[Line], scores: list[str], width: int, least: int
    ) -> _Fit:
        longest = max(map(cell_len, [title, *(line.name + line.tail for line in lines)]))
        widths = [
            2 + max([len(heading(score)), *(len(line.scores.get(score, "")) for line in lines)])
            for score in scores
        ]
        name, kept = min(NAME, longest), len(scores)

        def rest() -> int:
            return width - (2 + name + 2) - sum(widths[:kept])

        while rest() < least and (name > SHORT_NAME or kept > 1):
            if name > SHORT_NAME:
                name = max(SHORT_NAME, name - (least - rest()))
            else:
                kept -= 1
        return cls(title, name, scores[:kept], rest())


def _title(explanation: Explanation, top: int, adding: bool) -> str:
    """Where the other words have no line of their own, they are counted here."""
    rows = len(explanation.top(len(explanation.players)))
    return explanation.unit if adding or rows <= top else f"{explanation.unit}, {top} of {rows:,}"


def _key(explanation: Explanation, adding: bool) -> Text:
    if not sided(explanation):
        return Text(f"{'':>{HALF_BAR}}│weight")
    down, up = words.sides(explanation.target)
    if not adding:
        return Text(f"{down:>{HALF_BAR}}│{up:<{HALF_BAR}}")
    return Text.assemble((DOWN, ORANGE), f" {down}  ", (UP, BLUE), f" {up}")


def _waterfall(explanation: Explanation, steps: Sequence[Step], top: int) -> list[Line]:
    """The base, the strongest words, all others as one, and the score."""
    primary, target = explanation.primary, explanation.target
    ends = [place for step in steps for place in (step.start, step.end)]
    scale = _Scale(min(ends), max(ends))
    empty = "(empty text)" if explanation.second is None else "(empty texts)"
    lines = [_edge(empty, primary, steps[0].start, scale)]
    words_of = [step for step in steps if step.group is not None]
    for step, row in zip(words_of, explanation.top(len(words_of)), strict=True):
        scores = _scores(row, explanation)
        name, tail = _name(row, explanation)
        lines.append(Line(name, scores, _from_to(step, scale), tail=tail))
    for step in steps[len(words_of) :]:
        change = {primary: plain(words.signed(step.change, words.largest(explanation, primary)))}
        lines.append(Line(step.label, change, _from_to(step, scale), "dim"))
    return [*lines, _edge("= score", primary, target.score, scale)]


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float

    def column(self, place: float, width: int) -> int:
        """The edge between columns that is nearest to the place, from 0 to the width."""
        span, size = self.high - self.low, max(abs(self.low), abs(self.high))
        share = (place - self.low) / span if span > words.ROUNDING * size else 0.0
        return round(min(max(share, 0.0), 1.0) * width) if math.isfinite(share) else 0


def _edge(name: str, primary: str, place: float, scale: _Scale) -> Line:
    def bar(width: int) -> Text:
        return Text(f"{'':{min(scale.column(place, width), width - 1)}}{EDGE}")

    score = words.signed(place, scale.high - scale.low)
    return Line(name, {primary: plain(score)}, bar, "bold")


def _from_to(step: Step, scale: _Scale) -> Callable[[int], Text]:
    def bar(width: int) -> Text:
        left, right = sorted(scale.column(place, width) for place in (step.start, step.end))
        up = step.change > 0
        blocks = (UP if up else DOWN) * (right - left) or HARDLY
        return Text.assemble(" " * min(left, width - 1), (blocks, BLUE if up else ORANGE))

    return bar


def _both_sides(explanation: Explanation, top: int) -> list[Line]:
    rows = explanation.top(top)
    most = max((abs(row.scores[explanation.primary]) for row in rows), default=0.0)
    primary, lines = explanation.primary, []
    for row in rows:
        (name, tail), bar = _name(row, explanation), _to_a_side(row, primary, most)
        lines.append(Line(name, _scores(row, explanation), bar, tail=tail))
    return lines


def _to_a_side(row: Row, primary: str, most: float) -> Callable[[int], Text]:
    score = row.scores[primary]
    share = abs(score) / most if most > 0 else 0.0
    hardly = HARDLY if score > 0 else "▕" if score < 0 else ""
    blocks = "█" * round(share * HALF_BAR) or hardly
    left, right = ("", blocks) if score > 0 else (blocks, "")
    text = Text.assemble(
        (f"{left:>{HALF_BAR}}", ORANGE), ("│", "dim"), (f"{right:<{HALF_BAR}}", BLUE)
    )
    return lambda width: text


def name_of(row: Row, explanation: Explanation) -> str:
    """A word as a label: how often it stands in the text, and in which of two."""
    return "".join(_name(row, explanation))


def _name(row: Row, explanation: Explanation) -> tuple[str, str]:
    """The word, and what is not cut where there is little room."""
    times = f" {row.occurrences}×" if row.occurrences > 1 else ""
    text = words.text_of(explanation, row.player)
    which = f" ({text})" if text else ""
    return one_line(row.name, NAME - len(times) - len(which)), f"{times}{which}"


def _scores(row: Row, explanation: Explanation) -> dict[str, Text]:
    return {name: _score(row, name, words.largest(explanation, name)) for name in row.scores}


def _score(row: Row, name: str, largest: float) -> Text:
    text = plain(words.signed(row.scores[name], largest))
    if row.errors.get(name):  # the model's own answers have none
        text.append(f" {words.give_or_take(row.errors[name], largest)}", "dim")
    return text
