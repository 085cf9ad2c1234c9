"""The difference in a terminal, and as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.color import Color
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from piste.render import diff_words as said
from piste.render import words
from piste.render.diff_rows import EMPTY, Step, steps
from piste.render.diff_texts import shades
from piste.render.plain import captured, plain
from piste.render.shades import AGAINST, FOR
from piste.render.terminal import highlighted
from piste.result.difference import Diff

HALF_BAR = 9
EXCERPT = 300  # characters of each text, around what changed
LEAST_WIDTH = 84  # columns in which bars fit beside the numbers


def show(diff: Diff, console: Console | None = None, brief: bool = False) -> None:
    """Print the difference to the terminal, or to the given console.

    brief: warnings, the headline and the table of words, and no more.
    """
    console = console or Console()
    for warning in said.warnings(diff):
        console.print(plain(f"! Warning: {warning}", "bold"))
    console.print(plain(said.headline(diff), "bold"))
    if brief:
        console.print(Padding(_carried(diff, console.width), (1, 0, 0, 0)))
        return
    console.print(Padding(_answers(diff), (1, 0, 1, 2)))
    console.print(_carried(diff, console.width))
    if pairs := said.pairs(diff):
        title = f"What {diff.after.unit}s do together"
        console.print(Padding(plain(title, "bold"), (1, 0, 0, 0)))
        for pair in pairs:
            console.print(Padding(plain(said.pair_sentence(diff, pair)), (0, 2)))
    console.print()
    for line in filter(None, (said.adding_up(diff), said.errors(diff), said.made(diff))):
        console.print(plain(line, "dim"))


def as_text(diff: Diff, brief: bool = False) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(diff, console, brief))


def _answers(diff: Diff) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    explained = zip(said.answers(diff), (diff.before, diff.after), shades(diff), strict=True)
    for (side, told), ex, strengths in explained:
        cell = plain(told)
        if not diff.of_models:
            cell.append("\n").append_text(highlighted(ex, strengths, EXCERPT))
        grid.add_row(plain(side, "bold"), cell)
    return grid


def _carried(diff: Diff, width: int) -> RenderableType:
    """The words whose change is beyond chance, and all others in one row."""
    way = steps(diff)
    return _table(diff, way, width) if way else plain(f"  {said.nothing(diff)}")


def _table(diff: Diff, way: Sequence[Step], width: int) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(plain(f"  {diff.after.unit}"), max_width=40)
    for title in ("before", "after", "change"):
        table.add_column(title, justify="right", no_wrap=True)
    bars = width >= LEAST_WIDTH
    if bars:
        table.add_column(Text(f"{'−':>{HALF_BAR}}│{'+':<{HALF_BAR}}"), no_wrap=True)
    top = max((abs(step.change) for step in way), default=0.0)
    for step in way:
        cells = [*_ends(diff, step, top), _changed(step.change, step.error, top)]
        bar = [_bar(step.change, top)] if bars else []
        table.add_row(plain(f"  {step.label}"), *cells, *bar)
    return table


def _ends(diff: Diff, step: Step, top: float) -> list[Text]:
    """The scores before and after; of other words together, only the change is told."""
    nothing, row = Text("–", "dim"), step.row
    if row is None and step.label == EMPTY:
        return [plain(words.signed(ex.base or 0.0, top)) for ex in (diff.before, diff.after)]
    if row is None:
        return [Text(), Text()]
    was = nothing if row.kind == "added" else plain(words.signed(row.score_before, top))
    now = nothing if row.kind == "removed" else plain(words.signed(row.score_after, top))
    return [was, now]


def _changed(change: float, error: float | None, top: float) -> Text:
    text = plain(words.signed(change, top))
    return text.append(f" {words.give_or_take(error, top)}", "dim") if error else text


def _bar(change: float, top: float) -> Text:
    share = abs(change) / top if top > 0 else 0.0
    blocks = "█" * round(share * HALF_BAR) or ("▏" if change > 0 else "▕" if change < 0 else "")
    left, right = ("", blocks) if change > 0 else (blocks, "")
    return Text.assemble(
        (f"{left:>{HALF_BAR}}", Style(color=Color.from_rgb(*AGAINST))),
        ("│", "dim"),
        (f"{right:<{HALF_BAR}}", Style(color=Color.from_rgb(*FOR))),
    )
