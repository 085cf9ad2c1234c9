"""Explanations of many texts: a line for each, in a terminal or a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from rich.console import Console
from rich.table import Table

from piste.many import Failure, Pairing, counted
from piste.render import answer, words
from piste.render.clean import one_line
from piste.render.corpus_html import sources
from piste.render.html import framed, hue, level, policy_of, source
from piste.render.plain import captured, plain
from piste.render.segments import Segment, segments, shade
from piste.render.shades import strengths
from piste.result.explanation import Explanation
from piste.result.facts import r2_text

SHOWN_TEXT, SHOWN_PAGE = 12, 50  # texts
NAMED = 5  # labels
SNIPPET, LINE = 160, 44  # characters of a text
REASON = 200
FRAME_HEIGHT = 420


@dataclass(frozen=True)
class Line:
    """One text: what it is called, what was decided, and why (or why not)."""

    id: str
    decided: str
    because: str
    r2: str
    text: str
    pieces: list[tuple[str, str, int]]  # text, hue and level of colour
    failed: bool = False


def headline(pairings: Sequence[Pairing], complete: bool) -> str:
    """How many texts there are, by which method and model, and how many failed."""
    results = [result for _, result in pairings]
    failed = sum(isinstance(result, Failure) for result in results)
    first = next((one for one in results if isinstance(one, Explanation)), None)
    by = "" if first is None else f" by {first.method} ({one_line(first.model)})"
    more = "" if complete else " so far"
    failures = f"; {failed:,} failed" if failed else ""
    return f"{counted(pairings)}{more}, explained{by}{failures}"


def decisions(pairings: Sequence[Pairing]) -> str:
    """How often each label is explained: "NUM 12, LOC 8"; nothing where that says nothing."""
    labels = Counter(one.target.title for _, one in pairings if isinstance(one, Explanation))
    if len(labels) < 2:
        return ""
    told = [f"{one_line(label)} {count:,}" for label, count in labels.most_common(NAMED)]
    others = len(labels) - len(told)
    return ", ".join(told) + (f" and {others} other labels" if others else "")


def line(pairing: Pairing) -> Line:
    """What is shown of a text."""
    example, result = pairing
    name, text = one_line(example.id, 16), one_line(result.text, LINE)
    if isinstance(result, Failure):
        why = one_line(result.reason, REASON)
        return Line(name, "not explained", why, "", text, [(one_line(result.text), "f", 0)], True)
    r2 = None if result.fidelity is None else result.fidelity.r2
    reasons = words.listed([f"“{one_line(row.name)}”" for row in answer.reasons(result)])
    known = "–" if r2 is None else r2_text(r2, above="> ")
    return Line(name, answer.decided(result), reasons or "–", known, text, coloured(result))


def coloured(explanation: Explanation) -> list[tuple[str, str, int]]:
    """The text around its strongest word, in stretches with their colour."""
    shades = strengths(explanation)
    stretches = _excerpt(segments(explanation), shades)
    strong = [shade(segment, shades) for segment in stretches]
    return [
        (words_of(segment), hue(strength), level(strength))
        for segment, strength in zip(stretches, strong, strict=True)
    ]


def words_of(segment: Segment) -> str:
    return " ".join(segment.text.split()) or " " if segment.text.isspace() else segment.text


def as_text(pairings: Sequence[Pairing], complete: bool) -> str:
    """A table of the first texts."""

    def show(console: Console) -> None:
        console.print(plain(headline(pairings, complete)))
        if labels := decisions(pairings):
            console.print(plain(labels))
        console.print()
        console.print(_table([line(one) for one in pairings[:SHOWN_TEXT]]))
        for rest in (_rest(pairings, SHOWN_TEXT), USE):
            if rest:
                console.print(plain(rest))

    return captured(show)


USE = ".summary() sums them up by words; .to_pandas() and .to_parquet(folder) hold everything."


def _rest(pairings: Sequence[Pairing], shown: int) -> str:
    return f"… and {len(pairings) - shown:,} more" if len(pairings) > shown else ""


def _table(lines: Sequence[Line]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "text", "decision", "mainly because of", "R²"):
        table.add_column(name, justify="right" if name == "R²" else "left", overflow="fold")
    for one in lines:
        cells = (one.id, one.text, one.decided, one.because, one.r2)
        table.add_row(*map(plain, cells))
    return table


def fragment(pairings: Sequence[Pairing], complete: bool) -> str:
    """The same for a notebook, in a frame of its own."""
    environment, css, _ = sources()
    title, script = headline(pairings, complete), source("frame.js")
    document = environment.get_template("many.html.j2").render(
        title=title,
        decisions=decisions(pairings),
        lines=[line(one) for one in pairings[:SHOWN_PAGE]],
        rest=_rest(pairings, SHOWN_PAGE),
        use=USE,
        css=Markup(css),
        script=Markup(script),
        policy=policy_of(css, script),
    )
    return framed(document, title, FRAME_HEIGHT)


def _excerpt(stretches: Sequence[Segment], shades: np.ndarray) -> list[Segment]:
    """Stretches around the strongest one, as many characters as a line of a table takes."""
    strong = [abs(shade(segment, shades)) for segment in stretches]
    first = last = int(np.argmax(strong)) if strong else 0
    room = SNIPPET - sum(len(segment.text) for segment in stretches[first : last + 1])
    while room > 0 and (first > 0 or last < len(stretches) - 1):
        if first > 0:
            first -= 1
            room -= len(stretches[first].text)
        if last < len(stretches) - 1:
            last += 1
            room -= len(stretches[last].text)
    before = [Segment("… ")] if first > 0 else []
    after = [Segment(" …")] if last < len(stretches) - 1 else []
    return [*before, *stretches[first : last + 1], *after]
