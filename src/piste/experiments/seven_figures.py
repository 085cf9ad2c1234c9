"""The seven explanations drawn: highlighted words, and squares of rank correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from piste.experiments.single_layer_imdb import Sentence
from piste.explanation import FloatArray
from piste.render.comparison_figure import RULE, WEIGHT, Canvas
from piste.render.comparison_words import share
from piste.render.figure import house_style, literal
from piste.render.paragraph import FAINT, LEADING, SIZE, WHITE, Line, Piece, Ruler, wrap
from piste.render.shades import AGAINST, FOR, RGB
from piste.theory.seven import NAMES, SIGNED

Scores = Mapping[str, FloatArray]  # by explanation, one for each word
LEFT, MARGIN, WIDTH, GAP = 64.0, 10.0, 518.0, 8.0  # points
TEXT = WIDTH - LEFT - MARGIN


def shown(name: str) -> str:
    """The name as the paper writes it."""
    return {"alpha-avg": "α-avg", "alpha-max": "α-max", "GxI": "G×I"}.get(name, name)


def highlights(scores: Scores, sentence: Sentence) -> Figure:
    """One row of highlighted words an explanation, each scaled by its strongest word."""
    with house_style():
        rows = {name: wrap(_pieces(scores[name], sentence), TEXT) for name in NAMES}
        heights = {name: LEADING * len(lines) + GAP for name, lines in rows.items()}
        canvas = Canvas(2 * MARGIN + sum(heights.values()) + 16)
        down = MARGIN
        for name, lines in rows.items():
            _row(canvas, name, lines, down)
            down += heights[name]
        _key(canvas, down + 4)
    return canvas.figure


def _pieces(scores: FloatArray, sentence: Sentence) -> list[Piece]:
    """The text cut into words, with strengths from -1 to 1, and the spaces between them."""
    ruler, top = Ruler(SIZE), float(np.abs(scores).max()) or 1.0
    space = Piece(" ", ruler.width("x x") - ruler.width("xx"))
    found: list[Piece] = []
    at = 0
    for token, score in zip(sentence.tokens, scores, strict=True):
        start = sentence.text.index(token, at)
        if start > at and found:
            found.append(space)
        word = literal(token)
        found.append(Piece(word, ruler.width(word), float(score) / top))
        at = start + len(token)
    return found


def _row(canvas: Canvas, name: str, lines: Sequence[Line], down: float) -> None:
    canvas.box(MARGIN, down - 1, (WIDTH - 2 * MARGIN, 0.6), RULE)
    canvas.write(MARGIN, down + SIZE + 4, shown(name), size=9, weight="bold")
    for number, line in enumerate(lines):
        at, top = LEFT, down + 3 + LEADING * number
        for piece in line:
            if abs(piece.strength) > FAINT:
                tint = _tint(piece.strength, name in SIGNED)
                canvas.box(at, top, (piece.width, SIZE + 3), tint)
            canvas.write(at, top + SIZE, piece.text, size=SIZE)
            at += piece.width


def _key(canvas: Canvas, down: float) -> None:
    at, ruler = LEFT, Ruler(8.0)
    entries = (
        ("speaks for positive", _tint(0.8, True)),
        ("speaks for negative", _tint(-0.8, True)),
        ("weighs, has no side", _tint(0.8, False)),
    )
    for said, colour in entries:
        canvas.box(at, down, (10, 9), colour)
        canvas.write(at + 14, down + 8, said, size=8, color="#555555")
        at += 14 + ruler.width(said) + 18


def _tint(strength: float, sided: bool) -> str:
    """Blue for, orange against, violet where there is no side."""
    hue: RGB = WEIGHT if not sided else FOR if strength > 0 else AGAINST
    part = min(abs(strength), 1.0) * 0.75
    mixed = (round(a + (b - a) * part) for a, b in zip(WHITE, hue, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def matrices(sentence: FloatArray, reviews: FloatArray, texts: int) -> Figure:
    """Rank correlations of the sentence, and their means over so many reviews."""
    with house_style():
        figure = Figure(figsize=(9.6, 4.4), layout="constrained")
        one, many = figure.subplots(1, 2)
        _square(one, sentence, "the sentence")
        image = _square(many, reviews, f"mean over {texts:,} test reviews")
        figure.colorbar(image, ax=(one, many), label="Spearman's rank correlation", pad=0.02)
    return figure


def _square(axes: Axes, table: FloatArray, title: str) -> AxesImage:
    image = axes.imshow(table, cmap="PuOr", vmin=-1, vmax=1)
    names = [shown(name) for name in NAMES]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set_title(title, fontsize=10)
    for row, column in np.ndindex(*table.shape):
        value = float(table[row, column])
        colour = "white" if abs(value) > 0.7 else "black"
        axes.text(column, row, share(value), ha="center", va="center", fontsize=8, color=colour)
    return image
