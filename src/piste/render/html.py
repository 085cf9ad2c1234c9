"""The explanation as one HTML page that needs nothing else, and as a notebook cell's output."""

import base64
import functools
import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from piste.render import answer, together, trust, turns, waterfall_chart, words
from piste.render.by_class import of_every_class
from piste.render.chart import Chart, bars, is_scatter, scatter
from piste.render.clean import RIGHT_TO_LEFT, one_line, visible
from piste.render.segments import Segment, segments, shade
from piste.render.shades import ends, sided, strengths
from piste.render.waterfall_chart import Waterfall
from piste.result.explanation import Explanation, Row
from piste.result.scores import score

SHOWN = 400  # distinct players in the chart and in the table
LEVELS = 10  # steps of colour
NAMED = 2  # players for each class
WIDE = (540.0, 430.0, 15)  # width, height and labels of the chart
NARROW = (340.0, 340.0, 8)
_WIDTHS = {"wide": WIDE[0], "narrow": NARROW[0]}
FRAME_HEIGHT = 400  # of a notebook cell, until the page inside has measured itself


@dataclass(frozen=True)
class ForClass:
    """What speaks for one class, and the index of its score."""

    label: str
    score: int
    text: str


@dataclass(frozen=True)
class View:
    """What changes on the page with the class that is chosen: the answer, and how it came about."""

    ex: Explanation
    score: int  # the index of the class's score, by which the table is sorted
    falling: list[tuple[str, Waterfall]]
    barred: list[tuple[str, Chart]]


def page(explanation: Explanation, compact: bool = False) -> str:
    """A complete document: no network, no foreign script, whatever the text contains.

    compact: the headline and the text, all else folded, for a cell of a notebook.
    """
    environment, css, script = assets()
    rows = explanation.top(SHOWN)
    return environment.get_template("page.html.j2").render(
        ex=explanation,
        compact=compact,
        largest={name: words.largest(explanation, name) for name in explanation.scores},
        answer=answer,
        words=words,
        trust=trust,
        links=together.links(explanation),
        turns=turns.turns(explanation),
        unturned=turns.unturned(explanation),
        together=together,
        css=Markup(css),
        script=Markup(script),
        policy=policy_of(css, script),
        data=_json(linked(explanation)),
        parts=_parts(explanation),
        rows=rows,
        index=index_of(explanation, explanation.top(len(explanation.players))),
        classes=classes(explanation),
        views=views(explanation),
        planes=charts(explanation, rows),
        scatter=is_scatter(explanation),
        sided=sided(explanation),
        ends=ends(explanation, explanation.primary),
        distinct=len({player.group for player in explanation.players}),
        shade=_row_shade(explanation),
    )


def fragment(explanation: Explanation) -> str:
    """The compact page in a frame of its own: cells of a notebook cannot disturb each other."""
    return framed(page(explanation, compact=True), words.decision(explanation.target))


def framed(document: str, title: str, height: int = FRAME_HEIGHT) -> str:
    """A document in a frame that grows with it."""
    return (
        f'<iframe data-piste-fit title="{escape(visible(title))}" '
        f'width="100%" height="{height}" frameborder="0" '
        f'srcdoc="{escape(document)}"></iframe>'
    )


@functools.cache
def assets() -> tuple[Environment, str, str]:
    loader = PackageLoader("piste.render", "templates")
    environment = Environment(
        loader=loader,
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"signed": words.signed, "label": one_line, "hue": hue, "level": level}
    environment.filters["isolated"] = isolated
    read = functools.partial(loader.get_source, environment)
    script = "".join(read(name)[0] for name in ("linking.js", "script.js", "frame.js"))
    return environment, read("style.css")[0], script


def isolated(text: str) -> Markup:
    """Words that run from right to left each in a `bdi`, so that the sentence keeps its order."""
    return Markup(RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(visible(text)))))


def source(name: str) -> str:
    """A file of the templates as it is, for those who serve it apart."""
    environment = assets()[0]
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _shown(value: Any) -> Any:
    """Every value on its way into the page passes here; nothing hidden gets through."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def hue(strength: float, name: str = "") -> str:
    """The colour of a strength: w(eight), f(or) or a(gainst)."""
    return "w" if not score(name).signed else "f" if strength > 0 else "a"


def level(strength: float) -> int:
    """The strength in whole steps of colour."""
    return math.floor(abs(strength) * LEVELS + 0.5)


def policy_of(css: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(css)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _json(data: dict[str, Any]) -> Markup:
    """JSON that cannot end its script element; `ensure_ascii` sees to U+2028 and U+2029."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def linked(explanation: Explanation) -> dict[str, Any]:
    """What the script of a page needs of the players: names, groups, scores and colours."""
    players = explanation.players
    return {
        "names": list(explanation.scores),
        "told": words.told(explanation),
        "views": _views_of_scores(explanation),
        "weights": sorted(name for name in explanation.scores if not score(name).signed),
        "groups": [player.group for player in players],
        "labels": [one_line(player.text) for player in players],
        "scores": {name: _numbers(scores.tolist()) for name, scores in explanation.scores.items()},
        "errors": {name: _numbers(errors.tolist()) for name, errors in explanation.errors.items()},
        "bows": [
            [link.pair.first, link.pair.second, *_numbers([link.pair.effect])]
            for link in together.links(explanation)
        ],
        "ends": {name: ends(explanation, name) for name in explanation.scores},
        "pairs": [
            [pair.first, pair.second, *_numbers([pair.effect, pair.error])]
            for pair in together.sure_pairs(explanation)
        ],
        "shades": {
            name: _numbers(strengths(explanation, name).tolist()) for name in explanation.scores
        },
    }


def _numbers(scores: Iterable[float]) -> list[float | None]:
    return [float(f"{score:.6g}") if math.isfinite(score) else None for score in scores]


def _parts(explanation: Explanation) -> list[tuple[Segment, float]]:
    shades = strengths(explanation)
    return [(part, shade(part, shades)) for part in segments(explanation)]


def index_of(explanation: Explanation, rows: list[Row]) -> dict[int, int]:
    """The player's index for each row, by group."""
    places = {id(player): index for index, player in enumerate(explanation.players)}
    return {row.player.group: places[id(row.player)] for row in rows}


def classes(explanation: Explanation) -> list[ForClass]:
    """Where every class was explained: the strongest words for and against each."""
    names = list(explanation.scores)
    told = words.by_class(explanation).items()
    return [
        ForClass(one_line(label), names.index(name), _sides(explanation, name))
        for label, name in told
    ]


def views(explanation: Explanation) -> list[View]:
    """The explanation, and where every class was explained, each other class."""
    names = list(explanation.scores)
    every = of_every_class(explanation) or {explanation.primary: explanation}
    return [
        View(ex, names.index(name), falling(ex), _barred(ex, ex.top(SHOWN)))
        for name, ex in every.items()
    ]


def _views_of_scores(explanation: Explanation) -> list[int]:
    """Which of `views` shows each score."""
    places = {name: place for place, name in enumerate(of_every_class(explanation))}
    return [places.get(name, 0) for name in explanation.scores]


def _sides(explanation: Explanation, name: str) -> str:
    rows = explanation.top(len(explanation.players), name)
    least, sides = words.NOTHING * words.largest(explanation, name), []
    for side, sign, most in (("", 1, NAMED), ("against it: ", -1, 1)):
        some = [row for row in rows if row.scores[name] * sign > least][:most]
        said = [f"“{one_line(row.name)}” {words.signed(row.scores[name])}" for row in some]
        sides += [f"{side}{', '.join(said)}"] if said else []
    return "; ".join(sides) or "nothing"


def falling(explanation: Explanation) -> list[tuple[str, Waterfall]]:
    """The waterfall for wide and narrow windows; none where the scores do not add up."""
    drawn = {kind: waterfall_chart.chart(explanation, width) for kind, width in _WIDTHS.items()}
    return [(kind, chart) for kind, chart in drawn.items() if chart is not None]


def charts(explanation: Explanation, rows: list[Row]) -> list[tuple[str, Chart]]:
    """Value against importance where there are both, else bars; for wide and narrow windows."""
    if is_scatter(explanation):
        return [("wide", scatter(rows, *WIDE)), ("narrow", scatter(rows, *NARROW))]
    return _barred(explanation, rows)


def _barred(explanation: Explanation, rows: list[Row]) -> list[tuple[str, Chart]]:
    return [(kind, bars(rows, explanation.primary, width)) for kind, width in _WIDTHS.items()]


def _row_shade(explanation: Explanation) -> dict[int, float]:
    """The primary strength of each player, by index."""
    return dict(enumerate(strengths(explanation).tolist()))
