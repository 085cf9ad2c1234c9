"""Highlighted text in a figure: measured, wrapped, drawn piece by piece. Units are points."""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D

from piste.arrays import FloatArray
from piste.render.clean import visible
from piste.render.fonts import drawable, families, literal
from piste.render.segments import Segment, shade
from piste.render.shades import AGAINST, FOR, RGB, blend, ends, sided
from piste.render.words import named
from piste.result.explanation import Explanation

SIZE = 9.5
LEADING = 15.0
LONGEST = 40  # characters of an unbroken piece
WHITE: RGB = (255, 255, 255)
# Between these no space is needed to begin a new line: kana, Han and full-width signs.
_WIDE = r"\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
_PIECES = re.compile(rf"\n|[^\S\n]+|[{_WIDE}]|[^\s{_WIDE}]{{1,{LONGEST}}}")
KEY_SIZE = 8.0
FAINT = 0.03  # weaker scores are not coloured


@dataclass(frozen=True)
class TextPiece:
    """A run of letters, a run of spaces, or a newline, with the strength of its segment."""

    text: str
    width: float
    strength: float = 0.0
    players: tuple[int, ...] = ()

    @property
    def is_space(self) -> bool:
        return self.text.isspace()


TextLine = list[TextPiece]


class Ruler:
    """Measures text in points."""

    def __init__(self, size: float) -> None:
        self.font = FontProperties(family=families(), size=size)

    def width(self, text: str) -> float:
        return text_to_path.get_text_width_height_descent(text, self.font, ismath=False)[0]


def pieces(parts: Iterable[Segment], shades: FloatArray, ruler: Ruler) -> Iterator[TextPiece]:
    """The parts cut where a line may end or a colour changes."""
    for part in parts:
        strength = shade(part, shades)
        calm = re.sub(r"\n{3,}", "\n\n", visible(part.text)).replace("\t", "    ")
        for text in _PIECES.findall(calm):
            shown = text if text.isspace() else drawable(text)
            width = 0.0 if text == "\n" else ruler.width(shown)
            yield TextPiece(shown, width, strength, part.players)


def wrap(pieces: Iterable[TextPiece], width: float) -> list[TextLine]:
    """Lines no wider than `width`; what has no space in it stays together if it can."""
    lines: list[TextLine] = [[]]
    for cluster in _clusters(pieces):
        if cluster[0].text == "\n":
            lines.append([])
            continue
        if _width(lines[-1]) + _width(cluster) > width and not cluster[0].is_space:
            lines.append([])
        for piece in cluster:
            if lines[-1] and _width(lines[-1]) + piece.width > width:
                lines.append([])
            if lines[-1] or not piece.is_space:
                lines[-1].append(piece)
    return [_trimmed(line) for line in lines]


def _clusters(pieces: Iterable[TextPiece]) -> Iterator[list[TextPiece]]:
    cluster: list[TextPiece] = []
    for piece in pieces:
        if cluster and (piece.is_space or cluster[-1].is_space):
            yield cluster
            cluster = []
        cluster.append(piece)
    if cluster:
        yield cluster


def _width(line: Sequence[TextPiece]) -> float:
    return sum(piece.width for piece in line)


def _trimmed(line: TextLine) -> TextLine:
    end = len(line)
    while end and line[end - 1].is_space:
        end -= 1
    return line[:end]


def paint(
    figure: Figure,
    lines: Sequence[TextLine],
    left: float,
    top: float,
    width: float,
    rooms: Sequence[float] = (),
) -> None:
    """Draw the lines downwards from `top`; `rooms` is the free space above each."""
    bases = baselines(len(lines), top, rooms)
    for base, line in zip(bases, placed(lines, left, width), strict=True):
        for piece, x in line:
            _paint_piece(figure, piece, x, base)


def baselines(count: int, top: float, rooms: Sequence[float] = ()) -> list[float]:
    """Where the letters of each line stand."""
    above = itertools.accumulate(rooms or [0.0] * count)
    return [top - LEADING * row - SIZE - room for row, room in enumerate(above)]


def placed(
    lines: Sequence[TextLine], left: float, width: float
) -> list[list[tuple[TextPiece, float]]]:
    """The pieces of each line and where they begin; right-to-left text starts at the right."""
    backwards = runs_left(piece.text for line in lines for piece in line)
    rows = []
    for line in lines:
        starts = itertools.accumulate((piece.width for piece in line), initial=left)
        rows.append(
            [
                (piece, 2 * left + width - start - piece.width if backwards else start)
                for piece, start in zip(line, starts, strict=False)
            ]
        )
    return rows


def runs_left(texts: Iterable[str]) -> bool:
    kinds = (unicodedata.bidirectional(c) for text in texts for c in text)
    return next((kind in ("R", "AL") for kind in kinds if kind in ("L", "R", "AL")), False)


def _paint_piece(figure: Figure, piece: TextPiece, x: float, base: float) -> None:
    points = Affine2D().scale(1 / 72) + figure.dpi_scale_trans
    if abs(piece.strength) > FAINT:
        chip = Rectangle((x, base - 3), piece.width, SIZE + 4, transform=points, linewidth=0)
        chip.set_facecolor(_hex(blend(WHITE, piece.strength * 0.75)))
        figure.add_artist(chip)
    if not piece.is_space:
        figure.add_artist(
            Text(
                x,
                base,
                piece.text,
                fontproperties=FontProperties(family=families(), size=SIZE),
                parse_math=False,
                transform=points,
            )
        )


def draw_key(figure: Figure, explanation: Explanation, left: float, up: float) -> None:
    """The scale of the colours, with its numbers, at a place in points."""
    points = Affine2D().scale(1 / 72) + figure.dpi_scale_trans
    both = sided(explanation)
    low, high = ends(explanation, explanation.primary)
    ahead = f"for {named(explanation.target, 24)}" if both else "weighs more"
    behind = "against" if both else "weighs less"
    ruler, at = Ruler(KEY_SIZE), left

    def write(text: str, x: float) -> float:
        font = FontProperties(family=families(), size=KEY_SIZE)
        shown = Text(x, up, literal(text), fontproperties=font, parse_math=False, transform=points)
        shown.set_color("#555555")
        figure.add_artist(shown)
        return x + ruler.width(literal(text)) + 5

    at = write(f"{behind}  {low}", at)
    for k in [k for k in range(-4 if both else 1, 5) if k]:
        box = Rectangle((at, up - 1.5), 11, 8.5, transform=points, linewidth=0)
        box.set_facecolor(_hex(blend(WHITE, k / 4 * 0.75)))
        figure.add_artist(box)
        at += 11
    write(f"{high}  {ahead}", at + 5)


def colour(strength: float) -> str:
    """The full colour of a side, as matplotlib takes it."""
    return _hex(FOR if strength > 0 else AGAINST)


def _hex(rgb: RGB) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)
