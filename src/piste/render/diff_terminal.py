"""The difference in a terminal, and as plain text."""

from __future__ import annotations

from rich.color import Color
from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from piste.render import diff_words as said
from piste.render import words
from piste.render.clean import one_line
from piste.render.plain import captured, plain
from piste.render.shades import AGAINST, FOR
from piste.result.difference import Diff

HALF_BAR = 9
EXCERPT = 200  # characters of each text
LEAST_WIDTH = 84  # columns in which bars fit beside the numbers


def show(diff: Diff, console: Console | None = None) -> None:
    """Print the difference to the terminal, or to the given console."""
    console = console or Console()
    console.print(plain(said.headline(diff), "bold"))
    for warning in said.warnings(diff):
        console.print(plain(f"! Warning: {warning}", "bold"))
    console.print(Padding(_answers(diff), (1, 0, 1, 2)))
    console.print(_table(diff, console.width))
    if diff.pairs:
        console.print(Padding(plain("What words do together", "bold"), (1, 0, 0, 0)))
        for pair in diff.pairs[: said.PAIRS]:
            console.print(Padding(plain(said.pair_sentence(diff, pair)), (0, 2)))
    console.print()
    for line in filter(None, (said.adding_up(diff), said.errors(diff), said.made(diff))):
        console.print(plain(line, "dim"))


def as_text(diff: Diff) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(diff, console))


def _answers(diff: Diff) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    for (side, told), ex in zip(said.answers(diff), (diff.before, diff.after), strict=True):
        cell = plain(told)
        if not diff.of_models:
            cell.append("\n").append_text(plain(one_line(ex.text, EXCERPT), "dim"))
        grid.add_row(plain(side, "bold"), cell)
    return grid


def _table(diff: Diff, width: int) -> Table:
    rows = diff.top(said.SHOWN)
    some = f", {len(rows)} of {len(diff.words):,}" if len(rows) < len(diff.words) else ""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(plain(f"  {diff.after.unit}{some}"), max_width=40)
    for title in ("before", "after", "change"):
        table.add_column(title, justify="right", no_wrap=True)
    bars = width >= LEAST_WIDTH
    if bars:
        table.add_column(Text(f"{'−':>{HALF_BAR}}│{'+':<{HALF_BAR}}"), no_wrap=True)
    top = max([abs(word.change) for word in rows] + [abs(diff.base or 0.0)], default=0.0)
    if diff.base:
        empty = [words.signed(ex.base or 0.0) for ex in (diff.before, diff.after)]
        cells = [*map(plain, empty), plain(words.signed(diff.base))]
        table.add_row(plain("  empty text"), *cells, *([_bar(diff.base, top)] if bars else []))
    for word in rows:
        was = plain(words.signed(word.score_before, top)) if word.before else Text("–", "dim")
        now = plain(words.signed(word.score_after, top)) if word.after else Text("–", "dim")
        cells = [was, now, _changed(word.change, word.error, top)]
        bar = [_bar(word.change, top)] if bars else []
        table.add_row(plain(f"  {said.named(diff, word)}"), *cells, *bar)
    return table


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
