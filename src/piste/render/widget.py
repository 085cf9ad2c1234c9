"""A notebook's widget: words are clicked away, and the prediction stands beside the model's answer.

Everything is computed here; the script only draws what it is given.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from piste.decision import CENTRED, RAW, Decision
from piste.errors import PisteError, SettingError
from piste.extras import require
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.options import Options
from piste.render import answer, words
from piste.render.clean import one_line, visible
from piste.render.html import hue, level, source
from piste.render.segments import segments, shade
from piste.render.shades import ends, sided, strengths
from piste.result.explanation import Explanation
from piste.text.encoding import BETWEEN

__all__ = ["widget"]
ROUNDING = 0.02  # how far two backends may differ, as a share of the score


def widget(explanation: Explanation, classifier: Classifier | str | None = None) -> Any:
    """The explanation as a widget for notebooks: click words away to see what would change.

    classifier: the explained model, to show its true answer beside the prediction; without it,
    only what the explanation predicts. Needs the extra `notebook`.

    Raises a `SettingError` where the extra is missing, or the classifier is not the one explained.
    """
    kind = _kind()
    tried = Removals(
        explanation, None if classifier is None else _decision(explanation, classifier)
    )
    return kind(tried)


@dataclass(frozen=True)
class Removals:
    """Words taken out of an explained text: what is predicted then, and what the model says."""

    explanation: Explanation
    decision: Decision | None = None

    def answer(self, removed: Iterable[Any]) -> dict[str, Any]:
        """What the widget shows when these players are out of the text."""
        count = len(self.explanation.players)
        out = sorted({int(index) for index in removed if 0 <= int(index) < count})
        if not out:
            return {"removed": [], "rows": [], "note": ""}
        if len(out) == count:
            return {"removed": out, "rows": [], "note": "Leave at least one in."}
        rows = [self._row("whole text", self.explanation.target.score, None)]
        predicted, note = self._predicted(out)
        rows += [] if predicted is None else [predicted]
        if self.decision is not None:
            rows.append(self._true(self.decision, out))
        return {"removed": out, "rows": rows, "note": note}

    def _predicted(self, out: list[int]) -> tuple[dict[str, Any] | None, str]:
        explanation = self.explanation
        try:
            if explanation.parts is None:
                change = explanation.change(out)
                return self._row("predicted", explanation.target.score - change, None), ""
            kept = set(range(len(explanation.players))) - set(out)
            prediction = explanation.predict(kept)
            return self._row("predicted", prediction.score, prediction.error), ""
        except PisteError as error:
            return None, visible(str(error))

    def _true(self, decision: Decision, out: list[int]) -> dict[str, Any]:
        score, label = decision.without(out)
        decided = decision.target.scale != RAW  # a number decides nothing
        says = f"says {one_line(label)}" if decided else ""
        return self._row("the model", score, None) | {"says": says}

    def _row(self, title: str, score: float, error: float | None) -> dict[str, Any]:
        share, target = None, self.explanation.target
        # Of all classes together, the score of one tells no probability.
        if target.probability is not None and target.scale != CENTRED:
            share = float(1 / (1 + np.exp(-np.clip(score, -500, 500))))
        return {
            "title": title,
            "score": words.signed(score),
            "error": words.give_or_take(error) if error else "",
            "share": share,
            "percent": "" if share is None else words.percent(share),
            "says": "",
        }


def _decision(explanation: Explanation, classifier: Classifier | str) -> Decision:
    """The explained decision, anew; the model must read the text as the explained one did."""
    text, pair = explanation.text, None
    if explanation.second is not None:
        text, pair = text[: explanation.second - len(BETWEEN)], text[explanation.second :]
    target = explanation.target
    if target.scale == CENTRED:
        raise SettingError(
            'The scores of target="all" are not on the scale of the model\'s answer to one label.',
            "Explain one label, or leave the classifier out to see predictions.",
        )
    options = Options(
        target=target.index,
        against=target.against_index,
        unit=explanation.unit,
        repeats=explanation.repeats,
    )
    decision = Decision.on(text, as_classifier(classifier), options, pair)
    if not _is_same(decision, explanation):
        raise SettingError(
            f"This classifier does not give the explained answer: {decision.target.scale} "
            f"{words.signed(decision.target.score)} of {decision.target.title!r} in place of "
            f"{words.signed(target.score)} of {target.title!r}.",
            "Give the classifier that was explained; without one, predictions are shown.",
        )
    return decision


def _is_same(decision: Decision, explanation: Explanation) -> bool:
    """Whether text, scale and score are those explained, up to rounding of another backend."""
    ours, theirs = explanation.target, decision.target
    texts = [player.text for player in decision.players.items]
    near = abs(ours.score - theirs.score) <= ROUNDING * (1 + abs(ours.score))
    same = texts == [player.text for player in explanation.players]
    return same and near and (ours.scale, ours.labels) == (theirs.scale, theirs.labels)


def _view(explanation: Explanation) -> dict[str, Any]:
    """What the script draws and never changes."""
    shades = strengths(explanation)
    parts = []
    for part in segments(explanation):
        strength = shade(part, shades)
        colour = [hue(strength, explanation.primary), level(strength)]
        parts.append([visible(part.text), list(part.players), *colour])
    low, high = ends(explanation, explanation.primary)
    return {
        "headline": visible(answer.sentence(explanation)),
        "label": words.named(explanation.target),
        "scale": one_line(explanation.target.scale, 60),
        "unit": explanation.unit,
        "parts": parts,
        "ends": [low, high],
        "sides": list(words.sides(explanation.target)) if sided(explanation) else [],
    }


@functools.cache
def _kind() -> Callable[[Removals], Any]:
    """The class of widgets, made when first used: anywidget is an extra."""
    anywidget = require("anywidget", "A widget")
    traitlets = require("traitlets", "A widget")

    def begin(self: Any, tried: Removals) -> None:
        anywidget.AnyWidget.__init__(self, view=_view(tried.explanation))
        self.observe(lambda change: setattr(self, "answer", tried.answer(change["new"])), "removed")
        self.explanation = tried.explanation

    def bundle(self: Any, **asked: Any) -> Any:
        """What a notebook shows; where no widgets run, the page."""
        given = anywidget.AnyWidget._repr_mimebundle_(self, **asked)
        data, about = given if isinstance(given, tuple) else (given or {}, {})
        return {**data, "text/html": self.explanation._repr_html_()}, about

    synced: dict[str, Any] = {
        "view": traitlets.Dict().tag(sync=True),
        "removed": traitlets.List(traitlets.Int()).tag(sync=True),
        "answer": traitlets.Dict().tag(sync=True),
        "_esm": source("widget.js"),
        "_css": source("widget.css"),
        "__init__": begin,
        "_repr_mimebundle_": bundle,
    }
    made: Callable[[Removals], Any] = type("ExplanationWidget", (anywidget.AnyWidget,), synced)
    return made
