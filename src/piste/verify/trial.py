"""The explained text in front of the model of today, and how to make its explanation again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from piste.arrays import FloatArray, Ragged
from piste.decision import CENTRED, Decision, resolve_target
from piste.errors import SettingError
from piste.explain import explain
from piste.lexicon import Lexicon
from piste.methods import remade
from piste.methods.base import Method
from piste.methods.every_class import Classes
from piste.models.fingerprint import rounding
from piste.models.protocol import Classifier, MayVary
from piste.models.query import Query
from piste.options import ALL, Options
from piste.progress import Meter, Progress
from piste.result.explanation import Explanation
from piste.text.encoding import BETWEEN

VARYING = 4.0  # times two answers to one text were apart: others may be farther
Words = Lexicon | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Trial:
    """The explained text in front of the model of today."""

    explanation: Explanation
    decision: Decision  # towards what the model predicts now, of as much as it reads at once
    options: Options

    @classmethod
    def of(cls, explanation: Explanation, classifier: Classifier) -> Trial:
        options = _options(explanation)
        plain = replace(options, target=None, against=None, long="truncate")
        text, pair = _texts(explanation)
        return cls(explanation, Decision.on(text, classifier, plain, pair), options)

    @property
    def in_windows(self) -> bool:
        return self.explanation.settings.get("long") == "windows"

    @property
    def rounding(self) -> float:
        """How far two answers of the model may differ, absolutely and relatively.

        More where they were seen to, then and now: what a file says alone proves nothing.
        """
        parts, classifier = self.explanation.parts, self.decision.query.classifier
        now = classifier.varies if isinstance(classifier, MayVary) else 0.0
        then = 0.0 if parts is None else parts.varies
        return max(rounding(classifier), VARYING * min(then, VARYING * now))

    @property
    def whole(self) -> FloatArray:
        """The model's answer to the text now [outputs]."""
        answers = self.decision.logits(self.decision.players.whole)
        return np.asarray(answers[0])

    def towards(self) -> Decision:
        """The decision towards what was explained, whatever is predicted now."""
        target, classifier = self.explanation.target, self.decision.query.classifier
        same = resolve_target(classifier, self.whole, target.index, target.against_index)
        return replace(self.decision, target=same)

    def scores(self, rows: Ragged) -> FloatArray:
        """The explained number for rows of players [rows], on the scale of the explanation."""
        decision = self.towards()
        logits = decision.logits(rows)
        if self.explanation.target.scale != CENTRED:
            return decision.target_scores(logits)
        classes = Classes.of(decision.query.classifier, self.whole, decision.target)
        return classes.scores(logits)[:, 0]

    def explained(
        self,
        method: Method | None,
        lexicon: Words,
        progress: Progress | None,
    ) -> Explanation:
        """The explanation made again, of the same target."""
        then = self.explanation
        used = _lexicon(then, lexicon)
        settings = replace(self.options, lexicon=used, refine=_refine(then, used)).named()
        if settings["target"] != ALL:
            settings |= {"target": then.target.index, "against": then.target.against_index}
        text, pair = _texts(then)
        chosen = method or remade(then.method, {} if used is not None else then.settings)
        classifier = self.decision.query.classifier
        return explain(text, classifier, chosen, pair=pair, progress=Meter(progress), **settings)


def _texts(explanation: Explanation) -> tuple[str, str | None]:
    if explanation.second is None:
        return explanation.text, None
    first = explanation.text[: explanation.second - len(BETWEEN)]
    return first, explanation.text[explanation.second :]


def _options(explanation: Explanation) -> Options:
    """The recorded options without the lexicon; of old files, what stands in the explanation."""
    if explanation.record is not None:
        return Options.of(**{**explanation.record.options, "lexicon": None, "refine": None})
    every = explanation.settings.get("target") == ALL
    return Options.of(
        target=ALL if every else explanation.target.index,
        against=explanation.target.against_index,
        unit=explanation.unit,
        repeats=explanation.repeats,
        long=explanation.settings.get("long", "truncate"),
        seed=explanation.seed,
        budget=explanation.budget,
        tolerance=explanation.tolerance,
    )


def _lexicon(explanation: Explanation, given: Words) -> Words:
    recorded = None if explanation.record is None else explanation.record.options.get("lexicon")
    if given is None and "lexicon" in explanation.settings:
        raise SettingError(
            f"it was made with a lexicon ({recorded or 'not recorded'}).",
            "Give the lexicon too (lexicon=, --lexicon FILE).",
        )
    return given


def _refine(explanation: Explanation, lexicon: object) -> int | None:
    return None if lexicon is None else explanation.settings.get("refine")


def recorded(explanation: Explanation, query: Query) -> Iterator[tuple[list[int], float]]:
    """The parts whose answers are recorded; the whole text is one of them.

    The empty one only where the model reads it: else what is recorded is no answer of the model.
    """
    if explanation.parts is None:
        yield list(range(len(explanation.players))), explanation.target.score
        return
    kept = (np.flatnonzero(part).tolist() for part in explanation.parts.parts)
    for players, answer in zip(kept, explanation.parts.answers.tolist(), strict=True):
        if players or query.reads_nothing:
            yield players, answer
