"""The work behind each request, run in a worker's thread; recent results are cached."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from scipy.special import expit

from piste.arrays import FloatArray
from piste.compare import SEVEN, Comparison, compare
from piste.decision import Decision, in_log_odds
from piste.errors import InputError, PisteError, SettingError, choices
from piste.explain import explain
from piste.methods import METHODS, find_method, summary
from piste.metrics.deletion import deletion_curve
from piste.models.protocol import Classifier
from piste.options import EFFORTS, UNITS
from piste.result.explanation import Explanation, Target
from piste.result.facts import Cost
from piste.text.players import Players
from piste.web.job_queue import Job
from piste.web.requests import (
    CompareRequest,
    Curve,
    ExplainRequest,
    ModelInfo,
    Models,
    RemovalAnswer,
    RemovalRequest,
    Said,
)

KEPT = 64  # texts, and as many explanations
MOST_ANSWERS = 4096  # of one text
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


@dataclass
class OpenDecision:
    """A decision that a page looks at: its words can be removed, and the model asked again."""

    decision: Decision
    lock: threading.Lock = field(default_factory=threading.Lock)

    def without(self, removed: set[int]) -> tuple[float, int]:
        """The target's score and the model's choice for the text without these players."""
        with self.lock:
            self.forget()
            return self.decision.without(removed)

    def curve(self, scores: FloatArray) -> tuple[list[float], FloatArray]:
        """Shares of the words removed, and the probability that is left; highest-scored first."""
        with self.lock:
            self.forget()
            shares, falls = deletion_curve(self.decision, scores)
        whole = self.decision.probabilities(np.array([self.decision.target.score]))
        return [0.0, *shares.tolist()], np.concatenate([whole, whole - falls])

    def forget(self) -> None:
        """Clear the cached answers when there are too many."""
        if len(self.decision.query.answers) > MOST_ANSWERS:
            self.decision.query.answers.clear()


class Service:
    """The served models, with caches of recent decisions and explanations."""

    def __init__(self, models: Mapping[str, Classifier], max_chars: int) -> None:
        if not models:
            raise SettingError("There is no model to serve.", "Give one: --model demo.")
        self.models: dict[str, Classifier] = dict(models)
        self.max_chars = max_chars
        self.decisions: Recent[OpenDecision] = Recent()
        self.explanations: Recent[Explanation] = Recent()

    def about(self) -> Models:
        infos = [
            ModelInfo(name=name, labels=list(model.labels or ()), methods=applicable(model))
            for name, model in self.models.items()
        ]
        return Models(
            models=infos, units=list(UNITS), efforts=list(EFFORTS), max_chars=self.max_chars
        )

    def check(self, asked: ExplainRequest) -> None:
        """Refuse what can be refused before the request is queued."""
        size = len(asked.text) + len(asked.pair or "")
        if size > self.max_chars:
            raise TooLong(
                f"The text has {size:,} characters.",
                f"This server takes {self.max_chars:,}; --max-chars changes that.",
            )
        self.model(asked)
        find_method(asked.method)

    def model(self, asked: ExplainRequest) -> Classifier:
        name = next(iter(self.models)) if asked.model is None else asked.model
        if name not in self.models:
            raise choices("model", name, list(self.models))
        return self.models[name]

    def decision(self, asked: ExplainRequest) -> OpenDecision:
        options = asked.options()
        named = (options.target, options.against, options.unit, options.repeats)
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
            if watch is not None:
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
        explanation, tried = self.explanation(asked, job), self._tried(asked)
        removed, target = set(asked.removed), explanation.target
        _check_removed(removed, tried.decision.players)
        (score, choice), (_, before) = tried.without(removed), tried.without(set())
        predicted, why = _predicted(explanation, sorted(removed))
        return RemovalAnswer(
            removed=sorted(removed),
            label=target.title,
            scale=target.scale,
            whole=_said(target.score, target),
            true=_said(score, target),
            before=target.labels[before],
            decision=target.labels[choice],
            predicted=predicted,
            why=why,
        )

    def deletion(self, asked: ExplainRequest, job: Job) -> Curve:
        """How the answer falls while the highest-scored words go, and while any words go."""
        explanation, tried = self.explanation(asked, job), self._tried(asked)
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

    def _tried(self, asked: ExplainRequest) -> OpenDecision:
        """The decision whose words are removed; the model must read the text at once for that."""
        if asked.options().long == "windows":
            raise SettingError(
                "Words of a text in windows cannot be removed one by one.",
                'Leave long="windows" out.',
            )
        return self.decision(asked)


def applicable(model: Classifier) -> dict[str, str]:
    """The methods that can run on the model, and what each gives."""
    return {name: summary(method) for name, method in METHODS.items() if method.runs_on(model)}


def _check_removed(removed: set[int], players: Players) -> None:
    if removed and max(removed) >= len(players):
        last = len(players) - 1
        raise SettingError(f"There is no player {max(removed)}.", f"The last is {last}.")
    if len(removed) == len(players):
        raise SettingError(f"Every {players.unit} is removed.", "Leave at least one to ask about.")


def _predicted(explanation: Explanation, removed: list[int]) -> tuple[Said | None, str | None]:
    target = explanation.target
    try:
        if explanation.parts is not None:
            kept = set(range(len(explanation.players))) - set(removed)
            prediction = explanation.predict(kept)
            return _said(prediction.score, target, prediction.error), None
        return _said(target.score - explanation.change(removed), target), None
    except PisteError as error:
        return None, str(error)


def _said(score: float, target: Target, error: float | None = None) -> Said:
    sure = None if target.probability is None else float(expit(score))
    return Said(score=score, probability=sure, error=error)


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
