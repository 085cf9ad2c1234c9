"""The comparison in a terminal, and as plain text."""

import re
from collections.abc import Sequence

from rich.color import Color
from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from piste.compare import Comparison, Figures
from piste.render import comparison_words as said
from piste.render import words
from piste.render.clean import one_line, visible
from piste.render.plain import captured, plain
from piste.render.segments import Segment, shade
from piste.render.shades import AGAINST, FOR, RGB, strengths
from piste.result.explanation import Explanation, Row

CHARACTERS = 480  # of the text, for each method
WORDS = 8  # of each method, where there are no colours
FAINT, WEAK = 0.06, 0.2  # as in the rendering of a single explanation
GROUND: RGB = (112, 112, 112)
WEIGHT: RGB = (130, 100, 205)


def show(comparison: Comparison, console: Console | None = None) -> None:
    """Print the comparison to the terminal, or to the given console."""
    console = console or Console()
    coloured = console.color_system is not None
    console.print(plain(words.decision(comparison.first.target), "bold"))
    console.print(Padding(_rows(comparison, coloured), (1, 0)))
    if coloured:
        console.print(Padding(_colour_key(comparison), (0, 0, 1, 0)))
    if len(comparison.explanations) > 1:
        console.print(plain("How far they rank the words alike", "bold"))
        console.print(Padding(_matrix(comparison), (0, 2)))
        console.print(Padding(plain(f"{said.AGREEMENT}.", "dim"), (0, 2, 1, 2)))
    if comparison.measured:
        console.print(plain("Tried on the model", "bold"))
        console.print(Padding(_figures(comparison), (0, 2)))
        for meaning in (said.DELETION, said.INSERTION, said.REMOVAL):
            console.print(Padding(plain(f"{meaning}.", "dim"), (0, 2)))
        how = f"{said.measured_how(comparison)} {said.LITTLE}"
        console.print(Padding(plain(how, "dim"), (0, 2, 1, 2)))
    console.print(plain(said.verdict(comparison), "bold"))
    for name, reason in comparison.failed.items():
        console.print(plain(f"Not compared: {name}. {reason}", "dim"))


def as_text(comparison: Comparison) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(comparison, console))


def _rows(comparison: Comparison, coloured: bool) -> Table:
    grid = Table.grid(padding=(0, 2, 1, 0) if coloured else (0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    if not coloured:  # nothing to stack the cost under
        grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    parts = said.shared_excerpt(comparison, CHARACTERS)
    for number, (name, explanation) in enumerate(comparison.explanations.items(), start=1):
        title, cost = plain(f"{number} {name}", "bold"), plain(said.spent(explanation), "dim")
        if coloured:
            grid.add_row(Text("\n").join([title, cost]), _highlighted(explanation, parts))
        else:
            grid.add_row(title, cost, _strongest(explanation))
    return grid


def _highlighted(explanation: Explanation, parts: Sequence[Segment]) -> Text:
    shades, sided = strengths(explanation), said.has_side(explanation)
    text = Text()
    for part in parts:
        calm = re.sub(r"\n{3,}", "\n\n", visible(part.text))
        text.append_text(plain(calm, _style(shade(part, shades), sided)))
    return text


def _style(strength: float, sided: bool = True) -> Style:
    hue = WEIGHT if not sided else FOR if strength > 0 else AGAINST
    if abs(strength) < FAINT:
        return Style.null()
    if abs(strength) < WEAK:
        return Style(color=Color.from_rgb(*hue))
    part = min(abs(strength), 1.0)
    ground = [round(a + (b - a) * part) for a, b in zip(GROUND, hue, strict=True)]
    return Style(
        color=Color.from_rgb(255, 255, 255),
        bgcolor=Color.from_rgb(*ground),
        bold=abs(strength) > 0.5,
    )


def _strongest(explanation: Explanation) -> Text:
    """Without colours the same text seven times would say nothing: the strongest words instead."""
    rows = explanation.top(WORDS)
    return plain("  ".join(_named(row, explanation) for row in rows))


def _named(row: Row, explanation: Explanation) -> str:
    score = row.scores[explanation.primary]
    sign = ("+" if score > 0 else "−" if score < 0 else "") if said.has_side(explanation) else ""
    return f"{sign}{one_line(row.player.text, 20)}"


def _colour_key(comparison: Comparison) -> Text:
    key = Text.assemble((" for ", _style(1.0)), " ", (" against ", _style(-1.0)))
    key.append_text(plain(f" {words.named(comparison.first.target)}"))
    if all(map(said.has_side, comparison.explanations.values())):
        return key
    return key.append("   ").append(" weighs ", _style(1.0, sided=False)).append(" without a side")


def _table(titles: Sequence[str]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    for title in titles:
        table.add_column(plain(title), justify="right", no_wrap=True)
    return table


def _matrix(comparison: Comparison) -> Table:
    names = list(comparison.explanations)
    table = _table([str(number + 1) for number in range(len(names))])
    for number, name in enumerate(names):
        cells = (_agreement(value) for value in comparison.agreement[number].tolist())
        table.add_row(plain(f"{number + 1} {name}"), *cells)
    return table


def _agreement(value: float) -> Text:
    return plain(said.share(value), _style(value if value == value else 0.0))


def _figures(comparison: Comparison) -> Table:
    table = _table(["deletion", "insertion", "removal error"])
    bests = (said.best_deletion, said.best_insertion, said.best_removal)
    winners = [set(names(comparison)) for names in bests]
    for number, (name, figures) in enumerate(comparison.measured.items(), start=1):
        cells = [
            _marked(value, name in won)
            for value, won in zip(_values(figures), winners, strict=True)
        ]
        table.add_row(plain(f"{number} {name}"), *cells)
    return table


def _values(figures: Figures) -> tuple[float | None, ...]:
    return figures.deletion, figures.insertion, figures.removal_error


def _marked(value: float | None, won: bool) -> Text:
    """The best are marked by a star too: not every terminal shows bold."""
    return plain(f"{said.figure(value)}{'*' if won else ' '}", "bold" if won else "")
