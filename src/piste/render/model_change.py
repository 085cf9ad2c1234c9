"""What a check found, in a terminal and as plain text: the verdict first, then what changed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from piste.errors import several
from piste.render.clean import one_line
from piste.render.plain import captured, plain
from piste.render.words import listed, signed
from piste.result.facts import LOW
from piste.runs.model_change import FEW, Flip, ModelChange, Shift

SHOWN = 12  # rows of a table in a terminal
NAMED = 5  # words that moved too little to count
UNTOLD = "No explanation is reliable"


def show(change: ModelChange, console: Console | None = None) -> None:
    """Print the findings to the terminal, or to the given console."""
    console = console or Console()
    console.print(plain(verdict(change), "bold red" if change.changed else "bold green"))
    for title, rows in sections(change):
        console.print(plain(f"\n{title}", "bold"))
        console.print(Padding(_grid(rows[: SHOWN + 1]), (0, 2)))
        if len(rows) > SHOWN + 1:
            console.print(plain(f"  ... and {len(rows) - SHOWN - 1:,} more: --json has all"))
    for line in ["", *remarks(change)]:
        console.print(plain(line, "dim"))


def as_text(change: ModelChange) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(change, console))


def verdict(change: ModelChange) -> str:
    """Whether the model decides for the same reasons, in one sentence."""
    texts = _of_all(change)
    if not change.texts:
        return "No text could be compared."
    if not change.changed:
        return f"Nothing changed beyond chance in {texts}."
    found = [
        several(len(change.words), "word") if change.words else "",
        several(len(change.pairs), "interaction") if change.pairs else "",
        several(len(change.flips), "decision") if change.too_many_flips else "",
        "the fidelity" if change.fidelity.fell else "",
    ]
    if change.untold:
        also = listed([one for one in found if one])
        return f"{UNTOLD} in {texts}." + (f" Changed: {also}." if also else "")
    spurious = len(change.spurious)
    new = f" {several(spurious, 'word')} may be spurious now." if spurious else ""
    return f"Changed in {texts}: {listed([one for one in found if one])}.{new}"


def _of_all(change: ModelChange) -> str:
    """How many texts were compared, and of how many where those are not all."""
    if change.texts >= change.baseline_texts:
        return several(change.texts, "text")
    return f"{change.texts:,} of {several(change.baseline_texts, 'text')}"


def sections(change: ModelChange) -> list[tuple[str, list[list[str]]]]:
    """The tables that have rows: a title, a header and rows of text."""
    tables = [
        ("Words: the mean effect, in the baseline and now", _shifts(change.words, "word")),
        ("Interactions: what two words do together", _shifts(change.pairs, "words")),
        (f"Decisions: {_turned(change)}", _flips(change.flips)),
        ("Fidelity: the median of the held-out R²", _fidelity(change)),
    ]
    return [(title, rows) for title, rows in tables if len(rows) > 1]


def _turned(change: ModelChange) -> str:
    allowed = f", {change.limits.flips:,} allowed" if change.limits.flips else ""
    turned = len(change.flips)
    more = f" (--flips {turned} allows {'it' if turned == 1 else 'them'})"
    more = more if change.too_many_flips else ""
    return f"{len(change.flips):,} of {change.texts:,} turned{allowed}{more}"


def shift_name(shift: Shift) -> str:
    """The word, or both of a pair."""
    return " + ".join(one_line(word, 24) for word in shift.words)


def moved(shift: Shift) -> str:
    """From where to where, and by how much: "+2.40 → +0.31 (−2.09 ±0.12)".

    Where single texts tell it rather than the mean, "; in 5 of 6 texts, by up to −0.61" follows.
    """
    largest = max(abs(shift.before), abs(shift.after))
    ends = f"{signed(shift.before, largest)} → {signed(shift.after, largest)}"
    told = f"{ends} ({signed(shift.change)} ±{shift.error:.2f})"
    if not shift.uneven:
        return told
    where = f"{shift.moved:,} of {several(shift.texts, 'text')}"
    return f"{told}; in {where}, by up to {signed(shift.largest)}"


def _shifts(shifts: Sequence[Shift], what: str) -> list[list[str]]:
    header = [what, "towards", "texts", "effect", "most in text", "remark"]
    if not any(shift.spurious for shift in shifts):
        header.pop()
    return [
        header,
        *(
            [
                shift_name(shift),
                one_line(shift.label, 24),
                f"{shift.texts:,}",
                moved(shift),
                text_name(shift),
                "may be spurious now" if shift.spurious else "",
            ][: len(header)]
            for shift in shifts
        ),
    ]


def _flips(flips: Sequence[Flip]) -> list[list[str]]:
    rows = [
        [
            *(one_line(name, 24) for name in (flip.before, flip.after, flip.label or "–")),
            text_name(flip),
        ]
        for flip in flips
    ]
    return [["was", "is", "label", "text"], *rows]


def text_name(found: Shift | Flip) -> str:
    """The id of its text, and how that begins: "79: The plot is thin"."""
    name = one_line(found.text, 24)
    return f"{name}: {one_line(found.opening, 60)}" if found.opening else name


def _fidelity(change: ModelChange) -> list[list[str]]:
    found = change.fidelity
    if not found.fell or found.before is None or found.after is None:
        return []
    row = [f"{found.before:.2f}", f"{found.after:.2f}", f"{found.texts:,}"]
    return [["was", "is", "texts"], row]


def remarks(change: ModelChange) -> list[str]:
    """What the findings rest on, and what could not be compared."""
    limits = change.limits
    turned = several(limits.flips, "turned decision") if limits.flips else "no turned decision"
    tests = (
        f"· {several(change.tested, 'test')} at a false discovery rate of {limits.alpha:g}."
        f" Allowed: effects that move by up to {limits.least:.2g}, and {turned}."
    )
    was, now = (one_line(name, 60) for name in change.models)
    folder = one_line(change.baseline, 60)
    told = [tests, *_below(change), *_rare(change)]
    told += [f"· Baseline: model {was}, folder {folder}. Now: model {now}."]
    told += _lost(change)
    if change.unreliable:
        told.append(
            f"· The words of {several(change.unreliable, 'text')} are not compared: with an R²"
            f" below {LOW} an explanation is unreliable. Make the baseline with --effort normal or"
            " thorough."
        )
    if change.failed:
        told.append(f"· {several(change.failed, 'text')} failed now, and not in the baseline.")
    return [*told, *(f"· {note}" for note in change.notes)]


def _lost(change: ModelChange) -> list[str]:
    """The texts of the baseline that the data does not hold as they were."""
    reasons = {
        "missing from the data": change.missing,
        "edited in the data, or moved to another row,": change.other,
    }
    return [
        f"· {several(number, 'text')} of the baseline {'is' if number == 1 else 'are'} {reason} and"
        " cannot be compared: make a new baseline."
        for reason, number in reasons.items()
        if number
    ]


def _below(change: ModelChange) -> list[str]:
    """What moved, but by too little to count."""
    if not change.below:
        return []
    names = [f"“{shift_name(one)}” ({signed(one.change)})" for one in change.below[:NAMED]]
    if len(change.below) > NAMED:
        names.append(f"{len(change.below) - NAMED:,} more")
    return [
        f"· Moved, but perhaps by no more than the {change.limits.least:.2g} allowed, and so not"
        f" counted: {listed(names)}."
    ]


def _rare(change: ModelChange) -> list[str]:
    """How many words are in too few texts to compare them well."""
    if not change.rare:
        return []
    are = "is" if change.rare == 1 else "are"
    return [
        f"· {change.rare:,} of {several(change.compared, 'word')} {are} in fewer than {FEW} texts:"
        " too few to notice any but large changes (a word in one text must move by"
        f" {change.needed:.0f} times its error)."
    ]


def _grid(rows: Sequence[Sequence[str]]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0]:
        grid.add_column(name, overflow="fold")
    for row in rows[1:]:
        grid.add_row(*(plain(cell) for cell in row))
    return grid
