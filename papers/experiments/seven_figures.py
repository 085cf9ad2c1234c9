"""The seven explanations drawn: highlighted words, and squares of rank correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from papers.arrays import FloatArray
from papers.experiments.single_layer_imdb import Sentence
from papers.theory.closed_forms import EXPLANATIONS, SIGNED
from piste.render import house_style, literal

Scores = Mapping[str, FloatArray]  # by explanation, one for each word
LEFT, MARGIN, WIDTH, GAP = 64.0, 10.0, 518.0, 8.0  # points
SIZE, LEADING = 9.5, 15.0  # of the text
FAINT = 0.03  # weaker scores are not coloured
WHITE, FOR, AGAINST, WEIGHT = (255, 255, 255), (31, 119, 214), (222, 104, 0), (125, 98, 200)
RULE, QUIET = "#dddddd", "#555555"


def shown(name: str) -> str:
    """The name as the paper writes it."""
    return {"alpha-avg": "α-avg", "alpha-max": "α-max", "GxI": "G×I"}.get(name, name)


def correlation(value: float) -> str:
    """A correlation, short: 0.83, −0.10, – where there is none."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.2f}".replace("-", "−")
    return "0.00" if text == "−0.00" else text


@dataclass(frozen=True)
class Word:
    """A word of the sentence where a row of highlights shows it."""

    text: str
    line: int
    left: float  # points from the left edge
    width: float
    strength: float  # -1 to 1


def highlights(scores: Scores, sentence: Sentence) -> Figure:
    """One row of highlighted words an explanation, each scaled by its strongest word."""
    with house_style():
        rows = {name: _words(scores[name], sentence) for name in EXPLANATIONS}
        lines = 1 + rows[EXPLANATIONS[0]][-1].line
        height = 2 * MARGIN + len(rows) * (LEADING * lines + GAP) + 16
        figure, axes = _page(height)
        down = MARGIN
        for name, words in rows.items():
            _row(axes, name, words, down)
            down += LEADING * lines + GAP
        _key(axes, down + 4)
    return figure


def _page(height: float) -> tuple[Figure, Axes]:
    """An empty page whose axes are measured in points from its upper left corner."""
    figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=100, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), frameon=False, xticks=[], yticks=[])
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    return figure, axes


def _words(scores: FloatArray, sentence: Sentence) -> list[Word]:
    """The words one after the other, on a new line where one does not fit."""
    top = float(np.abs(scores).max()) or 1.0
    space = _width("x x") - _width("xx")
    words: list[Word] = []
    line, left, read = 0, LEFT, 0
    for token, score in zip(sentence.tokens, scores, strict=True):
        start = sentence.text.index(token, read)
        text, gap = literal(token), space if start > read and words else 0.0
        if left + gap + _width(text) > WIDTH - MARGIN:
            line, left, gap = line + 1, LEFT, 0.0
        words.append(Word(text, line, left + gap, _width(text), float(score) / top))
        left, read = left + gap + _width(text), start + len(token)
    return words


def _width(text: str, size: float = SIZE) -> float:
    font = FontProperties(size=size)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]


def _row(axes: Axes, name: str, words: Sequence[Word], down: float) -> None:
    _box(axes, MARGIN, down - 1, (WIDTH - 2 * MARGIN, 0.6), RULE)
    _write(axes, MARGIN, down + SIZE + 4, shown(name), 9, weight="bold")
    for word in words:
        top = down + 3 + LEADING * word.line
        if abs(word.strength) > FAINT:
            tint = _tint(word.strength, name in SIGNED)
            _box(axes, word.left, top, (word.width, SIZE + 3), tint)
        _write(axes, word.left, top + SIZE, word.text, SIZE)


def _key(axes: Axes, down: float) -> None:
    left = LEFT
    entries = (
        ("speaks for positive", _tint(0.8, True)),
        ("speaks for negative", _tint(-0.8, True)),
        ("weighs, has no side", _tint(0.8, False)),
    )
    for label, colour in entries:
        _box(axes, left, down, (10, 9), colour)
        _write(axes, left + 14, down + 8, label, 8, color=QUIET)
        left += 14 + _width(label, 8) + 18


def _box(axes: Axes, left: float, top: float, size: tuple[float, float], colour: str) -> None:
    axes.add_patch(Rectangle((left, top), *size, linewidth=0, facecolor=colour))


def _write(axes: Axes, left: float, down: float, text: str, size: float, **font: str) -> None:
    axes.text(left, down, text, fontsize=size, parse_math=False, **font)  # type: ignore[arg-type]


def _tint(strength: float, sided: bool) -> str:
    """Blue for, orange against, violet where there is no side."""
    hue = WEIGHT if not sided else FOR if strength > 0 else AGAINST
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
    names = [shown(name) for name in EXPLANATIONS]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set_title(title, fontsize=10)
    for row, column in np.ndindex(*table.shape):
        value = float(table[row, column])
        colour = "white" if abs(value) > 0.7 else "black"
        axes.text(
            column, row, correlation(value), ha="center", va="center", fontsize=8, color=colour
        )
    return image
