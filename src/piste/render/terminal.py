"""The explanation in a terminal, and as plain text."""

import re

from rich.color import Color
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from piste.render import together, trust, words
from piste.render.clean import one_line, visible
from piste.render.plain import captured
from piste.render.segments import excerpt, segments, shade
from piste.render.shades import AGAINST, FOR, RGB, blend, sided, strengths
from piste.result.explanation import Explanation, Row

SHOWN = 10  # rows of the table
CLASSES = 6  # columns of the table by class
CHARACTERS = 1400  # of the text, about 200 words
FAINT = 0.06  # weaker scores are not coloured
WEAK = 0.2  # weaker scores colour the letters only: a grey box would say nothing
HALF_BAR = 7
# Between black and white, so that strength reads as saturation on dark and light terminals alike.
GROUND: RGB = (112, 112, 112)


def show(explanation: Explanation, console: Console | None = None) -> None:
    """Print the explanation to the terminal, or to the given console."""
    console = console or Console()
    console.print(_headline(explanation))
    for warning in trust.warnings(explanation):
        console.print(_plain(f"! Warning: {warning.text}", "bold"))
    console.print(Padding(_highlighted(explanation), (1, 2)))
    console.print(_table(explanation, console.width))
    if words.by_class(explanation):
        console.print(Padding(_classes(explanation), (1, 0, 0, 0)))
    if explanation.parts is not None:
        console.print(Padding(_together(explanation), (1, 0, 0, 2)))
    console.print(Padding(_legend(explanation, console.color_system is not None), (1, 2)))
    console.print(_trust(explanation))


def as_text(explanation: Explanation) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(explanation, console))


def _plain(text: str, style: str | Style = "") -> Text:
    """The one gate to the console: no markup is read, no control character passes."""
    return Text(visible(text), style=style)


def _headline(explanation: Explanation) -> Text:
    target = explanation.target
    line = _plain(words.decision(target), "bold")
    others = words.alternatives(target)
    return line.append_text(_plain(f" ({others})" if others else "", "dim"))


def _highlighted(explanation: Explanation) -> Text:
    shades = strengths(explanation)
    text = Text()
    for part in excerpt(segments(explanation), shades, CHARACTERS):
        calm = re.sub(r"\n{3,}", "\n\n", visible(part.text))
        text.append_text(_plain(calm, _style(shade(part, shades))))
    return text


def _style(strength: float) -> Style:
    if abs(strength) < FAINT:
        return Style.null()
    if abs(strength) < WEAK:
        return Style(color=Color.from_rgb(*(FOR if strength > 0 else AGAINST)))
    ground = Color.from_rgb(*blend(GROUND, strength))
    return Style(color=Color.from_rgb(255, 255, 255), bgcolor=ground, bold=abs(strength) > 0.5)


def _table(explanation: Explanation, width: int) -> Table:
    rows = explanation.top(SHOWN)
    repeated = any(row.occurrences > 1 for row in rows)
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    distinct = len({player.group for player in explanation.players})
    some = f", {len(rows)} of {distinct:,}" if len(rows) < distinct else ""
    table.add_column(_plain(f"  {explanation.unit}{some}"), no_wrap=True)
    paired = explanation.second is not None
    if paired:
        table.add_column("text", justify="right")
    if repeated:
        table.add_column("times", justify="right")
    for name in words.told(explanation):
        table.add_column(_plain(name), justify="right", no_wrap=True)
    left, right = words.sides(explanation.target) if sided(explanation) else ("", "weight")
    table.add_column(Text(f"{left:>{HALF_BAR}}│{right:<{HALF_BAR}}"), no_wrap=True)
    top = max((abs(row.scores[explanation.primary]) for row in rows), default=0.0)
    told = {name: [_score(row, name) for row in rows] for name in words.told(explanation)}
    taken = 2 + (2 * HALF_BAR + 1) + 7 * (paired + repeated)  # indent, bar, facts
    taken += sum(2 + max([len(name), *map(len, cells)]) for name, cells in told.items())
    for row, *scores in zip(rows, *told.values(), strict=True):
        facts = [str(row.player.segment + 1)] if paired else []
        facts += [f"{row.occurrences}×" if row.occurrences > 1 else ""] if repeated else []
        bar = _bar(row.scores[explanation.primary], top)
        table.add_row(_name(row, width - taken - 2), *map(_plain, facts), *scores, bar)
    return table


def _together(explanation: Explanation) -> Group:
    """What words do together, what would turn the decision, and where the effects start."""
    lines: list[RenderableType] = []
    links = together.links(explanation)
    if links:
        lines.append(_plain("together", "bold"))
        lines += [_plain(f"  {link.text}") for link in links]
    sentences = [*together.turning(explanation), together.base(explanation)]
    return Group(*lines, *(_plain(sentence) for sentence in sentences if sentence))


def _classes(explanation: Explanation) -> Table:
    """The same rows, with the score of every class; of many classes the likeliest."""
    names = words.by_class(explanation)
    own = next(iter(names.values()))
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(_plain(f"  {own} by class"), max_width=34)
    for label in list(names)[:CLASSES]:
        table.add_column(_plain(one_line(label, 14)), justify="right", no_wrap=True)
    for row in explanation.top(SHOWN):
        cells = [words.signed(row.scores[name]) for name in list(names.values())[:CLASSES]]
        which = f" (text {row.player.segment + 1})" if explanation.second is not None else ""
        table.add_row(_name(row).append(which), *map(_plain, cells))
    return table


def _name(row: Row, room: int = 32) -> Text:
    return _plain(f"  {one_line(row.player.text, max(8, min(32, room)))}")


def _score(row: Row, name: str) -> Text:
    text = _plain(words.signed(row.scores[name]))
    if row.errors.get(name):  # the model's own answers have none
        text.append(f" {words.give_or_take(row.errors[name])}", "dim")
    return text


def _bar(score: float, top: float) -> Text:
    share = abs(score) / top if top > 0 else 0.0
    blocks = "█" * round(share * HALF_BAR) or ("▏" if score > 0 else "▕" if score < 0 else "")
    left, right = ("", blocks) if score > 0 else (blocks, "")
    return Text.assemble(
        (f"{left:>{HALF_BAR}}", Style(color=Color.from_rgb(*AGAINST))),
        ("│", "dim"),
        (f"{right:<{HALF_BAR}}", Style(color=Color.from_rgb(*FOR))),
    )


def _legend(explanation: Explanation, coloured: bool) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    if coloured:
        grid.add_row(_plain("colours", "bold"), _colour_key(explanation))
    meanings = words.meanings(explanation)
    for name in words.told(explanation):
        grid.add_row(_plain(name, "bold"), _plain(f"{meanings[name]}."))
    if explanation.errors:
        grid.add_row(_plain("±", "bold"), _plain(f"{words.ERRORS}."))
    return grid


def _colour_key(explanation: Explanation) -> Text:
    if not sided(explanation):
        return Text.assemble((" weighs ", _style(1.0)), " without a side")
    key = Text.assemble((" for ", _style(1.0)), " ", (" against ", _style(-1.0)))
    return key.append_text(_plain(f" {words.named(explanation.target)}"))


def _trust(explanation: Explanation) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for statement in trust.statements(explanation):
        if not statement.warning:  # those stand above
            grid.add_row(Text("·"), _plain(statement.text))
    grid.add_row(Text("·"), _plain(f"Cost: {words.cost(explanation)}.", "dim"))
    made = f"Made by {explanation.method} with seed {explanation.seed} from {explanation.model}."
    grid.add_row(Text("·"), _plain(made, "dim"))
    return grid
