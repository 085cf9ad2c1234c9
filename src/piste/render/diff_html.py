"""The difference as one HTML page that needs nothing else, and as a notebook cell's output."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment
from markupsafe import Markup

from piste.render import diff_words as said
from piste.render import words
from piste.render.diff_rows import Row, Step, named, steps
from piste.render.diff_rows import rows as rows_of
from piste.render.diff_texts import shades
from piste.render.html import assets, framed, hue, level, policy_of
from piste.render.segments import lead, segments
from piste.result.difference import Diff
from piste.result.explanation import Explanation

BARS = 200.0  # width of the bars, in their own units
LISTED = 1000  # rows of the list of all words


@dataclass(frozen=True)
class Stretch:
    """A piece of a text; where a word stands, the row that it belongs to and its colour."""

    text: str
    row: int | None = None
    kind: str = ""
    hue: str = ""
    level: int = 0
    title: str = ""


@dataclass(frozen=True)
class Bar:
    """A step of the way from one score to the other, as drawn."""

    step: Step
    row: int | None
    x: float
    width: float
    hue: str


def page(diff: Diff, compact: bool = False) -> str:
    """A complete document: no network, no foreign script, whatever the texts contain.

    compact: the headline and the texts, all else folded, for a cell of a notebook.
    """
    environment, css, script = _sources()
    rows, way = rows_of(diff), steps(diff)
    return environment.get_template("diff.html.j2").render(
        d=diff,
        compact=compact,
        said=said,
        words=words,
        css=Markup(css),
        script=Markup(script),
        policy=policy_of(css, script),
        texts=_texts(diff, rows),
        answers=said.answers(diff),
        bars=_bars(diff, way, rows),
        marks=_marks(diff, way),
        listed=[(named(diff, row), row) for row in rows[:LISTED]],
    )


def fragment(diff: Diff) -> str:
    """The page in a frame of its own, so that cells of a notebook cannot disturb each other."""
    return framed(page(diff, compact=True), said.headline(diff))


@functools.cache
def _sources() -> tuple[Environment, str, str]:
    """The environment of the page of one explanation, its style, and what a difference adds."""
    environment, css, _ = assets()
    assert environment.loader is not None
    read = functools.partial(environment.loader.get_source, environment)
    return environment, css + read("diff.css")[0], read("comparison.js")[0] + read("frame.js")[0]


def _texts(diff: Diff, rows: Sequence[Row]) -> list[tuple[str, list[Stretch]]]:
    """The texts under their titles; one text under two models is shown once."""
    both = list(zip(said.sides(diff), (diff.before, diff.after), shades(diff), strict=True))
    if diff.of_models:
        both = both[1:]
    sides = [("after" if ex is diff.after else "before", ex) for _, ex, _ in both]
    return [
        (title, _stretches(diff, ex, side, rows))
        for (title, _, _), (side, ex) in zip(both, sides, strict=True)
    ]


def _stretches(diff: Diff, ex: Explanation, side: str, rows: Sequence[Row]) -> list[Stretch]:
    owners = {
        player: (index, row)
        for index, row in enumerate(rows)
        for word in row.same
        for player in getattr(word, side)
    }
    strengths = shades(diff)[side == "after"]
    stretches = []
    for part in segments(ex):
        player = lead(part, strengths)
        if player is None:
            stretches.append(Stretch(part.text))
            continue
        (index, row), strength = owners[player], float(strengths[player])
        title = f"{named(diff, row)}: {words.signed(row.change, said.reach(diff))}"
        stretches.append(Stretch(part.text, index, row.kind, hue(strength), level(strength), title))
    return stretches


def _marks(diff: Diff, steps: list[Step]) -> list[tuple[float, str]]:
    """Where the scores before and after stand on the bars."""
    low, scale = _axis(diff, steps)
    ends = (diff.before.target.score, diff.after.target.score)
    names = ("before", "after")
    return [((end - low) * scale, name) for end, name in zip(ends, names, strict=True)]


def _bars(diff: Diff, steps: list[Step], rows: Sequence[Row]) -> list[Bar]:
    low, scale = _axis(diff, steps)
    places = {row.same: index for index, row in enumerate(rows)}
    return [
        Bar(
            step,
            None if step.row is None else places[step.row.same],
            x=(min(step.start, step.end) - low) * scale,
            width=max(abs(step.change) * scale, 1.0),
            hue="f" if step.change > 0 else "a",
        )
        for step in steps
    ]


def _axis(diff: Diff, steps: list[Step]) -> tuple[float, float]:
    """The lowest score of the way, and units of a bar for one of the score."""
    ends = [end for step in steps for end in (step.start, step.end)]
    ends += [diff.before.target.score, diff.after.target.score]
    reach = max(ends) - min(ends)
    return min(ends), BARS / reach if reach else 0.0
