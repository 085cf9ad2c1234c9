"""The difference as a matplotlib figure: both texts, and the way from one score to the other."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence

from matplotlib.figure import Figure

from piste.arrays import FloatArray
from piste.render import diff_words as said
from piste.render import words
from piste.render.clean import one_line
from piste.render.comparison_figure import INK, QUIET, RULE, Canvas
from piste.render.diff_rows import Step
from piste.render.diff_rows import steps as steps_of
from piste.render.diff_texts import shades
from piste.render.figure import FOOTNOTE_LEADING, MARGIN, WIDTH, drawn, literal
from piste.render.paragraph import LEADING, SIZE, Ruler, TextLine, colour, paint, pieces, wrap
from piste.render.segments import excerpt, segments
from piste.result.difference import Diff
from piste.result.explanation import Explanation

CHARACTERS = 900  # of each text
HEAD_LEADING = 17.0
HEAD_CHARACTERS = 66  # in a line of the headline
NOTE_CHARACTERS = 100
TEXT_WIDTH = WIDTH - 2 * MARGIN
GAP = 12.0
TITLE = 13.0  # room of a text's title
BARS = 12
LANE = 15.0  # of a bar
LABEL_RIGHT = MARGIN + 150.0
LANE_LEFT, LANE_RIGHT = LABEL_RIGHT + 74.0, WIDTH - MARGIN


def draw(diff: Diff, path: str | os.PathLike[str] | None = None) -> Figure:
    """The figure, also written to `path` (.png, .svg or .pdf) when given."""
    return drawn(lambda: _figure(diff), path)


def _figure(diff: Diff) -> Figure:
    head = textwrap.wrap(said.headline(diff), HEAD_CHARACTERS)
    answers = [f"{side}: {told}" for side, told in said.answers(diff)]
    texts, steps, notes = _texts(diff), steps_of(diff, BARS), _notes(diff)
    text_room = sum(TITLE + LEADING * len(lines) + GAP for _, lines in texts)
    bars_room = LANE * (len(steps) + 2) + GAP
    top = MARGIN + HEAD_LEADING * len(head) + FOOTNOTE_LEADING * len(answers) + GAP
    canvas = Canvas(top + text_room + bars_room + FOOTNOTE_LEADING * len(notes) + MARGIN)
    for index, line in enumerate(head):
        canvas.write(MARGIN, MARGIN + 11 + HEAD_LEADING * index, line, size=13, weight="bold")
    _write_lines(canvas, answers, MARGIN + HEAD_LEADING * len(head) + 8)
    down = top
    for title, lines in texts:
        canvas.write(MARGIN, down + 8, title, size=8, color=QUIET)
        paint(canvas.figure, lines, MARGIN, canvas.height - down - TITLE, TEXT_WIDTH)
        down += TITLE + LEADING * len(lines) + GAP
    _waterfall(canvas, diff, steps, down)
    _write_lines(canvas, notes, down + bars_room + 6)
    return canvas.figure


def _write_lines(canvas: Canvas, lines: Sequence[str], down: float) -> None:
    for index, line in enumerate(lines):
        canvas.write(MARGIN, down + FOOTNOTE_LEADING * index, line, size=8.5, color=QUIET)


def _texts(diff: Diff) -> list[tuple[str, list[TextLine]]]:
    """The texts in coloured lines; one text under two models is drawn once."""
    sides = list(zip(said.sides(diff), (diff.before, diff.after), shades(diff), strict=True))
    if diff.of_models:
        return [("the text, coloured by what changed", _lines(*sides[1][1:]))]
    return [(f"{title}, coloured by what changed", _lines(ex, by)) for title, ex, by in sides]


def _lines(explanation: Explanation, strengths: FloatArray) -> list[TextLine]:
    parts = excerpt(segments(explanation), strengths, CHARACTERS)
    return wrap(pieces(parts, strengths, Ruler(SIZE)), TEXT_WIDTH)


def _waterfall(canvas: Canvas, diff: Diff, steps: Sequence[Step], down: float) -> None:
    start, end = diff.before.target.score, diff.after.target.score
    ends = [start, end, *(step.start for step in steps), *(step.end for step in steps)]
    low, reach = min(ends), max(ends) - min(ends)
    scale = (LANE_RIGHT - LANE_LEFT - 2) / reach if reach else 0.0

    def place(score: float) -> float:
        return LANE_LEFT + (score - low) * scale

    for score in (start, end):
        canvas.box(place(score), down, (0.8, LANE * (len(steps) + 2)), RULE)
    _lane(canvas, down, ("before", words.signed(start)), weight="bold")
    for row, step in enumerate(steps, start=1):
        error = f" {words.give_or_take(step.error, said.reach(diff))}" if step.error else ""
        at = down + LANE * row
        _lane(
            canvas,
            at,
            (one_line(step.label, 30), f"{words.signed(step.change, said.reach(diff))}{error}"),
        )
        size = (max(abs(step.change) * scale, 0.8), LANE - 5)
        canvas.box(place(min(step.start, step.end)), at + 3, size, colour(step.change))
    last = down + LANE * (len(steps) + 1)
    _lane(canvas, last, ("after", words.signed(end)), weight="bold")
    for score, at in ((start, down), (end, last)):
        canvas.box(place(score), at + 2, (1.6, LANE - 3), INK)


def _lane(canvas: Canvas, down: float, told: tuple[str, str], weight: str = "normal") -> None:
    label, number = told
    canvas.write(MARGIN, down + 11, literal(label), size=8.5, weight=weight)
    canvas.write(LANE_LEFT - 8, down + 11, number, size=8.5, weight=weight, ha="right")


def _notes(diff: Diff) -> list[str]:
    pairs = [said.pair_sentence(diff, pair) for pair in said.pairs(diff)]
    away, towards = said.colour_key(diff)
    key = f"Blue {towards}, orange {away}. {said.adding_up(diff)}"
    warnings = [f"Warning: {warning}" for warning in said.warnings(diff)]
    notes = [*warnings, *pairs, key, said.made(diff)]
    return [line for note in notes for line in textwrap.wrap(note, NOTE_CHARACTERS)]
