"""The comparison as one HTML page that needs nothing else."""

import functools
import math
from dataclasses import dataclass

from jinja2 import Environment
from markupsafe import Markup

from piste.compare import Comparison
from piste.render import comparison_words as said
from piste.render import words
from piste.render.clean import one_line
from piste.render.html import assets, framed, hue, level, policy_of
from piste.render.segments import Segment, lead, segments
from piste.render.shades import strengths
from piste.result.explanation import Explanation


@dataclass(frozen=True)
class Stretch:
    """A piece of the text as one method colours it."""

    text: str
    player: int | None  # the one that colours it
    hue: str = ""
    level: int = 0
    title: str = ""


def fragment(comparison: Comparison) -> str:
    """The compact page in a frame of its own, for a cell of a notebook."""
    return framed(page(comparison, compact=True), said.headline(comparison))


def page(comparison: Comparison, compact: bool = False) -> str:
    """A complete document: no network, no foreign script, whatever the text contains.

    compact: the texts and which to trust, all else folded.
    """
    environment, css, script = _sources()
    parts = segments(comparison.first)
    return environment.get_template("comparison.html.j2").render(
        c=comparison,
        compact=compact,
        first=comparison.first,
        said=said,
        meanings=said.meanings(comparison),
        words=words,
        css=Markup(css),
        script=Markup(script),
        policy=policy_of(css, script),
        rows={
            name: _row(explanation, parts) for name, explanation in comparison.explanations.items()
        },
        matrix=[[_cell(value) for value in row] for row in comparison.agreement.tolist()],
        columns=said.columns(comparison),
        weights=not all(map(said.has_side, comparison.explanations.values())),
    )


@functools.cache
def _sources() -> tuple[Environment, str, str]:
    """The environment of the page of one explanation, its style and what a comparison adds."""
    environment, css, _ = assets()
    loader = environment.loader
    assert loader is not None
    read = functools.partial(loader.get_source, environment)
    script = read("comparison.js")[0] + read("frame.js")[0]
    return environment, css + read("comparison.css")[0], script


def _row(explanation: Explanation, parts: list[Segment]) -> list[Stretch]:
    shades = strengths(explanation)
    scores = explanation.scores[explanation.primary]
    stretches = []
    for part in parts:
        player = lead(part, shades)
        if player is None:
            stretches.append(Stretch(part.text, None))
            continue
        strength = float(shades[player])
        title = f"{one_line(explanation.players[player].text)}: {words.signed(scores[player])}"
        colour = hue(strength, explanation.primary)
        stretches.append(Stretch(part.text, player, colour, level(strength), title))
    return stretches


def _cell(value: float) -> tuple[str, str, int]:
    """Text, hue and level of an agreement."""
    if not math.isfinite(value):
        return said.share(value), "f", 0
    return said.share(value), hue(value), level(value)
