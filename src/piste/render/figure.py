"""The explanation as a matplotlib figure: the answer, the text, and the steps to the score."""

import contextlib
import io
import logging
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from piste.errors import FileError, choices
from piste.files import as_path, write_atomic
from piste.render import answer, together, trust, waterfall, words
from piste.render.arcs import arcs, draw_arcs, rooms
from piste.render.chart import BARS, is_scatter
from piste.render.clean import one_line, visible
from piste.render.figure_plots import ERRORS, draw_bars, draw_plane, draw_waterfall, gutters
from piste.render.fonts import families, undrawn
from piste.render.fonts import literal as literal
from piste.render.paragraph import LEADING, SIZE, Ruler, TextLine, draw_key, paint, pieces, wrap
from piste.render.segments import excerpt, segments
from piste.render.shades import strengths
from piste.render.together import Link
from piste.result.explanation import Explanation

WATERFALL, PLANE = KINDS = ["waterfall", "plane"]
WIDTH = 7.2 * 72  # points: the width of a printed page's text
MARGIN = 14.0
HEAD = 30.0  # the decision's figures, and air above the text
PLOT = 290.0
ROW = 16.0  # of the waterfall
BAR = 20.0  # of the strongest players, with what is between
KEY = 24.0  # the scale of colours below the text
AXES_LEFT, AXES_BELOW = 56.0, 62.0
EFFECTS_RIGHT = 0.42 * WIDTH  # where the bars of effects end beside the plane
EFFECTS = 10  # bars
CHARACTERS = 1600  # of the text
DPI = 200
HEADLINE = {"size": 12, "weight": "bold"}
HEADLINE_LEADING = 16.0
HEADLINE_CHARACTERS = 68  # in a line
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


def draw(
    explanation: Explanation,
    path: str | os.PathLike[str] | None = None,
    kind: str = WATERFALL,
) -> Figure:
    """The figure, also written to `path` (.png, .svg or .pdf) when given.

    kind: "waterfall", or "plane" for value against importance.
    """
    if kind not in KINDS:
        raise choices("kind of figure", kind, KINDS)
    return drawn(lambda: _figure(explanation, kind), path)


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
    suffix = as_path(path).suffix.lower()
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
    logger = logging.getLogger("matplotlib.font_manager")  # tells of each font without a bold face
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with style.context(["default", ours]):
            yield
    finally:
        logger.setLevel(before)


def saved(figure: Figure, suffix: str) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=suffix[1:], dpi=DPI, metadata=_METADATA[suffix])
    return stream.getvalue()


def _figure(explanation: Explanation, kind: str) -> Figure:
    notes = _footnotes(explanation, kind)
    blocks = _Blocks(explanation)
    rows = _rows(explanation) if kind == WATERFALL else 0
    bars = PLOT if kind == PLANE else min(PLOT, BAR * (len(explanation.top(BARS)) + 1))
    plot = ROW * rows if rows else bars
    below = AXES_BELOW + FOOTNOTE_LEADING * (len(notes) - 1)
    height = blocks.height + plot + below
    figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    blocks.draw(figure, height)
    low, high = below / height, plot / height
    if rows:
        left, right = gutters(explanation)
        ends = MARGIN + left, WIDTH - MARGIN - right
        draw_waterfall(_axes(figure, *ends, low, high), explanation)
    else:
        _plots(figure, explanation, low, high, kind)
    for row, line in enumerate(reversed(notes)):
        _write(figure, line, MARGIN + FOOTNOTE_LEADING * row, FOOTNOTE)
    return figure


def _rows(explanation: Explanation) -> int:
    """Lines of the waterfall; 0 where the scores do not add up from a base."""
    steps = len(waterfall.steps(explanation))
    return steps + 2 if steps else 0


class _Blocks:
    """What stands above the plot, in reading order: the answer, the text, what acts together."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        links = together.links(explanation)
        self.headline = textwrap.wrap(answer.sentence(explanation), HEADLINE_CHARACTERS)
        self.lines = _lines(explanation, links)
        self.bows = arcs((link.pair for link in links), self.lines, MARGIN, WIDTH - 2 * MARGIN)
        self.above = rooms(self.bows, len(self.lines))
        self.sentences = _together(explanation, links)
        self.head = HEADLINE_LEADING * len(self.headline) + HEAD
        self.paragraph = LEADING * len(self.lines) + sum(self.above)

    @property
    def height(self) -> float:
        below = KEY + SENTENCE_LEADING * len(self.sentences)
        return MARGIN + self.head + self.paragraph + below + MARGIN

    def draw(self, figure: Figure, height: float) -> None:
        down = MARGIN
        for line in self.headline:
            down += HEADLINE_LEADING
            _write(figure, line, height - down, HEADLINE)
        decision = words.decision(self.explanation.target)
        _write(figure, decision, height - down - 13, FOOTNOTE)
        top = height - MARGIN - self.head + 6
        paint(figure, self.lines, MARGIN, top, WIDTH - 2 * MARGIN, self.above)
        draw_arcs(figure, self.bows, top, self.above)
        up = top - self.paragraph - KEY / 2
        draw_key(figure, self.explanation, MARGIN, up)
        for row, line in enumerate(self.sentences):
            _write(figure, line, up - SENTENCE_LEADING * (row + 1) - 4, SENTENCE)


def _plots(figure: Figure, explanation: Explanation, low: float, high: float, kind: str) -> None:
    """Bars of the strongest; for the plane, value against importance beside the effects."""
    if kind != PLANE or not is_scatter(explanation):
        draw_bars(_axes(figure, AXES_LEFT, WIDTH - MARGIN, low, high), explanation, BARS)
        return
    left = AXES_LEFT
    if explanation.parts is not None:
        draw_bars(_axes(figure, MARGIN, EFFECTS_RIGHT, low, high), explanation, EFFECTS)
        left += EFFECTS_RIGHT
    draw_plane(_axes(figure, left, WIDTH - MARGIN, low, high), explanation)


def _axes(figure: Figure, left: float, right: float, low: float, high: float) -> Axes:
    """Axes between two places in points, and two shares of the height."""
    return figure.add_axes((left / WIDTH, low, (right - left) / WIDTH, high))


def _together(explanation: Explanation, links: Sequence[Link]) -> list[str]:
    """What words do together and what keeps the decision, in lines; the headline says the rest."""
    keeps = together.keeps(explanation)
    sentences = [*(link.text for link in links), *([keeps] if keeps else [])]
    return [line for one in sentences for line in textwrap.wrap(one, SENTENCE_CHARACTERS)]


def _footnotes(explanation: Explanation, kind: str) -> list[str]:
    """What the picture must not be shown without: how far to trust it, and the notes."""
    notes = [one_line(note, NOTE_CHARACTERS) for note in explanation.notes[:NOTES]]
    said = (
        *(one.text for one in trust.warnings(explanation)),
        trust.headline(explanation),
        *notes,
        _bars_note(explanation, kind),
        undrawn(visible(explanation.text)),
    )
    lines = [
        line for sentence in said for line in textwrap.wrap(sentence or "", FOOTNOTE_CHARACTERS)
    ]
    return list(dict.fromkeys(lines))


def _bars_note(explanation: Explanation, kind: str) -> str | None:
    if not explanation.errors:
        return None
    many = kind == PLANE and len(explanation.top(ERRORS + 1)) > ERRORS
    return f"Thin lines: standard errors{f' of the {ERRORS} strongest' if many else ''}."


def _lines(explanation: Explanation, links: Sequence[Link]) -> list[TextLine]:
    """The text, or of a long one what stands around its strongest players and the linked ones."""
    shades = strengths(explanation)
    wanted = shades.copy()
    wanted[[index for link in links for index in (link.pair.first, link.pair.second)]] = np.inf
    parts = excerpt(segments(explanation), wanted, CHARACTERS)
    return wrap(pieces(parts, shades, Ruler(SIZE)), WIDTH - 2 * MARGIN)


def _write(figure: Figure, text: str, up: float, font: dict[str, Any]) -> None:
    height = figure.get_figheight() * 72
    figure.text(MARGIN / WIDTH, up / height, literal(text), font, parse_math=False)
