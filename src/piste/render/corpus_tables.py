"""The tables of a summary's page, as plain cells: words, interactions, classes, mistakes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from piste.render.clean import one_line
from piste.render.corpus_left_out import cut_words, only_in, rare_pairs
from piste.render.corpus_relations import relation
from piste.render.html import level
from piste.render.words import counted, give_or_take, signed
from piste.runs.class_summary import ClassCounts, Mistakes
from piste.runs.excerpts import Excerpt
from piste.runs.pair_summary import Joiner, WordPair
from piste.runs.shards import MOST_PAIRS
from piste.runs.word_summary import LISTED_PAIRS, Summary
from piste.runs.word_tally import FEW_TEXTS, Word

MOST_CLASSES = 100
NONE = 0.0005  # an error that is rounding
SPEAKING = 6  # words named for a class


@dataclass(frozen=True)
class Cell:
    """What is shown, the error beside it, and the number to sort by (None: nothing known)."""

    text: str
    number: float | None = None
    error: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row: its name, coloured by a strength, its cells by column, and its example texts."""

    head: str
    cells: dict[str, Cell]
    examples: Sequence[Excerpt]
    strength: float = 0.0  # from -1 to 1
    classes: tuple[int, ...] = ()  # to which it belongs
    marks: tuple[str, ...] = ()

    @property
    def hue(self) -> str:
        return "f" if self.strength > 0 else "a"

    @property
    def level(self) -> int:
        return level(self.strength)


@dataclass(frozen=True)
class PageTable:
    """A table of the page; `cut` says what was left out of it."""

    key: str
    title: str
    unit: str  # what a row is called
    why: str
    head: str
    rows: list[TableRow]
    cut: str = ""
    columns: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, key: str, title: str, head: str, rows: list[TableRow], **more: str) -> PageTable:
        """With the columns that say something in any row."""
        used = {name for row in rows for name, cell in row.cells.items() if cell.text}
        columns = [name for name in rows[0].cells if name in used] if rows else []
        return cls(key, title, more["unit"], more["why"], head, rows, more.get("cut", ""), columns)


def page_tables(summary: Summary, most: int, scale: float) -> list[PageTable]:
    """The tables that have rows, each with up to `most` of them, or that say why they have none.

    scale: of the full colour.
    """
    tables = (
        _words(summary, most, scale),
        _pairs(summary, most, scale),
        _joiners(summary, most),
        _classes(summary),
        _mistakes(summary, most),
    )
    return [table for table in tables if table.rows or table.cut]


def _words(summary: Summary, most: int, scale: float) -> PageTable:
    listed = summary.listed(most)
    marked = {
        "both sides": {id(word) for word in summary.turning()},
        "mistakes": {id(word) for word in summary.spoiling()},
        "spurious?": {id(word) for word in summary.spurious()},
    }
    return PageTable.of(
        "words",
        "Words",
        "word",
        [word_row(word, summary, scale, marked) for word in listed],
        unit="words",
        why="Open a word for texts that hold it.",
        cut=cut_words(listed, summary),
    )


def word_row(
    word: Word,
    summary: Summary,
    scale: float = 1.0,
    marked: Mapping[str, Container[int]] = MappingProxyType({}),
) -> TableRow:
    """A word's row. marked: the ids of the words that have each mark."""
    return TableRow(
        one_line(word.word),
        _word_cells(word, summary),
        word.examples,
        _shade(word.strength, scale),
        _of_class(word.label, word.strength, summary),
        tuple(mark for mark, words in marked.items() if id(word) in words),
    )


def one_side(summary: Summary) -> bool:
    """Whether all scores are towards the same label (or contrast)."""
    return len(summary.labels) < 2 or summary.side is not None


def _towards(label: str, summary: Summary) -> Cell:
    """What a row is told for, where rows differ in it; a contrast has two labels."""
    return Cell("" if one_side(summary) else one_line(label, 20 if label in summary.labels else 45))


def _word_cells(word: Word, summary: Summary) -> dict[str, Cell]:
    """A word's row by column."""
    effect = Cell("")
    if word.effect is not None and word.effect_error is not None:
        effect = Cell(signed(word.effect), word.effect, _error(word.effect_error, word.effect))
    return {
        "towards": _towards(word.label, summary),
        "texts": Cell(f"{word.texts:,}", word.texts),
        "effect": effect,
        "lin": Cell("") if word.effect is not None else Cell(signed(word.lin), word.lin),
        "value": Cell(signed(word.value), word.value, _error(word.value_error, word.value)),
        "importance": Cell(
            signed(word.importance), word.importance, _error(word.importance_error, word.importance)
        ),
        "flips": _flips(word),
        "lift": _lift(word),
        "wrong": Cell(f"{word.wrong:,}", word.wrong) if word.wrong else Cell(""),
    }


def _flips(word: Word) -> Cell:
    known = word.flips and word.sided >= FEW_TEXTS
    return Cell(counted(word.flips), word.flips) if known else Cell("")


def _lift(word: Word) -> Cell:
    if word.lift is None or word.lift_error is None or word.labelled < FEW_TEXTS:
        return Cell("")
    return Cell(points(word.lift), word.lift, f"±{100 * word.lift_error:.0f}")


def points(share: float) -> str:
    """A difference of shares in whole points: +12, −3, 0."""
    number = round(100 * share)
    return f"{number:+d}".replace("-", "−") if number else "0"


def _shade(strength: float, scale: float) -> float:
    return max(-1.0, min(1.0, strength / scale)) if scale > 0 else 0.0


def _of_class(label: str, strength: float, summary: Summary) -> tuple[int, ...]:
    """The class that it speaks for, of two that exclude each other; else the one it is told for."""
    labels = summary.labels
    if summary.mirrored:
        return (1 if strength > 0 else 0,)
    label = summary.sides.get(label, label)
    return (labels.index(label),) if label in labels else ()


def _pairs(summary: Summary, most: int, scale: float) -> PageTable:
    pairs = summary.paired()
    shown = pairs[: min(most, LISTED_PAIRS)]
    told = []
    if len(shown) < len(pairs):
        some = f"{len(shown):,} of {len(pairs):,} pairs"
        told.append(f"{some} are listed: those that do most in all texts.")
    if few := rare_pairs(summary):
        told.append(f"{few[0].upper()}{few[1:]}.")
    how = (
        f" A run records the {MOST_PAIRS} strongest pairs of each text. Elsewhere a pair counts as"
        " 0, so its mean is too small rather than too large; the mean where it is listed is biased"
        " upwards. Open a pair for texts that hold it."
    )
    return PageTable.of(
        "pairs",
        "Words that act together",
        "words",
        [pair_row(pair, summary, scale) for pair in shown],
        unit="pairs",
        why="Two words that do more, or less, together than each by itself, beyond chance." + how,
        cut=" ".join(told),
    )


def pair_row(pair: WordPair, summary: Summary, scale: float = 1.0) -> TableRow:
    """A pair's row."""
    return TableRow(
        f"{one_line(pair.first, 24)} + {one_line(pair.second, 24)}",
        {
            "towards": _towards(pair.label, summary),
            "texts": Cell(f"{pair.texts:,}", pair.texts),
            "together": Cell(signed(pair.effect), pair.effect, _error(pair.error, pair.effect)),
            "how": Cell(relation(pair, summary)),
            "listed": Cell(f"{pair.listed:,}", pair.listed),
            "where listed": Cell(signed(pair.listed_effect), pair.listed_effect),
        },
        pair.examples,
        _shade(pair.effect, scale),
        _of_class(pair.label, pair.effect, summary),
        (only,) if (only := only_in(pair, summary)) else (),
    )


def _joiners(summary: Summary, most: int) -> PageTable:
    acting = summary.acting()
    return PageTable.of(
        "joiners",
        "Words that act with others",
        "word",
        [joiner_row(joiner, summary) for joiner in acting[: min(most, LISTED_PAIRS)]],
        unit="acting words",
        why="Words with a sure interaction in many texts, whatever the other word is.",
    )


def joiner_row(joiner: Joiner, summary: Summary) -> TableRow:
    """The row of a word that acts with others."""
    partners = [
        one_line(word, 20) + (f" ({count:,})" if count > 1 else "")
        for word, count in joiner.partners
    ]
    return TableRow(
        one_line(joiner.word, 24),
        {
            "towards": _towards(joiner.label, summary),
            "in texts": Cell(f"{joiner.texts:,}", joiner.texts),
            "size": Cell(signed(joiner.size).removeprefix("+"), joiner.size),
            "with": Cell(", ".join(partners)),
        },
        (),
    )


def _classes(summary: Summary) -> PageTable:
    ordered = sorted(summary.classes, key=lambda one: -one.predicted)
    shown = ordered[:MOST_CLASSES]
    cut = ""
    if len(shown) < len(ordered):
        cut = f"The {len(shown)} most predicted of {len(ordered):,} classes are listed."
    return PageTable.of(
        "classes",
        "Classes",
        "class",
        [_class_row(one, summary) for one in shown],
        unit="classes",
        why="Open a class for the texts of which the model is surest and least sure.",
        cut=cut,
    )


def _class_row(counts: ClassCounts, summary: Summary) -> TableRow:
    return TableRow(
        one_line(counts.label),
        {
            "predicted": Cell(f"{counts.predicted:,}", counts.predicted),
            "labelled": Cell(f"{counts.labelled:,}" if counts.labelled else "", counts.labelled),
            "precision": _share(counts.precision),
            "recall": _share(counts.recall),
            "strongest words": Cell(", ".join(speaking(summary, counts.label)) or "–"),
        },
        counts.examples,
        classes=(summary.labels.index(counts.label),),
    )


def _error(error: float, number: float) -> str:
    """A standard error; that of the model's own answers is rounding, and is not told."""
    return give_or_take(error, abs(number)) if error >= NONE else ""


def _share(share: float | None) -> Cell:
    return Cell("") if share is None else Cell(counted(share), share)


def speaking(summary: Summary, label: str, most: int = SPEAKING) -> list[str]:
    """The words that surely speak for a class, strongest first."""
    labels = summary.labels
    sign = -1.0 if summary.mirrored and label == labels[0] else 1.0
    told = labels[-1] if summary.mirrored else label
    strongest = summary.strongest(told)
    sure = [word for word in strongest if sign * word.strength > 0 and word.is_sure]
    return [one_line(word.word, 20) for word in sure[:most]]


def _mistakes(summary: Summary, most: int) -> PageTable:
    shown = summary.mistakes[:most]
    return PageTable.of(
        "mistakes",
        "Wrong predictions",
        "labelled → predicted",
        [_mistake_row(one, summary) for one in shown],
        unit="kind of mistake" if len(shown) == 1 else "kinds of mistakes",
        why="The strongest word for the wrong label of each text, counted. Open a row for the"
        " mistakes of which the model is surest.",
    )


def _mistake_row(mistakes: Mistakes, summary: Summary) -> TableRow:
    words = [f"{one_line(word, 20)} ({count:,})" for word, count in mistakes.words]
    names = [name for name in (mistakes.label, mistakes.predicted) if name in summary.labels]
    return TableRow(
        f"{one_line(mistakes.label, 24)} → {one_line(mistakes.predicted, 24)}",
        {
            "texts": Cell(f"{mistakes.texts:,}", mistakes.texts),
            "decided by": Cell(", ".join(words)),
        },
        mistakes.examples,
        classes=tuple(summary.labels.index(name) for name in names),
    )
