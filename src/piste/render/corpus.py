"""A summary by words: tables in a terminal, an HTML page, and a scatter plot."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from rich.text import Text

from piste.errors import few
from piste.render.clean import one_line, visible
from piste.render.figure import drawn, literal, saved
from piste.render.html import assets
from piste.render.placement import Box
from piste.render.plain import captured
from piste.render.words import give_or_take, percent, signed
from piste.runs.pair_summary import WordPair
from piste.runs.shards import MOST_PAIRS
from piste.runs.word_summary import FEW_TEXTS, Summary
from piste.runs.word_tally import Word

SHOWN = 12  # rows of a table in a terminal
ON_PAGE = 300
TRIED, NAMED = 200, 60  # points of the figure that may have a name, and that do
POINTS = 20_000
FOR, AGAINST = "#1f77d6", "#de6800"
SECTIONS = (
    ("Strongest", "by the mean of the {score}", "strongest"),
    ("On both sides", "the sign changes with the text", "turning"),
    ("Deciding wrong predictions", "the strongest word for a wrong label", "spoiling"),
    ("Spurious candidates", "heavy, but the labels of the data know nothing of them", "spurious"),
)
TOGETHER = (
    "Words that act together",
    "what two words do beyond what each does, where they are among the {most} strongest pairs",
)
MEANINGS = {
    "effect": "what the word contributes to the score in its texts, the mean",
    "lin": "value × e^importance, the mean over the texts",
    "flips": "share of the occurrences on the other side than the mean",
    "lift": "how much more often the texts with the word have the label in the data, in points",
    "wrong": "wrong predictions for which it is the strongest word",
    "together": "the interaction, the mean over these texts; below 0 they say less together",
}


def headline(summary: Summary) -> str:
    """What was summarised, in one line."""
    right = "" if summary.right is None else f", {percent(summary.right)} right"
    failed = f", {summary.failed:,} failed" if summary.failed else ""
    words = f"{len(summary.words):,} words of {summary.texts:,} texts"
    side = f"; values speak for “{one_line(summary.labels[-1])}”" if _one_side(summary) else ""
    return f"{words}, {summary.model}{right}{failed}{side}"


def notes(summary: Summary) -> list[str]:
    """Caveats to read before the tables."""
    tables = []
    if not summary.ended:
        tables.append(
            "The run has not ended: these are the texts so far. The same `piste run` goes on."
        )
    if summary.strange:
        names = few([one_line(name, 30) for name in summary.strange], 5)
        tables.append(
            f"The model does not know these labels of the data: {names}. Its own are"
            f" {few([one_line(name, 30) for name in summary.labels], 5)}."
        )
    return tables


def legend(header: Sequence[str]) -> list[str]:
    """What the columns that need it mean."""
    return [f"{name}: {MEANINGS[name]}" for name in header if name in MEANINGS]


def _one_side(summary: Summary) -> bool:
    """Whether all values are towards the same label."""
    return len(summary.labels) <= 2


@dataclass(frozen=True)
class Section:
    """A table: what it holds, its header and rows as text, and how many there are in all."""

    title: str
    why: str
    rows: list[list[str]]
    count: int


def sections(summary: Summary, most: int) -> list[Section]:
    """The tables that have rows, each with `most` of them."""
    least = FEW_TEXTS if summary.texts >= 10 * FEW_TEXTS else 1
    in_context = any(word.effect is not None for word in summary.words)
    score = "effect" if in_context else MEANINGS["lin"].split(",")[0]
    chosen = {
        "strongest": summary.strongest(least=least),
        "turning": summary.turning(),
        "spoiling": summary.spoiling(),
        "spurious": summary.spurious(),
    }
    one_side = _one_side(summary)
    tables = [
        Section(
            title,
            why.format(score=score),
            rows([cells(word) for word in chosen[key][:most]], one_side=one_side),
            len(chosen[key]),
        )
        for title, why, key in SECTIONS
        if chosen[key]
    ]
    pairs = summary.together(least=min(least, 2))
    if pairs:
        title, why = TOGETHER
        listed = rows([pair_cells(pair) for pair in pairs[:most]], one_side=one_side)
        tables.insert(1, Section(title, why.format(most=MOST_PAIRS), listed, len(pairs)))
    return tables


def show(summary: Summary, console: Console | None = None) -> None:
    """The tables, strongest words first."""
    console = console or Console()
    console.print(Text(visible(headline(summary)), "bold"))
    for note in notes(summary):
        console.print(Text(visible(f"! {note}"), "yellow"))
    explained: dict[str, None] = {}
    for section in sections(summary, SHOWN):
        console.print()
        console.print(Text(f"{section.title}: {section.why}"))
        console.print(_table(section.rows))
        explained |= dict.fromkeys(legend(section.rows[0]))
    console.print()
    for line in explained:
        console.print(Text(line, "dim"))


def as_text(summary: Summary) -> str:
    """The same as plain text."""
    return captured(lambda console: show(summary, console))


def _table(lines: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for name in lines[0]:
        side = name in ("word", "words", "towards")
        table.add_column(name, justify="left" if side else "right", no_wrap=True)
    for row in lines[1:]:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def rows(listed: Sequence[Mapping[str, str]], *, one_side: bool) -> list[list[str]]:
    """A header and the rows, without columns that say nothing."""
    told = {name for row in listed for name, cell in row.items() if cell}
    names = [name for name in listed[0] if name in told and not (one_side and name == "towards")]
    return [names, *([row[name] for name in names] for row in listed)]


def cells(word: Word) -> dict[str, str]:
    """A word's row by column."""
    return {
        "word": one_line(word.word, 16),
        "towards": one_line(word.label, 12),
        "texts": f"{word.texts:,}",
        "effect": ""
        if word.effect is None or word.effect_error is None
        else f"{signed(word.effect)} {give_or_take(word.effect_error)}",
        "value": f"{signed(word.value)} {give_or_take(word.value_error)}",
        "importance": f"{signed(word.importance)} {give_or_take(word.importance_error)}",
        "lin": signed(word.lin) if word.effect is None else "",
        "flips": percent(word.flips) if word.flips else "",
        "lift": "" if word.lift is None else f"{100 * word.lift:+.0f}".replace("-", "−"),
        "wrong": f"{word.wrong:,}" if word.wrong else "",
    }


def pair_cells(pair: WordPair) -> dict[str, str]:
    """A pair's row by column."""
    return {
        "words": f"{one_line(pair.first, 16)} + {one_line(pair.second, 16)}",
        "towards": one_line(pair.label, 12),
        "texts": f"{pair.texts:,}",
        "together": f"{signed(pair.effect)} {give_or_take(pair.error)}",
    }


def page(summary: Summary) -> str:
    """One self-contained HTML page."""
    environment, css, _ = assets()
    tables = sections(summary, ON_PAGE)
    used = {name for section in tables for name in section.rows[0]}
    return environment.get_template("corpus.html.j2").render(
        css=Markup(css),
        title=headline(summary),
        notes=notes(summary),
        meanings={name: meaning for name, meaning in MEANINGS.items() if name in used},
        picture=Markup(base64.b64encode(saved(draw(summary), ".png")).decode()),
        sections=[(one.title, one.why, one.rows, one.count) for one in tables],
    )


def draw(summary: Summary, path: str | os.PathLike[str] | None = None) -> Figure:
    """Value × importance of all words; the strongest have names."""
    return drawn(lambda: _figure(summary), path)


def _name(axes: Axes, words: Sequence[Word]) -> None:
    """Label the strongest words without overlaps; those without room stay unlabelled."""
    taken: list[Box] = []
    for word in words[:TRIED]:
        name = one_line(word.word, 20)
        x, y = axes.transData.transform((word.value, word.importance)) * 72 / axes.figure.dpi
        box = Box(x + 3, y + 2, x + 3 + 4.2 * len(name), y + 10)
        if len(taken) < NAMED and not any(box.overlaps(other) for other in taken):
            taken.append(box)
            at = (word.value, word.importance)
            axes.annotate(literal(name), at, (3, 2), textcoords="offset points", fontsize=7)


def _figure(summary: Summary) -> Figure:
    words = summary.strongest()[:POINTS]
    values, weights = (
        np.array([getattr(word, name) for word in words]) for name in ("value", "importance")
    )
    sizes = 4 + 3 * np.log1p(np.array([word.texts for word in words]))
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots()
    colours = np.where(values > 0, FOR, AGAINST)
    axes.scatter(values, weights, s=sizes, c=colours, alpha=0.45, linewidths=0)
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.axhline(0, color="0.5", linewidth=0.8)
    _name(axes, words)
    label = summary.labels[-1] if len(summary.labels) == 2 else "the label"
    axes.set_xlabel(literal(f"value: for {one_line(label)} →"))
    axes.set_ylabel("importance: weighs more →")
    axes.set_title(literal(one_line(headline(summary), 110)), fontsize=9)
    return figure
