"""Arcs between the words of a figure that act together. Units are points.

An arc within a line stands above it. One between two lines leaves the upper word downwards, passes
behind the lines between, and reaches the lower word from above. Either way it needs room above the
line where it ends, in levels, so that no two arcs lie on each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Transform

from piste.render.paragraph import SIZE, Ruler, TextLine, baselines, colour, placed
from piste.render.words import signed
from piste.result.parts import Pair

LEVEL = 11.0  # height of an arc above the next lower one; its amount has room there
AIR = 9.0  # between the highest arc and what stands above
FAN = 3.5  # between the feet of arcs on one word
ABOVE, BELOW = SIZE + 1.5, 3.5  # from the base of a line to the ends of its arcs
THIN, THICK = 0.8, 2.6
AMOUNT = 7.0  # size of the letters on an arc
BEHIND = 0.5  # below the colours of the words in the order of drawing
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Spot:
    """Where a word is, or the foot of an arc on it: the line, the middle and the width."""

    row: int
    x: float
    width: float = 0.0


@dataclass(frozen=True)
class Arc:
    """Two words that act together, the upper one first."""

    pair: Pair
    upper: Spot
    lower: Spot
    level: int = 1

    @property
    def amount(self) -> str:
        return signed(self.pair.effect)

    @property
    def span(self) -> float:
        return abs(self.upper.x - self.lower.x)

    @property
    def through(self) -> bool:
        """Whether lines of text lie between the two words."""
        return self.lower.row - self.upper.row > 1

    def curve(self, bases: Sequence[float]) -> Points:
        """The ends and handles of a cubic curve, where the letters of each line stand on `bases`.

        Its middle is three quarters of the way from its ends to its handles.
        """
        foot = bases[self.lower.row] + ABOVE
        within = self.upper.row == self.lower.row
        start = foot if within else bases[self.upper.row] - BELOW
        handle = foot + LEVEL * self.level * (4 / 3 if within else 1)
        x, end = self.upper.x, self.lower.x
        return [(x, start), (x, handle), (end, handle), (end, foot)]


def arcs(pairs: Iterable[Pair], lines: Sequence[TextLine], left: float, width: float) -> list[Arc]:
    """The arcs of the pairs whose two words are shown in the lines."""
    spots = _spots(lines, left, width)
    shown = [pair for pair in pairs if pair.first in spots and pair.second in spots]
    found = []
    for pair in shown:
        ends = [_foot(player, pair, shown, spots) for player in (pair.first, pair.second)]
        upper, lower = sorted(ends, key=lambda spot: spot.row)
        found.append(Arc(pair, upper, lower))
    return _levelled(found)


def _spots(lines: Sequence[TextLine], left: float, width: float) -> dict[int, Spot]:
    """Each player's place: what stands of it in its first line."""
    spots: dict[int, Spot] = {}
    for row, line in enumerate(placed(lines, left, width)):
        edges: dict[int, list[float]] = {}
        for piece, x in line:
            for player in piece.players:
                edges.setdefault(player, []).extend([x, x + piece.width])
        for player, ends in edges.items():
            low, high = min(ends), max(ends)
            spots.setdefault(player, Spot(row, (low + high) / 2, high - low))
    return spots


def _foot(player: int, pair: Pair, pairs: Sequence[Pair], spots: Mapping[int, Spot]) -> Spot:
    """Where the pair's arc stands on the player: side by side with the others, not crossing them.

    From left to right: arcs that come from the left, the shortest first, then those from the right.
    """
    spot = spots[player]

    def order(one: Pair) -> tuple[bool, float]:
        way = spots[one.second if one.first == player else one.first].x - spot.x
        return way > 0, -way

    mine = sorted((one for one in pairs if player in (one.first, one.second)), key=order)
    step = min(FAN, spot.width / len(mine))
    return Spot(spot.row, spot.x + step * (mine.index(pair) - (len(mine) - 1) / 2))


def _levelled(arcs: Sequence[Arc]) -> list[Arc]:
    """The arcs on the lowest levels that keep them apart, short ones below long ones.

    Arcs through other lines only land above theirs, and stay on the first level.
    """
    ruler = Ruler(AMOUNT)
    done: list[tuple[Arc, float, float]] = []
    for arc in sorted((arc for arc in arcs if not arc.through), key=lambda arc: arc.span):
        middle = (arc.upper.x + arc.lower.x) / 2
        half = max(arc.span, ruler.width(arc.amount) + 4) / 2
        low, high = middle - half, middle + half
        taken = [
            other.level
            for other, start, end in done
            if other.lower.row == arc.lower.row and low < end and start < high
        ]
        done.append((replace(arc, level=max(taken, default=0) + 1), low, high))
    return [arc for arc in arcs if arc.through] + [arc for arc, _, _ in done]


def rooms(arcs: Sequence[Arc], count: int) -> list[float]:
    """The free space that the arcs need above each of the lines."""
    levels = [0] * count
    for arc in arcs:
        levels[arc.lower.row] = max(levels[arc.lower.row], arc.level)
    return [AIR + LEVEL * level if level else 0.0 for level in levels]


def draw_arcs(figure: Figure, arcs: Sequence[Arc], top: float, rooms: Sequence[float]) -> None:
    """Draw them where `paint` draws the lines; the stronger, the thicker."""
    bases = baselines(len(rooms), top, rooms)
    strongest = max((abs(arc.pair.effect) for arc in arcs), default=1.0)
    ruler = Ruler(AMOUNT)
    taken: list[tuple[float, float, float]] = []  # centre and half width of the numbers
    for arc in sorted(arcs, key=lambda arc: -abs(arc.pair.effect)):
        width = THIN + (THICK - THIN) * abs(arc.pair.effect) / strongest
        curve = arc.curve(bases)
        x, y, half = *_middle(curve), ruler.width(arc.amount) / 2 + 1
        apart = all(abs(x - a) > half + b or abs(y - c) > AMOUNT + 1 for a, c, b in taken)
        told = apart and not arc.through  # or it would stand on words, or on a stronger arc's
        if told:
            taken.append((x, y, half))
        _draw(figure, arc, curve, width, told)


def _middle(curve: Points) -> tuple[float, float]:
    x, y = ((a + 3 * b + 3 * c + d) / 8 for a, b, c, d in zip(*curve, strict=True))
    return x, y


def _draw(figure: Figure, arc: Arc, curve: Points, width: float, told: bool) -> None:
    points = Affine2D().scale(1 / 72) + figure.dpi_scale_trans
    line = PathPatch(
        Path(curve, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]),
        facecolor="none",
        edgecolor=colour(arc.pair.effect),
        linewidth=width,
        alpha=0.45 if arc.through else 0.8,
        capstyle="round",
        transform=points,
        zorder=BEHIND,
    )
    figure.add_artist(line)
    if told:
        figure.add_artist(_amount(arc, curve, width, points))


def _amount(arc: Arc, curve: Points, width: float, points: Transform) -> Text:
    """The interaction in numbers, on top of the middle of the curve."""
    x, y = _middle(curve)
    return Text(
        x,
        y + width / 2 + 1,
        arc.amount,
        color=colour(arc.pair.effect),
        fontsize=AMOUNT,
        ha="center",
        va="baseline",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        transform=points,
    )
