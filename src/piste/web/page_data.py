"""Explanations as the page draws them: plain data, with the reports' words, colours and charts."""

from __future__ import annotations

import re
import threading
from typing import Any

from piste.compare import Comparison
from piste.render import answer, together, trust, waterfall, words
from piste.render import comparison_words as said
from piste.render.by_class import of_every_class
from piste.render.chart import Chart, Label, Mark, is_scatter
from piste.render.clean import one_line, visible
from piste.render.html import SHOWN, charts, hue, index_of, level, linked
from piste.render.segments import segments, shade
from piste.render.shades import sided, strengths
from piste.result.explanation import Explanation

UNMEASURED = "“And try each on the model” tells which one to trust on this text."
_DRAWING = threading.Lock()  # matplotlib's styles are the whole process's

OPTION = re.compile(r"--([a-z])")
SPELT_TWICE = re.compile(r" \((?:--[a-z-]+[^)]*|[a-z]+=[^)]*)\)")  # "(--effort thorough)"


def view(explanation: Explanation) -> dict[str, Any]:
    """All that the page shows of an explanation."""
    target = explanation.target
    return {
        **linked(explanation),
        **_decision(explanation),
        "sentence": answer.decided(explanation),
        "target": target.label,
        "choices": list(target.labels),
        "target_score": target.score,
        "scale": one_line(target.scale, 60),
        "unit": explanation.unit,
        "method": explanation.method,
        "primary": explanation.primary,
        "scatter": is_scatter(explanation),
        "sided": sided(explanation),
        "parts": [[visible(part.text), list(part.players)] for part in segments(explanation)],
        "charts": drawn(explanation),
    }


def _decision(explanation: Explanation) -> dict[str, Any]:
    """What was decided, or how likely a class is."""
    target = explanation.target
    return {
        "decision": words.decision(target),
        "label": words.named(target, 80),
        "sides": list(words.sides(target)),
        "others": words.alternatives(explanation),
        "score": words.score_of(target),
        "probability": target.probability,
        "share": None if target.probability is None else words.percent(target.probability),
    }


def in_page(text: str) -> str:
    """A sentence with the names of the page's fields in place of options and arguments."""
    text = text.replace("`piste compare --measure`", "Compare methods")
    return OPTION.sub(r"\1", SPELT_TWICE.sub("", visible(text)))


def full(explanation: Explanation) -> dict[str, Any]:
    """The view of a finished explanation: also how far to trust it, and what the scores mean."""
    statements = [
        {"text": in_page(one.text), "warning": one.warning} for one in trust.statements(explanation)
    ]
    meanings = dict(words.meanings(explanation))
    if explanation.errors:
        meanings["±"] = words.ERRORS
    return {
        **view(explanation),
        "sentence": visible(answer.sentence(explanation)),
        "waterfall": _waterfall(explanation),
        "links": [_link(link) for link in together.links(explanation)],
        "turning": _turning(explanation),
        "base": together.base(explanation),
        "rely": in_page(trust.headline(explanation)),
        "statements": statements,
        "meanings": {visible(name): visible(text) for name, text in meanings.items()},
        "cost": words.cost(explanation),
        "classes": [[one_line(label), name] for label, name in words.by_class(explanation).items()],
        "of_class": {name: _of_class(one) for name, one in of_every_class(explanation).items()},
        "in_windows": explanation.settings.get("long") == "windows",
    }


def _of_class(explanation: Explanation) -> dict[str, Any]:
    """What of the view changes with the class that is chosen."""
    return _decision(explanation) | {
        "sentence": visible(answer.sentence(explanation)),
        "waterfall": _waterfall(explanation),
    }


def _waterfall(explanation: Explanation) -> dict[str, Any] | None:
    """The steps from the base to the score; None where the scores do not lead there."""
    steps = waterfall.steps(explanation)
    if not steps:
        return None
    index = index_of(explanation, explanation.top(len(explanation.players)))
    return {
        "base": explanation.base,
        "score": explanation.target.score,
        "steps": [
            {
                "label": step.label,
                "start": step.start,
                "end": step.end,
                "error": step.error,
                "player": None if step.group is None else index[step.group],
            }
            for step in steps
        ],
    }


def _turning(explanation: Explanation) -> list[dict[str, Any]]:
    """What would turn the decision and what keeps it, with the players to remove to see it."""
    everyone, removed = range(len(explanation.players)), []
    if explanation.flip is not None:
        removed.append(list(explanation.flip.players))
    if explanation.core is not None:
        removed.append([index for index in everyone if index not in explanation.core.players])
    sentences = [visible(sentence) for sentence in together.turning(explanation)]
    return [
        {"text": text, "removed": players} for text, players in zip(sentences, removed, strict=True)
    ]


def _link(link: together.Link) -> dict[str, Any]:
    pair = link.pair
    return {
        "players": [pair.first, pair.second],
        "side": "f" if pair.effect > 0 else "a",
        "text": visible(link.text),
    }


def drawn(explanation: Explanation) -> list[dict[str, Any]]:
    """The charts of the report, in SVG units."""
    rows = explanation.top(SHOWN)
    index = index_of(explanation, rows)
    return [_chart(kind, chart, index) for kind, chart in charts(explanation, rows)]


def _chart(kind: str, chart: Chart, index: dict[int, int]) -> dict[str, Any]:
    frame = chart.frame
    return {
        "kind": kind,
        "size": [chart.width, chart.height],
        "frame": [frame.left, frame.low, frame.right, frame.high],
        "across": [[tick.at, tick.text] for tick in chart.across],
        "up": [[tick.at, tick.text] for tick in chart.up],
        "marks": [_mark(mark, index) for mark in chart.marks],
        "labels": [_label(label, index) for label in chart.labels],
    }


def _mark(mark: Mark, index: dict[int, int]) -> dict[str, Any]:
    scores = ", ".join(f"{name} {words.signed(score)}" for name, score in mark.row.scores.items())
    error = mark.error
    return {
        "player": index[mark.row.player.group],
        "x": mark.x,
        "y": mark.y,
        "width": mark.width,
        "error": None if error is None else [error.left, error.low, error.right, error.high],
        "said": f"{one_line(mark.row.name)}: {scores}",
    }


def _label(label: Label, index: dict[int, int]) -> dict[str, Any]:
    return {
        "player": index[label.row.player.group],
        "x": label.x,
        "y": label.y,
        "text": label.text,
        "line": label.line,
    }


def compared(comparison: Comparison) -> dict[str, Any]:
    """A comparison in rows: the text as each method colours it, and what it cost."""
    figures = comparison.measured
    return {
        "verdict": said.verdict(comparison) if comparison.measured else UNMEASURED,
        "decision": words.decision(comparison.first.target),
        "label": words.named(comparison.first.target),
        "rows": [
            {
                "name": name,
                "spent": said.spent(explanation),
                "parts": _coloured(explanation),
                "measured": None if name not in figures else _figures(comparison, name),
            }
            for name, explanation in comparison.explanations.items()
        ],
        "failed": {name: visible(reason) for name, reason in comparison.failed.items()},
        "agreement": [[said.share(value) for value in row] for row in comparison.agreement],
    }


def _coloured(explanation: Explanation) -> list[list[Any]]:
    """Stretches of text with player (the strongest on it), hue and level of colour."""
    shades = strengths(explanation)
    parts = []
    for part in segments(explanation):
        strength = shade(part, shades)
        colour = (
            [hue(strength, explanation.primary), level(strength)] if part.players else [None, 0]
        )
        parts.append([visible(part.text), list(part.players), *colour])
    return parts


def _figures(comparison: Comparison, name: str) -> dict[str, str]:
    measured = comparison.measured[name]
    return {
        "deletion": said.figure(measured.deletion),
        "insertion": said.figure(measured.insertion),
        "removal error": said.figure(measured.removal_error),
    }


def picture(explanation: Explanation) -> bytes:
    """The figure as PNG."""
    from piste.render.figure import draw, house_style, saved

    with _DRAWING, house_style():
        return saved(draw(explanation), ".png")
