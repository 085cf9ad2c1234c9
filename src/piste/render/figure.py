"""The explanation as a matplotlib figure: the text, the effects, value against importance."""

import contextlib
import io
import math
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from piste.errors import FileError
from piste.files import write_atomic
from piste.render import together, trust, words
from piste.render.arcs import arcs, draw_arcs, rooms
from piste.render.chart import BARS, is_scatter, spread
from piste.render.clean import one_line, visible
from piste.render.fonts import drawable, families
from piste.render.paragraph import LEADING, SIZE, Ruler, TextLine, colour, paint, pieces, wrap
from piste.render.placement import Box, Point, place
from piste.render.segments import excerpt, segments
from piste.render.shades import sided, strengths
from piste.render.together import Link
from piste.result.explanation import Explanation, Row

WIDTH = 7.2 * 72  # points: the width of a printed page's text
MARGIN = 14.0
HEAD = 34.0
PLOT = 290.0
AXES_LEFT, AXES_BELOW = 56.0, 62.0
EFFECTS_RIGHT = 0.42 * WIDTH  # where the bars of effects end beside the plane
EFFECTS = 10  # bars
LABEL_ROOM = 15.0  # points of an axis for each character of the label that it names
CHARACTERS = 1100  # of the text
POINTS = 400
LABELS = 25
ERRORS = 12  # of the strongest; more bars than that hide the picture
LABEL_SIZE = 8.5
LEADER = 8.0  # points from which on a label needs a line to its point
DPI = 200
HEADLINE = {"size": 13, "weight": "bold"}
FOOTNOTE = {"size": 8.5, "color": "#555555"}
FOOTNOTE_LEADING = 11.5
FOOTNOTE_CHARACTERS = 105  # in a line
SENTENCE = {"size": 9.0, "color": "#222222"}
SENTENCE_LEADING = 12.5
SENTENCE_CHARACTERS = 98  # in a line
NOTES = 3
NOTE_CHARACTERS = 400  # of a note, at most
# What a file would otherwise say about the moment it was made, by suffix.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def draw(explanation: Explanation, path: str | os.PathLike[str] | None = None) -> Figure:
    """The figure, also written to `path` (.png, .svg or .pdf) when given."""
    return drawn(lambda: _figure(explanation), path)


def drawn(make: Callable[[], Figure], path: str | os.PathLike[str] | None) -> Figure:
    """The figure that `make` draws in the house style, also written to `path` when given."""
    suffix = "" if path is None else check_suffix(path)
    with house_style():
        figure = make()
        if path is not None:
            write_atomic(path, saved(figure, suffix))
    return figure


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a path that a figure can be written to, or the error."""
    suffix = Path(path).suffix.lower()
    if suffix not in _METADATA:
        kinds = ", ".join(_METADATA)
        raise FileError(
            f"A figure cannot be written as {suffix or 'a file without a suffix'}.",
            f"End the path in one of {kinds}.",
        )
    return suffix


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Our settings for the time of drawing; the user's come back afterwards."""
    ours = {
        "font.family": families(),
        "font.size": SIZE,
        "svg.hashsalt": "piste",
        "text.hinting": "none",  # hinted letters are wider than measured
        "pdf.fonttype": 42,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with style.context(["default", ours]):
        yield


def saved(figure: Figure, suffix: str) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=suffix[1:], dpi=DPI, metadata=_METADATA[suffix])
    return stream.getvalue()


def _figure(explanation: Explanation) -> Figure:
    links = together.links(explanation)
    lines, below_text = _lines(explanation, links), _together(explanation, links)
    bows = arcs((link.pair for link in links), lines, MARGIN, WIDTH - 2 * MARGIN)
    above = rooms(bows, len(lines))
    footnotes = _footnotes(explanation)
    below = AXES_BELOW + FOOTNOTE_LEADING * (len(footnotes) - 1)
    paragraph = LEADING * len(lines) + sum(above)
    text = paragraph + SENTENCE_LEADING * len(below_text)
    height = MARGIN + HEAD + text + MARGIN + PLOT + below
    figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    _write(figure, words.decision(explanation.target), height - MARGIN - 12, HEADLINE)
    top = height - MARGIN - HEAD + 8
    paint(figure, lines, MARGIN, top, WIDTH - 2 * MARGIN, above)
    draw_arcs(figure, bows, top, above)
    for row, line in enumerate(below_text):
        up = top - paragraph - SENTENCE_LEADING * (row + 1) + 2
        _write(figure, line, up, SENTENCE)
    _plots(figure, explanation, below / height, PLOT / height)
    for row, line in enumerate(reversed(footnotes)):
        _write(figure, line, MARGIN + FOOTNOTE_LEADING * row, FOOTNOTE)
    return figure


def _plots(figure: Figure, explanation: Explanation, low: float, high: float) -> None:
    """Value against importance where there are both, beside the effects where those rank."""
    if not is_scatter(explanation):
        _bars(_axes(figure, AXES_LEFT, WIDTH - MARGIN, low, high), explanation, BARS)
        return
    left = AXES_LEFT
    if explanation.parts is not None:
        _bars(_axes(figure, MARGIN, EFFECTS_RIGHT, low, high), explanation, EFFECTS)
        left += EFFECTS_RIGHT
    _scatter(_axes(figure, left, WIDTH - MARGIN, low, high), explanation)


def _axes(figure: Figure, left: float, right: float, low: float, high: float) -> Axes:
    """Axes between two places in points, and two shares of the height."""
    return figure.add_axes((left / WIDTH, low, (right - left) / WIDTH, high))


def _together(explanation: Explanation, links: Sequence[Link]) -> list[str]:
    """What words do together and what would turn the decision, in lines."""
    sentences = [*(link.text for link in links), *together.turning(explanation)]
    lines = [line for one in sentences for line in textwrap.wrap(one, SENTENCE_CHARACTERS)]
    return ["", *lines] if lines else []  # air below the text


def _footnotes(explanation: Explanation) -> list[str]:
    """What the picture must not be shown without: how far to trust it, and the notes."""
    notes = [one_line(note, NOTE_CHARACTERS) for note in explanation.notes[:NOTES]]
    bars = [_bars_note(explanation)] if explanation.errors and is_scatter(explanation) else []
    return [
        line
        for sentence in (together.base(explanation), trust.headline(explanation), *notes, *bars)
        for line in textwrap.wrap(sentence or "", FOOTNOTE_CHARACTERS)
    ]


def _bars_note(explanation: Explanation) -> str:
    many = len(explanation.top(ERRORS + 1)) > ERRORS
    return f"Thin lines: standard errors{f' of the {ERRORS} strongest' if many else ''}."


def _lines(explanation: Explanation, links: Sequence[Link]) -> list[TextLine]:
    """The text, or of a long one what stands around its strongest players and the linked ones."""
    shades = strengths(explanation)
    wanted = shades.copy()
    wanted[[index for link in links for index in (link.pair.first, link.pair.second)]] = np.inf
    parts = excerpt(segments(explanation), wanted, CHARACTERS)
    return wrap(pieces(parts, shades, Ruler(SIZE)), WIDTH - 2 * MARGIN)


def literal(text: str) -> str:
    """Text that can be drawn as it is; every string of the explanation passes here."""
    return drawable(visible(text))


def _write(figure: Figure, text: str, up: float, font: dict[str, Any]) -> None:
    height = figure.get_figheight() * 72
    figure.text(MARGIN / WIDTH, up / height, literal(text), font, parse_math=False)


def _scatter(axes: Axes, explanation: Explanation) -> None:
    rows = [row for row in explanation.top(POINTS) if all(map(math.isfinite, _position(row)))]
    places = [_position(row) for row in rows]
    by = explanation.primary if sided(explanation) else "value"
    axes.set_xlim(*spread(_reach(rows, "value")))
    axes.set_ylim(*spread(_reach(rows, "importance")))
    axes.axvline(0, color="#999999", linewidth=0.8, zorder=1)
    axes.axhline(0, color="#999999", linewidth=0.8, zorder=1)
    axes.scatter(
        [x for x, _ in places],
        [y for _, y in places],
        s=20,
        c=[colour(row.scores[by]) for row in rows],
        edgecolors="white",
        linewidths=0.5,
        alpha=0.9,
        zorder=2,
    )
    if explanation.errors:
        axes.errorbar(
            [x for x, _ in places[:ERRORS]],
            [y for _, y in places[:ERRORS]],
            xerr=[row.errors.get("value", 0.0) for row in rows[:ERRORS]],
            yerr=[row.errors.get("importance", 0.0) for row in rows[:ERRORS]],
            fmt="none",
            ecolor="#c4c4c4",
            elinewidth=0.7,
            zorder=1.2,
        )
    axes.set_xlabel(f"value   ({_sides(axes, explanation)})", parse_math=False)
    axes.set_ylabel("importance   (weighs more →)", parse_math=False)
    _label_points(axes, rows)


def _reach(rows: Sequence[Row], name: str) -> list[float]:
    """The scores and the ends of their bars; a huge error may not squeeze the points."""
    if not rows:
        return []
    scores = [row.scores[name] for row in rows]
    bars = [(row.scores[name], row.errors.get(name, 0.0)) for row in rows[:ERRORS]]
    room = max(scores) - min(scores) or 1.0
    low = max(min(score - error for score, error in bars), min(scores) - room / 2)
    high = min(max(score + error for score, error in bars), max(scores) + room / 2)
    return [*scores, low, high]


def _position(row: Row) -> Point:
    return row.scores["value"], row.scores["importance"]


def _label_points(axes: Axes, rows: Sequence[Row]) -> None:
    """The strongest rows by name, each beside its point or at the end of a thin line."""
    ruler = Ruler(LABEL_SIZE)
    points, (width, height) = _in_points(axes, rows), _size(axes)
    names = [literal(one_line(row.player.text, 28)) for row in rows[:LABELS]]
    sizes = [(ruler.width(name) + 2, LABEL_SIZE * 1.3) for name in names]
    boxes = place(points[:LABELS], sizes, points, Box(0, 0, width, height))
    for row, name, point, box in zip(rows, names, points, boxes, strict=False):
        if box is not None:
            _name_point(axes, _position(row), name, box.moved(-point[0], -point[1]))


def _in_points(axes: Axes, rows: Sequence[Row]) -> list[Point]:
    """Where the rows lie inside the axes, in points from their lower left corner."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    width, height = _size(axes)
    return [
        ((x - left) / (right - left) * width, (y - low) / (high - low) * height)
        for x, y in map(_position, rows)
    ]


def _size(axes: Axes) -> Point:
    """Width and height of the axes in points."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    box, (width, height) = axes.get_position(), figure.get_size_inches()
    return float(box.width * width * 72), float(box.height * height * 72)


def _name_point(axes: Axes, at: Point, name: str, box: Box) -> None:
    """Write the name into the box, which is given in points from the point it names."""
    axes.annotate(
        name,
        at,
        xytext=(box.left + 1, box.low + LABEL_SIZE * 0.3),
        textcoords="offset points",
        fontsize=LABEL_SIZE,
        va="baseline",
        parse_math=False,
        path_effects=[withStroke(linewidth=2, foreground="white")],
        zorder=4,
    )
    end = box.nearest((0.0, 0.0))
    if math.hypot(*end) > LEADER:
        line = {"arrowstyle": "-", "linewidth": 0.5, "color": "#777777", "shrinkA": 0}
        axes.annotate("", at, xytext=end, textcoords="offset points", arrowprops=line, zorder=1.5)


def _bars(axes: Axes, explanation: Explanation, most: int) -> None:
    name = explanation.primary
    rows = [row for row in explanation.top(most) if math.isfinite(row.scores[name])]
    scores = [row.scores[name] for row in rows]
    errors = [row.errors.get(name, 0.0) for row in rows]
    axes.barh(
        range(len(rows)),
        scores,
        xerr=errors if any(errors) else None,
        color=[colour(score) for score in scores],
        error_kw={"ecolor": "#777777", "elinewidth": 0.8},
        height=0.72,
    )
    ends = [
        score + sign * error
        for score, error in zip(scores, errors, strict=True)
        for sign in (-1, 1)
    ]
    axes.set_xlim(*_with_room(*spread(ends, margin=0.03)))
    axes.set_yticks([])
    axes.invert_yaxis()
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color="#999999", linewidth=0.8)
    for index, row in enumerate(rows):
        _name_bar(axes, index, row, name)
    sides = _sides(axes, explanation) if sided(explanation) else "weighs more →"
    axes.set_xlabel(f"{literal(name)}   ({sides})", parse_math=False)


def _sides(axes: Axes, explanation: Explanation) -> str:
    left, right = words.sides(explanation.target)
    limit = round(_size(axes)[0] / LABEL_ROOM)
    name = one_line(words.named(explanation.target, limit), 2 * limit)
    return f"← {left},  {right} {literal(name)} →"


def _with_room(low: float, high: float) -> tuple[float, float]:
    """Room for names on both sides of zero, even if all bars point one way."""
    return min(low, -0.3 * high), max(high, -0.3 * low)


def _name_bar(axes: Axes, index: int, row: Row, name: str) -> None:
    """The name on the empty side of zero, where there is always room."""
    against = row.scores[name] < 0
    axes.annotate(
        literal(one_line(row.player.text, 28)),
        (0, index),
        xytext=(5 if against else -5, 0),
        textcoords="offset points",
        ha="left" if against else "right",
        va="center",
        fontsize=LABEL_SIZE,
        parse_math=False,
    )
