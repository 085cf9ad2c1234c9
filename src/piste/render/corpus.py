"""A summary by words: tables in a terminal, and a scatter plot."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from rich.text import Text

from piste.errors import few, several
from piste.render.clean import one_line, shorten, visible
from piste.render.corpus_left_out import rare_pairs, rare_words
from piste.render.corpus_meanings import MEANINGS
from piste.render.corpus_tables import (
    TableRow,
    joiner_row,
    pair_row,
    word_row,
)
from piste.render.figure import drawn, literal
from piste.render.placement import Box
from piste.render.plain import captured
from piste.render.words import counted
from piste.runs.word_summary import SPURIOUS_TEXTS, Summary
from piste.runs.word_tally import Word

SHOWN = 12  # rows of a table in a terminal
NAME = 24  # characters of a word, or of a pair
TRIED, NAMED = 200, 60  # points of the figure that may have a name, and that do
POINTS = 20_000
FOR, AGAINST = "#1f77d6", "#de6800"
SECTIONS = (
    ("Strongest", "by the mean of the {score}", "strongest"),
    (
        "On both sides",
        "the sign changes with the text, and the effect is felt on both sides",
        "turning",
    ),
    ("Deciding wrong predictions", "the strongest word for a wrong label", "spoiling"),
    (
        "Spurious candidates",
        "they weigh heavily, but the labels of the texts with them are like those of other texts"
        " (words in at least {spurious} labelled texts)",
        "spurious",
    ),
)
TOGETHER = (
    "Words that act together",
    "what two words do beyond what each does, over all texts with both",
)
ACTING = ("Words that act with others", "with whichever word, in how many texts beyond chance")


def headline(summary: Summary) -> str:
    """What was summarised, in one line."""
    right = (
        "" if summary.right is None else f", {counted(summary.right)} right{of_checked(summary)}"
    )
    failed = f", {summary.failed:,} failed" if summary.failed else ""
    words = f"{several(len(summary.words), 'word')} of {several(summary.texts, 'text')}"
    side = f"; scores above 0 speak for “{one_line(summary.side)}”" if summary.side else ""
    return f"{words}, {summary.model}{right}{failed}{side}"


def of_checked(summary: Summary) -> str:
    """ " (2 of 3 texts checked)", where some have no label that the model knows."""
    some = 0 < summary.checked < summary.texts - summary.failed
    return f" ({summary.checked:,} of {summary.texts:,} texts checked)" if some else ""


def notes(summary: Summary) -> list[str]:
    """Caveats to read before the tables."""
    told = []
    if not summary.ended:
        told.append("The run has not finished. Run the same `piste run` again to continue.")
    if summary.strange:
        names = few([one_line(name, 30) for name in summary.strange], 5)
        told.append(
            f"The model does not know these labels of the data: {names}. Its own are"
            f" {few([one_line(name, 30) for name in summary.labels], 5)}."
        )
    return told


def legend(header: Sequence[str]) -> list[str]:
    """What the columns that need it mean."""
    return [f"{name}: {MEANINGS[name]}" for name in header if name in MEANINGS]


@dataclass(frozen=True)
class Section:
    """A table: what it holds, its header and its rows as text."""

    title: str
    why: str
    rows: list[list[str]]


def sections(summary: Summary, most: int) -> list[Section]:
    """The tables that have rows, each with `most` of them."""
    chosen = {
        "strongest": summary.strongest(),
        "turning": summary.turning(),
        "spoiling": summary.spoiling(),
        "spurious": summary.spurious(),
    }
    told = {"score": _ranking(summary), "spurious": SPURIOUS_TEXTS}
    tables = [
        Section(
            title,
            _and(why.format(**told), rare_words(summary) if key == "strongest" else ""),
            rows([_text_cells(word_row(word, summary), "word") for word in chosen[key][:most]]),
        )
        for title, why, key in SECTIONS
        if chosen[key]
    ]
    if summary.paired():
        tables.insert(1, _together(summary, most))
    if summary.acting():
        tables.insert(1 + bool(summary.paired()), _acting(summary, most))
    return tables


def _together(summary: Summary, most: int) -> Section:
    """The pairs that act together."""
    title, why = TOGETHER
    pairs = summary.paired()[:most]
    listed = rows([_text_cells(pair_row(pair, summary), "words") for pair in pairs])
    return Section(title, _and(why, rare_pairs(summary)), listed)


def _acting(summary: Summary, most: int) -> Section:
    """The words that act with others, whichever."""
    title, why = ACTING
    listed = [_text_cells(joiner_row(one, summary), "word") for one in summary.acting()[:most]]
    return Section(title, why, rows(listed))


def _and(one: str, more: str) -> str:
    return f"{one}; {more}" if more else one


def _ranking(summary: Summary) -> str:
    """The score that ranks words."""
    in_context = any(word.effect is not None for word in summary.words)
    return "effect" if in_context else MEANINGS["lin"].split(",")[0]


def _text_cells(row: TableRow, head: str) -> dict[str, str]:
    """A row of the page's tables as text, by column. head: the name of its first."""
    told = {name: f"{cell.text} {cell.error}".strip() for name, cell in row.cells.items()}
    return {head: shorten(row.head, NAME)} | told


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
        side = name in ("word", "words", "towards", "how", "with")
        table.add_column(name, justify="left" if side else "right", no_wrap=True)
    for row in lines[1:]:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def rows(listed: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """A header and the rows, without columns that say nothing."""
    told = {name for row in listed for name, cell in row.items() if cell}
    names = [name for name in listed[0] if name in told]
    return [names, *([row[name] for name in names] for row in listed)]


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
    words = summary.strongest(least=1)[:POINTS]
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
    label = summary.side if len(summary.labels) > 1 and summary.side else "the label"
    axes.set_xlabel(literal(f"value: for {one_line(label)} →"))
    axes.set_ylabel("importance: weighs more →")
    axes.set_title(literal(one_line(headline(summary), 110)), fontsize=9)
    return figure
