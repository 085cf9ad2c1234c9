"""A summary as one HTML page that needs nothing else: tables that sort, search and open."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from piste.errors import several
from piste.render import words as said
from piste.render.chart import Chart, scatter
from piste.render.clean import one_line, visible
from piste.render.corpus import headline, notes, of_checked
from piste.render.corpus_left_out import rare_words
from piste.render.corpus_meanings import MARKS, MEANINGS
from piste.render.corpus_tables import (
    PageTable,
    one_side,
    page_tables,
    speaking,
)
from piste.render.html import assets, framed, level, policy_of
from piste.render.intervals import IntervalChart, Measure, fitting, intervals
from piste.result.explanation import Player, Row
from piste.result.parts import SURE
from piste.runs.excerpts import Excerpt
from piste.runs.word_summary import LISTED, SPURIOUS_TEXTS, Summary
from piste.runs.word_tally import Word

EXAMPLE_BYTES = 2_800_000  # of all example texts of a page
NOTEBOOK_ROWS = 100
FRAME_HEIGHT = 900
BARS = 10  # words on each side
POINTS, NAMED = 300, 18
DRAWN_CLASSES = 8
WIDE, NARROW = 540.0, 340.0
HEIGHT = 430.0
STRONG = 0.98  # quantile of the strengths that gets the full colour: one outlier does not


@dataclass(frozen=True)
class Drawing:
    """The charts of one class, or of all together (label None)."""

    number: int | None
    label: str
    bars: list[tuple[str, IntervalChart]]
    plane: list[tuple[str, Chart]]


def page(summary: Summary, most: int = LISTED) -> str:
    """A complete document: no network, no foreign script, whatever the texts contain."""
    environment, css, script = sources()
    scale = colour_scale(summary)
    tables = page_tables(summary, most, scale)
    examples, without = packed(tables, scale)
    used = {name for table in tables for name in table.columns}
    return environment.get_template("corpus.html.j2").render(
        summary=summary,
        said=said,
        title=headline(summary),
        checked=of_checked(summary),
        findings=findings(summary),
        notes=notes(summary),
        least=summary.least,
        rare_words=rare_words(summary),
        css=Markup(css),
        script=Markup(script),
        policy=policy_of(css, script),
        tables=tables,
        labels=[one_line(label) for label in summary.labels] if len(summary.labels) > 1 else [],
        one_side=one_side(summary),
        marks={mark: told for mark, told in MARKS.items() if _is_marked(tables, mark)},
        meanings={name: meaning for name, meaning in MEANINGS.items() if name in used},
        drawings=drawings(summary),
        sides=sides(summary),
        data=script_data(examples),
        without=without,
        scale=scale,
    )


def sides(summary: Summary) -> str:
    """For what scores above 0 speak, as a sentence; empty where there is one number only."""
    if summary.mirrored:
        last, first = (f"“{one_line(label)}”" for label in reversed(summary.labels))
        return f"Scores above 0 speak for {last}, below 0 for {first}."
    if len(summary.labels) < 2:
        return ""
    if summary.side is not None:
        return f"Scores above 0 speak for “{one_line(summary.side)}”, below 0 against."
    return (
        "A word is listed once for each class that its texts were explained for: scores above 0"
        " speak for that class."
    )


def fragment(summary: Summary) -> str:
    """The page with fewer rows, in a frame of its own, for a notebook."""
    return framed(page(summary, NOTEBOOK_ROWS), headline(summary), FRAME_HEIGHT)


@functools.cache
def sources(*more: str) -> tuple[Environment, str, str]:
    """The environment of all pages, the style of reports with what one adds, and their script."""
    environment, css, _ = assets()
    loader = environment.loader
    assert loader is not None
    read = functools.partial(loader.get_source, environment)
    own = "".join(read(f"{one}.css")[0] for one in ("report", *more))
    return environment, css + own, read("tables.js")[0]


def colour_scale(summary: Summary) -> float:
    """The strength that gets the full colour."""
    strengths = [abs(word.strength) for word in summary.words if word.texts >= summary.least]
    return float(np.quantile(strengths, STRONG)) if strengths else 1.0


def _is_marked(tables: Iterable[PageTable], mark: str) -> bool:
    return any(mark in row.marks for table in tables for row in table.rows)


def findings(summary: Summary) -> list[str]:
    """What the tables show, in a few sentences."""
    told = []
    labels = summary.labels if summary.mirrored else ()
    for label in reversed(labels):
        words = speaking(summary, label)
        if words:
            told.append(f"Strongest for “{one_line(label)}”: {said.listed(words)}.")
    if summary.mistakes:
        told.append(_wrong(summary))
    spurious = summary.spurious()
    if spurious:
        names = said.listed([one_line(word.word, 20) for word in spurious[:5]])
        told.append(
            f"Possibly spurious: {names}. They weigh heavily, but the labels of the texts with them"
            f" are like those of other texts (words in at least {SPURIOUS_TEXTS} labelled texts)."
        )
    return told


def _wrong(summary: Summary) -> str:
    """How many predictions are wrong, and the words that decided several of them."""
    mistakes = sum(one.texts for one in summary.mistakes)
    if mistakes == 1:
        return "1 wrong prediction."
    decided = Counter[str]()  # of three classes or more a word is listed for each
    for word in summary.spoiling():
        decided[word.word] += word.wrong
    several = [(word, count) for word, count in decided.most_common(3) if count > 1]
    if not several:
        return f"{mistakes:,} wrong predictions; no word decided more than one of them."
    names = [f"{one_line(word, 20)} ({count:,})" for word, count in several]
    return f"{mistakes:,} wrong predictions, most often decided by {said.listed(names)}."


def packed(tables: Sequence[PageTable], scale: float) -> tuple[dict[str, list[Any]], int]:
    """The example texts of each row, by table, and how many rows had no room for theirs."""
    left, without = EXAMPLE_BYTES, 0
    by_table: dict[str, list[Any]] = {table.key: [] for table in tables}
    for table in reversed(tables):  # words, of which there are most, come last
        for row in table.rows:
            shown = [_packed(excerpt, scale) for excerpt in row.examples]
            size = len(script_data(shown).encode())
            fits = size <= left
            left -= size if fits else 0
            without += not fits
            by_table[table.key].append(shown if fits else [])
    return by_table, without


def _packed(excerpt: Excerpt, scale: float) -> list[Any]:
    """Name, prediction, whether that is wrong, and the text: strings, or [string, level, mark]."""
    told: list[Any] = []
    for text, score, marked in excerpt.pieces:
        strength = level(max(-1.0, min(1.0, score / scale))) if scale > 0 else 0
        shown = visible(text).replace("\n", " ")
        if strength or marked:
            told.append([shown, strength if score > 0 else -strength, int(marked)])
        elif told and isinstance(told[-1], str):
            told[-1] += shown
        else:
            told.append(shown)
    return [one_line(excerpt.id, 60), _decision(excerpt), int(excerpt.wrong), told]


def _decision(excerpt: Excerpt) -> str:
    """ "predicted positive (98 %), labelled negative"; where that is not known, what it is for."""
    sure = "" if excerpt.probability is None else f" ({said.percent(excerpt.probability)})"
    label = "" if excerpt.label is None else f", labelled {one_line(excerpt.label, 30)}"
    what = "predicted" if excerpt.decided else "explained for"
    return f"{what} {one_line(excerpt.predicted, 30)}{sure}{label}"


def _compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def script_data(data: Any) -> Markup:
    """JSON that cannot end its script element. Letters stay letters: escapes take more room."""
    text = _compact(data)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def drawings(summary: Summary) -> list[Drawing]:
    """The charts of all words; of more than two labels, those of each class."""
    if one_side(summary):
        return [_drawing(None, summary.side or "", summary.strongest())]
    frequent = sorted(summary.classes, key=lambda one: -one.predicted)[:DRAWN_CLASSES]
    names = [one.label for one in frequent] or list(summary.labels[:DRAWN_CLASSES])
    chosen = [
        (summary.labels.index(name), side, summary.strongest(side))
        for name in names
        for side in _told_for(name, summary)
    ]
    return [_drawing(*one) for one in chosen[:DRAWN_CLASSES] if one[2]]


def _told_for(label: str, summary: Summary) -> list[str]:
    """What the words of a label are told for: its contrasts, or the label itself."""
    return [side for side, of in summary.sides.items() if of == label] or [label]


def _drawing(number: int | None, label: str, words: Sequence[Word]) -> Drawing:
    sides = ([w for w in words if w.strength > 0], [w for w in words if w.strength < 0])
    chosen = sorted((w for side in sides for w in side[:BARS]), key=lambda word: -word.strength)
    rows = [_row(word) for word in words[:POINTS]]
    return Drawing(
        number,
        one_line(label),
        [
            (kind, intervals([_measure(w, width) for w in chosen], width, from_zero=True))
            for kind, width in (("wide", WIDE), ("narrow", NARROW))
        ],
        [
            ("wide", scatter(rows, WIDE, HEIGHT, NAMED)),
            ("narrow", scatter(rows, NARROW, NARROW, NAMED // 2)),
        ],
    )


def _measure(word: Word, width: float) -> Measure:
    error = SURE * (word.effect_error or 0.0)
    strength = word.strength
    return Measure(
        fitting(one_line(word.word, 22), width),
        strength,
        strength - error,
        strength + error,
        said.signed(strength),
        "f" if strength > 0 else "a",
        f"{one_line(word.word)}: {said.signed(strength)}, {several(word.texts, 'text')}",
    )


def _row(word: Word) -> Row:
    """The word as a row of a chart."""
    scores = {"value": word.value, "importance": word.importance, "strength": word.strength}
    return Row(Player(word.word, 0, len(word.word), (), 0), word.texts, scores, {})
