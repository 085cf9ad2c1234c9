"""The axes of an explanation's figure: the waterfall, the strongest players, the plane."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from piste.render import waterfall, words
from piste.render.chart import spread
from piste.render.clean import one_line, shorten
from piste.render.fonts import literal
from piste.render.paragraph import Ruler, colour
from piste.render.placement import Box, Point, place
from piste.render.shades import sided
from piste.render.waterfall import Step
from piste.result.explanation import Explanation, Row

POINTS = 400
LABELS = 25
ERRORS = 12  # of the strongest; more bars than that hide the picture
LABEL_SIZE = 8.5
LABEL = 24  # characters of a name beside a bar
LABEL_ROOM = 15.0  # points of an axis for each character of the label that it names
LEADER = 8.0  # points from which on a label needs a line to its point
LEAST = 0.001  # of the axis: a smaller step or error counts as 0
OTHERS = "#b4b8bf"  # the bar of all words that have none of their own


def draw_waterfall(axes: Axes, explanation: Explanation) -> None:
    """From the score of the empty text to that of the whole one, a bar a player."""
    steps = _all_steps(explanation)
    reach = [step.start for step in steps]
    reach += [step.end + sign * (step.error or 0.0) for step in steps for sign in (-1, 1)]
    low, high = spread(reach, margin=0.03)
    for row, step in enumerate(steps):
        outer = row in (0, len(steps) - 1)
        _step(axes, row, step, outer)
        _beside(axes, row, shorten(step.label, LABEL), -6, outer)
        _beside(axes, row, _amount(step, outer, high - low), 6, outer)
        if row + 1 < len(steps):
            axes.plot([step.end] * 2, [row, row + 1], color="#999999", linewidth=0.6, zorder=1)
    axes.axvline(0, color="#999999", linewidth=0.8, zorder=0)
    axes.set_xlim(low, high)
    axes.set_ylim(len(steps) - 0.4, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    scale = words.score_of(explanation.target).rsplit(" ", 1)[0]
    axes.set_xlabel(literal(f"{words.named(explanation.target)}: {scale}"), parse_math=False)


def _all_steps(explanation: Explanation) -> list[Step]:
    steps = waterfall.steps(explanation)
    paired = explanation.second is not None
    first = Step("empty texts" if paired else "empty text", steps[0].start, steps[0].start)
    score = explanation.target.score
    return [first, *steps, Step("both texts" if paired else "whole text", score, score)]


def _step(axes: Axes, row: int, step: Step, outer: bool) -> None:
    if outer:
        axes.plot([step.end], [row], "o", color="black", markersize=4, zorder=3)
        return
    fill = OTHERS if step.group is None else colour(step.change)
    axes.barh(row, step.change, left=step.start, color=fill, height=0.68, zorder=2)
    if step.error:
        axes.errorbar(
            step.end,
            row,
            xerr=step.error,
            fmt="none",
            ecolor="#333333",
            elinewidth=0.8,
            capsize=1.8,
            zorder=3,
        )


def _amount(step: Step, outer: bool, reach: float) -> str:
    """The number at the right; reach: of the axis, beside which tiny ones are nothing."""
    least = LEAST * reach
    if outer:
        return words.signed(step.end if abs(step.end) >= least else 0.0)
    change = step.change if abs(step.change) >= least else 0.0
    if step.error is None or step.error < least:
        return words.signed(change)
    return f"{words.signed(change)} {words.give_or_take(step.error, reach)}"


def _beside(axes: Axes, row: int, text: str, away: float, outer: bool) -> None:
    """Text left (`away` below 0) or right of the axes."""
    axes.annotate(
        literal(text),
        (0.0 if away < 0 else 1.0, row),
        xycoords=("axes fraction", "data"),
        xytext=(away, 0),
        textcoords="offset points",
        ha="right" if away < 0 else "left",
        va="center",
        fontsize=LABEL_SIZE,
        fontweight="bold" if outer else "normal",
        parse_math=False,
        annotation_clip=False,
    )


def gutters(explanation: Explanation) -> tuple[float, float]:
    """The room in points that a waterfall needs for names at its left and amounts at its right."""
    ruler, steps = Ruler(LABEL_SIZE), _all_steps(explanation)
    names = [ruler.width(literal(shorten(step.label, LABEL))) for step in steps]
    amounts = [ruler.width(_amount(step, False, 0.0)) for step in steps]
    return 1.12 * max(names) + 8, 1.12 * max(amounts) + 8


def draw_plane(axes: Axes, explanation: Explanation) -> None:
    """Value to the right, importance upwards."""
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
    points, (width, height) = _in_points(axes, rows), axes_size(axes)
    names = [literal(one_line(row.name, 28)) for row in rows[:LABELS]]
    sizes = [(ruler.width(name) + 2, LABEL_SIZE * 1.3) for name in names]
    boxes = place(points[:LABELS], sizes, points, Box(0, 0, width, height))
    for row, name, point, box in zip(rows, names, points, boxes, strict=False):
        if box is not None:
            _name_point(axes, _position(row), name, box.moved(-point[0], -point[1]))


def _in_points(axes: Axes, rows: Sequence[Row]) -> list[Point]:
    """Where the rows lie inside the axes, in points from their lower left corner."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    width, height = axes_size(axes)
    return [
        ((x - left) / (right - left) * width, (y - low) / (high - low) * height)
        for x, y in map(_position, rows)
    ]


def axes_size(axes: Axes) -> Point:
    """Width and height of the axes in points."""
    figure = axes.figure
    assert figure is not None
    return float(axes.bbox.width * 72 / figure.dpi), float(axes.bbox.height * 72 / figure.dpi)


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


def draw_bars(axes: Axes, explanation: Explanation, most: int) -> None:
    """The strongest players, a bar each."""
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
    limit = round(axes_size(axes)[0] / LABEL_ROOM)
    name = one_line(words.named(explanation.target, limit), 2 * limit)
    return f"← {left},  {right} {literal(name)} →"


def _with_room(low: float, high: float) -> tuple[float, float]:
    """Room for names on both sides of zero, even if all bars point one way."""
    return min(low, -0.3 * high), max(high, -0.3 * low)


def _name_bar(axes: Axes, index: int, row: Row, name: str) -> None:
    """The name on the empty side of zero, where there is always room."""
    against = row.scores[name] < 0
    axes.annotate(
        literal(one_line(row.name, 28)),
        (0, index),
        xytext=(5 if against else -5, 0),
        textcoords="offset points",
        ha="left" if against else "right",
        va="center",
        fontsize=LABEL_SIZE,
        parse_math=False,
    )
