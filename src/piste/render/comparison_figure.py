"""The comparison as a matplotlib figure: one row of highlighted text a method, and the figures."""

import dataclasses
import os
import textwrap
from collections.abc import Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from piste.compare import Comparison
from piste.render import comparison_words as said
from piste.render import words
from piste.render.clean import one_line
from piste.render.figure import (
    FOOTNOTE_LEADING,
    MARGIN,
    WIDTH,
    drawn,
    literal,
)
from piste.render.paragraph import (
    FAINT,
    LEADING,
    SIZE,
    WHITE,
    Ruler,
    TextLine,
    paint,
    pieces,
    runs_left,
    wrap,
)
from piste.render.segments import Segment
from piste.render.shades import AGAINST, FOR, RGB, strengths
from piste.result.explanation import Explanation

WEIGHT: RGB = (125, 98, 200)
CHARACTERS = 520  # of the text, for each method
SIDE = 124.0  # the column of names
TEXT_LEFT = MARGIN + SIDE
TEXT_WIDTH = WIDTH - TEXT_LEFT - MARGIN
HEAD = 24.0  # below the lines of the headline
TITLE, TITLE_LEADING, TITLE_CHARACTERS = 12.0, 16.0, 68
GAP = 9.0  # between rows
CELL = 25.0  # of the matrix, wide at most; its rows are lower
CELL_HEIGHT = 15.5
COLUMN = 50.0  # of the table of figures
INK, QUIET, RULE = "#000000", "#555555", "#dddddd"
LINE_CHARACTERS = 104


class Canvas:
    """A page measured in points from its upper left corner."""

    def __init__(self, height: float) -> None:
        self.height = height
        self.figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=100, facecolor="white")
        FigureCanvasAgg(self.figure)
        # Notebooks take a figure without axes for an empty one, and show nothing.
        self.figure.add_axes((0, 0, 1, 1), frameon=False, xticks=[], yticks=[], zorder=-1)
        self.points = Affine2D().scale(1 / 72) + self.figure.dpi_scale_trans

    def write(self, x: float, down: float, text: str, **font: object) -> None:
        shown = Text(x, self.height - down, literal(text), parse_math=False, **font)  # type: ignore[arg-type]
        shown.set_transform(self.points)
        self.figure.add_artist(shown)

    def box(self, x: float, down: float, size: tuple[float, float], colour: str) -> None:
        corner = (x, self.height - down - size[1])
        self.figure.add_artist(
            Rectangle(corner, *size, transform=self.points, linewidth=0, facecolor=colour)
        )


def draw(comparison: Comparison, path: str | os.PathLike[str] | None = None) -> Figure:
    """The figure, also written to `path` (.png, .svg or .pdf) when given."""
    return drawn(lambda: _figure(comparison), path)


def _figure(comparison: Comparison) -> Figure:
    parts = said.shared_excerpt(comparison, CHARACTERS)
    rows = {
        name: _lines(explanation, parts) for name, explanation in comparison.explanations.items()
    }
    tall = {name: max(LEADING * len(lines), 2 * LEADING) + GAP for name, lines in rows.items()}
    answer, details = _footnotes(comparison)
    notes, verdict = [*answer, *details], len(answer)
    below = _below(len(rows)) + FOOTNOTE_LEADING * len(notes)
    title = textwrap.wrap(said.headline(comparison), TITLE_CHARACTERS)
    head = TITLE_LEADING * len(title) + HEAD
    canvas = Canvas(MARGIN + head + sum(tall.values()) + below + MARGIN)
    for index, line in enumerate(title):
        at = MARGIN + TITLE_LEADING * index + 12
        canvas.write(MARGIN, at, line, size=TITLE, weight="bold")
    down = MARGIN + head
    _key(canvas, comparison, down - 18)
    for number, (name, lines) in enumerate(rows.items(), start=1):
        _row(canvas, f"{number}  {name}", comparison.explanations[name], lines, down)
        down += tall[name]
    _tables(canvas, comparison, down + 4)
    for index, note in enumerate(notes):
        at = down + _below(len(rows)) + FOOTNOTE_LEADING * index + 8
        canvas.write(MARGIN, at, note, size=8.5, color=INK if index < verdict else QUIET)
    return canvas.figure


def _below(methods: int) -> float:
    """The room of the matrix and the table."""
    return CELL_HEIGHT * (methods + 2) + 22 if methods > 1 else CELL_HEIGHT * 3 + 22


def _lines(explanation: Explanation, parts: Sequence[Segment]) -> list[TextLine]:
    return wrap(pieces(parts, strengths(explanation), Ruler(SIZE)), TEXT_WIDTH)


def _row(
    canvas: Canvas, title: str, explanation: Explanation, lines: Sequence[TextLine], down: float
) -> None:
    canvas.box(MARGIN, down - 1, (WIDTH - 2 * MARGIN, 0.6), RULE)
    canvas.write(MARGIN, down + SIZE + 5, one_line(title, 24), size=8.8, weight="bold")
    canvas.write(MARGIN + 13, down + SIZE + 17, said.spent(explanation), size=7.5, color=QUIET)
    _chips(canvas, explanation, lines, down + 4)
    plain = [[dataclasses.replace(piece, strength=0.0) for piece in line] for line in lines]
    paint(canvas.figure, plain, TEXT_LEFT, canvas.height - down - 4, TEXT_WIDTH)


def _chips(
    canvas: Canvas, explanation: Explanation, lines: Sequence[TextLine], down: float
) -> None:
    """The colours behind the words, placed as `paint` places the words."""
    backwards = runs_left(piece.text for line in lines for piece in line)
    sided = said.has_side(explanation)
    for row, line in enumerate(lines):
        at = TEXT_LEFT
        for piece in line:
            x = 2 * TEXT_LEFT + TEXT_WIDTH - at - piece.width if backwards else at
            if abs(piece.strength) > FAINT:
                size = (piece.width, SIZE + 4)
                canvas.box(x, down + LEADING * row - 1, size, _tint(piece.strength, sided))
            at += piece.width


def _tint(strength: float, sided: bool = True) -> str:
    hue = WEIGHT if not sided else FOR if strength > 0 else AGAINST
    part = min(abs(strength), 1.0) * 0.75
    mixed = (round(a + (b - a) * part) for a, b in zip(WHITE, hue, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _key(canvas: Canvas, comparison: Comparison, down: float) -> None:
    """Under the headline, at the right: what the colours mean."""
    label = words.named(comparison.first.target, 24)
    entries = [("against", _tint(-0.8)), (f"for {label}", _tint(0.8))]
    if not all(map(said.has_side, comparison.explanations.values())):
        entries.append(("weighs, no side", _tint(0.8, sided=False)))
    ruler = Ruler(8.0)
    at = WIDTH - MARGIN
    for text, colour in reversed(entries):
        at -= ruler.width(literal(text))
        canvas.write(at, down + 8, text, size=8, color=QUIET)
        at -= 13
        canvas.box(at, down, (10, 9), colour)
        at -= 12


def _tables(canvas: Canvas, comparison: Comparison, down: float) -> None:
    """The matrix of agreement, and beside it what was measured: the same rows for both."""
    canvas.box(MARGIN, down - 5, (WIDTH - 2 * MARGIN, 0.6), RULE)
    several = len(comparison.explanations) > 1
    if several:
        canvas.write(TEXT_LEFT, down + 9, "rank agreement", size=8, color=QUIET)
    top = down + 14
    for number, name in enumerate(comparison.explanations):
        base = top + CELL_HEIGHT * (number + 1) + 11
        canvas.write(MARGIN, base, one_line(f"{number + 1}  {name}", 24), size=8.3)
        if several:
            _matrix_row(canvas, comparison, number, top)
    if comparison.measured:
        _measured(canvas, comparison, top)


def _cell(comparison: Comparison) -> float:
    """How wide a cell of the matrix can be, with room for the table where there is one."""
    room = TEXT_WIDTH - (3 * COLUMN + 14 if comparison.measured else 0)
    return min(CELL, room / len(comparison.explanations))


def _matrix_row(canvas: Canvas, comparison: Comparison, number: int, top: float) -> None:
    cell = _cell(comparison)
    middle = TEXT_LEFT + cell * (number + 0.5)
    canvas.write(middle, top + 11, str(number + 1), size=8, ha="center", color=QUIET)
    base = top + CELL_HEIGHT * (number + 1)
    for column, value in enumerate(comparison.agreement[number].tolist()):
        x = TEXT_LEFT + cell * column
        known = value == value
        colour = _tint(value if known else 0.0)
        canvas.box(x + 0.6, base + 0.6, (cell - 1.2, CELL_HEIGHT - 1.2), colour)
        canvas.write(x + cell / 2, base + 11, said.share(value), size=cell * 0.3, ha="center")


def _measured(canvas: Canvas, comparison: Comparison, top: float) -> None:
    """The best are bold; ↑ and ↓ say which end is better."""
    left = TEXT_LEFT + _cell(comparison) * len(comparison.explanations) + 14
    for index, column in enumerate(said.columns(comparison)):
        right = left + COLUMN * (index + 1)
        title = column.title.replace(" ", "\n") + (" ↑" if column.higher_is_better else " ↓")
        for up, line in enumerate(reversed(title.split("\n"))):
            canvas.write(right, top + 11 - 9.5 * up, line, size=8, ha="right", color=QUIET)
        for row, (name, shown) in enumerate(column.shown.items()):
            weight = "bold" if name in column.best else "normal"
            base = top + CELL_HEIGHT * (row + 1) + 11
            canvas.write(right, base, shown, size=8.3, ha="right", weight=weight)


def _footnotes(comparison: Comparison) -> tuple[list[str], list[str]]:
    """The lines of the verdict, and of how it was measured."""
    failed = [f"Not compared: {name}. {why}" for name, why in comparison.failed.items()]
    arrows = "↑ higher is better, ↓ lower is better, best in bold; removal error 1 is like "
    how = f"{arrows}predicting no change. {said.measured_how(comparison)}"
    notes = [*([how] if comparison.measured else []), *failed]
    wrapped = [line for note in notes for line in textwrap.wrap(note, LINE_CHARACTERS)]
    return textwrap.wrap(said.verdict(comparison), LINE_CHARACTERS), wrapped
