"""The work behind each request, run in a worker's thread; recent results are cached."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from piste.arrays import FloatArray
from piste.compare import SEVEN, Comparison, compare
from piste.decision import RANKS, Decision, in_log_odds
from piste.errors import InputError, SettingError, choices
from piste.explain import explain
from piste.methods import METHODS, find_method, summary
from piste.models.protocol import Classifier
from piste.options import ALL
from piste.result.explanation import Explanation
from piste.result.facts import Cost
from piste.text.spans import placed
from piste.web import trials
from piste.web.job_queue import Job
from piste.web.requests import (
    CompareRequest,
    Curve,
    EditAnswer,
    EditRequest,
    ExplainRequest,
    ModelInfo,
    Models,
    Predictions,
    PredictRequest,
    RemovalAnswer,
    RemovalRequest,
    offered,
)
from piste.web.settings import EXAMPLE
from piste.web.trials import OpenDecision

KEPT = 64  # texts, and as many explanations
ORDERS = 5  # random ones, beside a deletion curve
Kept = TypeVar("Kept")
OnRound = Callable[[Explanation], None]


class TooLong(InputError):
    """The text is longer than this server takes."""


class Recent(OrderedDict[object, Kept]):
    """A thread-safe cache of the most recent results, by request."""

    def __init__(self, most: int = KEPT) -> None:
        super().__init__()
        self.most, self.lock = most, threading.Lock()

    def find(self, key: object) -> Kept | None:
        with self.lock:
            if key in self:
                self.move_to_end(key)
            return self.get(key)

    def keep(self, key: object, value: Kept) -> Kept:
        with self.lock:
            self[key] = value
            while len(self) > self.most:
                self.popitem(last=False)
        return value


class Service:
    """The served models, with caches of recent decisions and explanations."""

    def __init__(
        self, models: Mapping[str, Classifier], max_chars: int, example: str = EXAMPLE
    ) -> None:
        if not models:
            raise SettingError("There is no model to serve.", "Give one: --model demo.")
        self.models: dict[str, Classifier] = dict(models)
        self.max_chars = max_chars
        self.example = example if len(example) <= max_chars else ""
        self.decisions: Recent[OpenDecision] = Recent()
        self.explanations: Recent[Explanation] = Recent()

    def about(self) -> Models:
        infos = [
            ModelInfo(name=name, labels=list(model.labels or ()), methods=applicable(model))
            for name, model in self.models.items()
        ]
        return Models(
            models=infos,
            settings=offered(),
            targets=[*RANKS, ALL],
            max_chars=self.max_chars,
            example=self.example,
        )

    def check(self, asked: ExplainRequest) -> None:
        """Refuse what can be refused before the request is queued."""
        self._check_size(asked.text, asked.pair)
        self.model(asked)
        find_method(asked.method)

    def _check_size(self, text: str, pair: str | None) -> None:
        size = len(text) + len(pair or "")
        if size > self.max_chars:
            raise TooLong(
                f"The text has {size:,} characters.",
                f"This server takes {self.max_chars:,}; --max-chars changes that.",
            )

    def model(self, asked: ExplainRequest) -> Classifier:
        name = next(iter(self.models)) if asked.model is None else asked.model
        if name not in self.models:
            raise choices("model", name, list(self.models))
        return self.models[name]

    def decision(self, asked: ExplainRequest) -> OpenDecision:
        options = asked.options()
        units = (options.unit, options.repeats, options.spans, options.pair_spans, options.marks)
        named = (options.target, options.against, *units)
        key = (asked.model, asked.text, asked.pair, *named)
        known = self.decisions.find(key)
        if known is not None:
            return known
        decision = Decision.on(asked.text, self.model(asked), options, asked.pair)
        return self.decisions.keep(key, OpenDecision(decision))

    def knows(self, asked: ExplainRequest) -> bool:
        """Whether the explanation is cached."""
        return self.explanations.find(asked.key()) is not None

    def explanation(
        self, asked: ExplainRequest, job: Job, watch: OnRound | None = None
    ) -> Explanation:
        """The explanation; `watch` is called after each round with the scores so far."""
        key = asked.key()
        known = self.explanations.find(key)
        if known is not None:
            return known
        open_decision = self.decision(asked)
        job.check()

        def show_round(scores: Mapping[str, FloatArray]) -> None:
            job.check()
            if watch is not None and asked.options().long != "windows":  # those have own players
                watch(_sketch(asked, open_decision.decision, scores))

        explanation = explain(
            asked.text,
            self.model(asked),
            asked.method,
            pair=asked.pair,
            progress=job.progress,
            rounds=show_round,
            **asked.options().named(),
        )
        return self.explanations.keep(key, explanation)

    def answer(self, asked: RemovalRequest, job: Job) -> RemovalAnswer:
        """The model's answer without these words, beside the explanation's prediction."""
        explanation = self.explanation(asked, job)
        return trials.removal(self._tried(asked, explanation), explanation, set(asked.removed))

    def edited(self, asked: EditRequest, job: Job) -> EditAnswer:
        """The model's answer to the text with words replaced."""
        explanation = self.explanation(asked, job)
        changes = {edit.player: edit.text for edit in asked.edits}
        plain = placed(asked.text, asked.pair, asked.options())[:2]
        first, second = trials.edited_texts(*plain, explanation, changes)
        self._check_size(first, second)
        job.check()
        return trials.edit(self._tried(asked, explanation), explanation, first, second)

    def predictions(self, asked: PredictRequest, job: Job) -> Predictions:
        """What the explanation predicts for parts of the text; the model is not asked."""
        explanation = self.explanation(asked, job)
        target = explanation.target
        predicted = [trials.predicted(explanation, part) for part in asked.kept]
        return Predictions(label=target.title, scale=target.scale, predicted=predicted)

    def deletion(self, asked: ExplainRequest, job: Job) -> Curve:
        """How the answer falls while the highest-scored words go, and while any words go."""
        explanation = self.explanation(asked, job)
        tried = self._tried(asked, explanation)
        target = tried.decision.target
        shares, ours = tried.curve(explanation.scores[explanation.primary])
        rng, chance = np.random.default_rng(0), []
        for _ in range(ORDERS):
            job.check()
            chance.append(
                tried.curve(rng.permutation(len(tried.decision.players)).astype(float))[1]
            )
        return Curve(
            label=target.title,
            scale="probability" if in_log_odds(target) else target.scale,
            method=asked.method,
            removed=shares,
            by_score=ours.tolist(),
            at_random=np.mean(chance, axis=0).tolist(),
        )

    def comparison(self, asked: CompareRequest, job: Job) -> Comparison:
        methods = asked.methods or [name for name in SEVEN if name in applicable(self.model(asked))]
        return compare(
            asked.text,
            self.model(asked),
            methods,
            pair=asked.pair,
            measure=asked.measure,
            progress=job.progress,
            **asked.options().named(),
        )

    def _tried(self, asked: ExplainRequest, explanation: Explanation) -> OpenDecision:
        """The decision whose words are changed; the model must read the text at once for that."""
        if explanation.settings.get("long") == "windows":
            raise SettingError(
                "The model read this text in windows, so single words cannot be tried.",
                'Leave long="windows" out.',
            )
        return self.decision(asked)


def applicable(model: Classifier) -> dict[str, str]:
    """The methods that can run on the model, and what each gives."""
    return {name: summary(method) for name, method in METHODS.items() if method.runs_on(model)}


def _sketch(
    asked: ExplainRequest, decision: Decision, scores: Mapping[str, FloatArray]
) -> Explanation:
    """An explanation that is not finished: the scores so far, and nothing on their worth."""
    options, method = asked.options(), METHODS[asked.method]
    return Explanation(
        text=decision.players.text,
        players=decision.players.items,
        scores=dict(scores),
        primary="effect" if "effect" in scores else "lin",
        target=decision.target,
        cost=Cost(0, 0, 0.0, 0.0),
        method=method.name,
        settings=method.settings(),
        unit=options.unit,
        repeats=options.repeats,
        seed=options.seed,
        budget=options.budget,
        model="",
        backend="",
        versions={},
    )
