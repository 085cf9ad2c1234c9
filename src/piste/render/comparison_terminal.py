"""The comparison in a terminal, and as plain text."""

import re
from collections.abc import Sequence

from rich.color import Color
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from piste.compare import Comparison
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


def show(comparison: Comparison, console: Console | None = None, brief: bool = False) -> None:
    """Print the comparison to the terminal, or to the given console.

    brief: the answer and what each method finds, and no more.
    """
    console = console or Console()
    coloured = console.color_system is not None
    console.print(plain(said.headline(comparison), "bold"))
    if comparison.measured:
        console.print(plain(said.verdict(comparison), "bold"))
    console.print(Padding(_methods(comparison, coloured), (1, 0, 0, 0)))
    if brief:
        return
    for part in _more(comparison, coloured):
        console.print(part)


def as_text(comparison: Comparison, brief: bool = False) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(comparison, console, brief))


def _more(comparison: Comparison, coloured: bool) -> list[RenderableType]:
    """What stands under the methods."""
    parts: list[RenderableType] = []
    if coloured:
        parts.append(Padding(_colour_key(comparison), (0, 2)))
    if len(comparison.explanations) > 1:
        parts += _titled("Agreement", _matrix(comparison), [f"{said.AGREEMENT}."])
    if comparison.measured:
        told = (said.STAR, *said.meanings(comparison))
        meanings = [f"{meaning}." for meaning in told]
        how = f"{said.measured_how(comparison)} {said.LITTLE}"
        parts += _titled("Tested on the model", _figures(comparison), [*meanings, how])
    else:
        parts.append(Padding(plain(said.verdict(comparison)), (1, 0, 0, 0)))
    return parts + [
        Padding(plain(f"Not compared: {name}. {reason}", "dim"), (1, 0, 0, 0))
        for name, reason in comparison.failed.items()
    ]


def _titled(title: str, table: Table, notes: Sequence[str]) -> list[RenderableType]:
    """A table under its title, and what its figures mean."""
    return [
        Padding(plain(title, "bold"), (1, 0, 0, 0)),
        Padding(table, (0, 2)),
        *(Padding(plain(note, "dim"), (0, 2)) for note in notes),
    ]


def _methods(comparison: Comparison, coloured: bool) -> Table:
    """What each method finds and costs: the text in colours, or its strongest words."""
    table = Table(
        box=None, header_style="bold", padding=(0, 2, 1, 0) if coloured else (0, 2, 0, 0),
        pad_edge=False, show_header=not coloured,
    )  # fmt: skip
    table.add_column(plain("  method"), no_wrap=True)
    if not coloured:  # nothing to stack the cost under
        table.add_column("cost", no_wrap=True)
    table.add_column(_words_title(comparison), ratio=1)
    parts = said.shared_excerpt(comparison, CHARACTERS)
    for number, (name, explanation) in enumerate(comparison.explanations.items(), start=1):
        title, cost = plain(f"  {number} {name}", "bold"), plain(said.spent(explanation), "dim")
        if coloured:
            under = Text.assemble("    ", cost)
            table.add_row(Text("\n").join([title, under]), _highlighted(explanation, parts))
        else:
            table.add_row(title, cost, _strongest(explanation))
    return table


def _words_title(comparison: Comparison) -> Text:
    label = words.named(comparison.first.target)
    return plain(f"strongest {comparison.first.unit}s (+ for {label}, − against)")


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
    return f"{sign}{one_line(row.name, 20)}"


def _colour_key(comparison: Comparison) -> Text:
    key = Text.assemble((" for ", _style(1.0)), " ", (" against ", _style(-1.0)))
    key.append_text(plain(f" {words.named(comparison.first.target)}"))
    if all(map(said.has_side, comparison.explanations.values())):
        return key
    return key.append("   ").append(" weight ", _style(1.0, sided=False)).append(" without a side")


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
    columns = said.columns(comparison)
    table = _table([column.title for column in columns])
    for number, name in enumerate(comparison.measured, start=1):
        cells = [_marked(column.shown[name], name in column.best) for column in columns]
        table.add_row(plain(f"{number} {name}"), *cells)
    return table


def _marked(shown: str, won: bool) -> Text:
    """The best are marked by a star too: not every terminal shows bold."""
    return plain(f"{shown}{'*' if won else ' '}", "bold" if won else "")
