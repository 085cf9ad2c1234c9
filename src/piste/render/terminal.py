"""The explanation in a terminal, and as plain text: one screen, the answer first."""

import re
from dataclasses import dataclass

from rich.color import Color
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from piste.arrays import FloatArray
from piste.options import WORDS_SHOWN
from piste.render import answer, rows, together, trust, waterfall, words
from piste.render.clean import one_line, visible
from piste.render.plain import captured
from piste.render.segments import excerpt, segments, shade
from piste.render.shades import AGAINST, FOR, RGB, blend, sided, strengths
from piste.render.trust import Topic
from piste.result.explanation import Explanation

CLASSES = 6  # columns of the table by class
PAIRS = 3  # of words that act together
CHARACTERS = 700  # of the text, about 110 words
UNSURE = 0.1  # a relative error of the strongest scores that is worth a line
FAINT = 0.06  # weaker scores are not coloured
WEAK = 0.2  # weaker scores colour the letters only: a grey box would say nothing
# Between black and white, so that strength reads as saturation on dark and light terminals alike.
GROUND: RGB = (112, 112, 112)


@dataclass(frozen=True)
class View:
    """How much of an explanation is shown."""

    top: int = WORDS_SHOWN  # words in the table
    brief: bool = False  # warnings, the sentence and the table, and no more
    legend: bool = False  # what the scores mean, and how they came about


USUAL = View()


def show(explanation: Explanation, console: Console | None = None, view: View = USUAL) -> None:
    """Print the explanation to the terminal, or to the given console."""
    console = console or Console()
    for warning in trust.warnings(explanation):
        console.print(_plain(f"! Warning: {warning.text}", "bold"))
    console.print(_plain(answer.sentence(explanation), "bold"))
    parts: list[RenderableType] = [rows.table(explanation, view.top, console.width)]
    if not view.brief:
        if facts := _facts(explanation):
            console.print(_plain(facts, "dim"))
        text = highlighted(explanation, strengths(explanation), CHARACTERS)
        parts = [_indented(text), *parts, *_more(explanation, view, console)]
    for part in parts:
        console.print(Padding(part, (1, 0, 0, 0)))


def as_text(explanation: Explanation, view: View = USUAL) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(explanation, console, view))


def _plain(text: str, style: str | Style = "") -> Text:
    """The one gate to the console: no markup is read, no control character passes."""
    return Text(visible(text), style=style)


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 2))


def _facts(explanation: Explanation) -> str:
    """The model's score where the sentence has its probability, and what else it could say."""
    target = explanation.target
    told = target.probability is None or target.against is not None
    score = "" if told else words.score_of(target)
    return "; ".join(filter(None, [score, words.alternatives(explanation)]))


def _more(explanation: Explanation, view: View, console: Console) -> list[RenderableType]:
    """What stands under the table."""
    parts: list[RenderableType] = []
    if words.by_class(explanation):
        parts.append(_classes(explanation, view.top, console.width))
    lines = _together(explanation)
    if lines:
        parts.append(_indented(Group(*lines)))
    if view.legend:
        parts.append(_indented(_legend(explanation, console.color_system is not None)))
    return [*parts, _trust(explanation, view)]


def highlighted(explanation: Explanation, shades: FloatArray, characters: int) -> Text:
    """The text in colours by player, of a long one what stands around the strongest."""
    text = Text()
    for part in excerpt(segments(explanation), shades, characters):
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


def _together(explanation: Explanation) -> list[Text]:
    """What words do together, what keeps the decision, and where effects without steps start."""
    links = together.links(explanation, PAIRS)
    lines = [_plain("together", "bold")] if links else []
    lines += [_plain(f"  {link.text}") for link in links]
    base = None if waterfall.steps(explanation) else together.base(explanation)
    return lines + [_plain(said) for said in (together.keeps(explanation), base) if said]


def _classes(explanation: Explanation, top: int, width: int) -> Table:
    """The same rows, with the score of every class; of many classes the likeliest."""
    names = words.by_class(explanation)
    own = next(iter(names.values()))
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(_plain(f"  {own} by class"), max_width=34, no_wrap=True)
    room = min(CLASSES, max(1, (width - 20) // 9))
    for label in list(names)[:room]:
        table.add_column(_plain(one_line(label, 14)), justify="right", no_wrap=True)
    largest = max(words.largest(explanation, name) for name in names.values())
    for row in explanation.top(top):
        cells = [words.signed(row.scores[name], largest) for name in list(names.values())[:room]]
        table.add_row(_plain(f"  {rows.name_of(row, explanation)}"), *map(_plain, cells))
    return table


def _legend(explanation: Explanation, coloured: bool) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    if coloured:
        grid.add_row(_plain("colours", "bold"), _colour_key(explanation))
    meanings = words.meanings(explanation)
    for name in dict.fromkeys([*rows.names(explanation), explanation.primary]):
        grid.add_row(_plain(name, "bold"), _plain(f"{meanings[name]}."))
    if explanation.errors:
        grid.add_row(_plain("±", "bold"), _plain(f"{words.ERRORS}."))
    return grid


def _colour_key(explanation: Explanation) -> Text:
    if not sided(explanation):
        return Text.assemble((" weight ", _style(1.0)), " without a side")
    key = Text.assemble((" for ", _style(1.0)), " ", (" against ", _style(-1.0)))
    return key.append_text(_plain(f" {words.named(explanation.target)}"))


def _trust(explanation: Explanation, view: View) -> Table:
    """A line on fidelity, what the method has to say, and a line on the cost."""
    cost = words.cost(explanation, counts=view.legend)
    origin = f"{explanation.method}, seed {explanation.seed}, model {one_line(explanation.model)}"
    grid = Table.grid(padding=(0, 1, 0, 0))
    for statement in trust.statements(explanation):
        if not statement.warning and (view.legend or _matters(statement, explanation)):
            grid.add_row(Text("·"), _plain(statement.text))
    grid.add_row(Text("·"), _plain(f"Cost: {cost} ({origin}).", "dim"))
    return grid


def _matters(statement: trust.Statement, explanation: Explanation) -> bool:
    """Whether a statement is shown without being asked for."""
    if statement.topic is not Topic.SAMPLING:
        return statement.topic is not Topic.DETAIL
    stopped = explanation.stopped
    return stopped is not None and stopped.reason != "stable" and stopped.spread > UNSURE
