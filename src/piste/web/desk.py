"""What is done for a request, in a worker's thread; results of a text are kept for the next one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from scipy.special import expit

from piste.compare import SEVEN, Comparison, compare, on_trial
from piste.errors import InputError, PisteError, SettingError, choices
from piste.explain import explain
from piste.explanation import Cost, Explanation, FloatArray, Target
from piste.methods import METHODS, find_method, settings, summary
from piste.metrics.asking import probabilities
from piste.metrics.deletion import deletion_curve
from piste.models.protocol import Classifier, WithAttention, WithGradients
from piste.models.query import Query
from piste.models.shared import shared
from piste.models.target import LOG_ODDS, margins
from piste.ragged import Ragged
from piste.text.players import UNIT_NAMES, Players
from piste.web.line import Job
from piste.web.requests import (
    Answer,
    Asked,
    AskedOfMany,
    AskedWithout,
    Curve,
    ModelInfo,
    Models,
    Said,
)

KEPT = 64  # texts, and as many explanations
MOST_ANSWERS = 4096  # of one text
ORDERS = 5  # random ones, beside a deletion curve
NEEDS: Mapping[str, type] = {
    "gradients": WithGradients,
    "integrated-gradients": WithGradients,
    "attention": WithAttention,
    "rollout": WithAttention,
}
Kept = TypeVar("Kept")
Watch = Callable[[Explanation], None]


class TooLong(InputError):
    """The text is longer than this server takes."""


class Recent(OrderedDict[object, Kept]):
    """The last few results, by what was asked. For several threads."""

    def __init__(self, most: int = KEPT) -> None:
        super().__init__()
        self.most, self.lock = most, threading.Lock()

    def find(self, key: object) -> Kept | None:
        with self.lock:
            if key in self:
                self.move_to_end(key)
            return self.get(key)

    def keep(self, key: object, found: Kept) -> Kept:
        with self.lock:
            self[key] = found
            while len(self) > self.most:
                self.popitem(last=False)
        return found


@dataclass
class Trial:
    """A text before the model: its words can be removed, and the model asked again."""

    query: Query
    players: Players
    target: Target
    lock: threading.Lock = field(default_factory=threading.Lock)

    def without(self, removed: set[int]) -> tuple[float, int]:
        """The target's score and the model's choice for the text without these players."""
        kept = [index for index in range(len(self.players)) if index not in removed]
        with self.lock:
            self.forget()
            query = self.query
            logits = query.logits(self.players.tokens(Ragged.of([kept])))
            score = margins(logits, query.classifier, self.target.index)[0]
        return float(score), int(np.argmax(logits[0]))

    def curve(self, scores: FloatArray) -> tuple[list[float], FloatArray]:
        """Shares of the words removed, and the probability that is left; highest-scored first."""
        with self.lock:
            self.forget()
            shares, falls = deletion_curve(self.query, self.players, self.target, scores)
        whole = probabilities(np.array([self.target.score]), self.target)
        return [0.0, *shares.tolist()], np.concatenate([whole, whole - falls])

    def forget(self) -> None:
        """Answers are kept so that nothing is asked twice, but not for ever."""
        if len(self.query.answers) > MOST_ANSWERS:
            self.query.answers.clear()


class Desk:
    """The models that were given at the start, and what is done with them."""

    def __init__(self, models: Mapping[str, Classifier], max_chars: int) -> None:
        if not models:
            raise SettingError("There is no model to serve.", "Give one: --model demo.")
        self.models: dict[str, Classifier] = {name: shared(m) for name, m in models.items()}
        self.max_chars = max_chars
        self.trials: Recent[Trial] = Recent()
        self.explanations: Recent[Explanation] = Recent()

    def about(self) -> Models:
        infos = [
            ModelInfo(name=name, labels=list(model.labels or ()), methods=applicable(model))
            for name, model in self.models.items()
        ]
        return Models(models=infos, units=list(UNIT_NAMES), max_chars=self.max_chars)

    def check(self, asked: Asked) -> None:
        """What can be refused before anybody waits in line."""
        size = len(asked.text) + len(asked.pair or "")
        if size > self.max_chars:
            raise TooLong(
                f"The text has {size:,} characters.",
                f"This server takes {self.max_chars:,}; --max-chars changes that.",
            )
        self.model(asked)
        find_method(asked.method)

    def model(self, asked: Asked) -> Classifier:
        name = next(iter(self.models)) if asked.model is None else asked.model
        if name not in self.models:
            raise choices("model", name, list(self.models))
        return self.models[name]

    def trial(self, asked: Asked) -> Trial:
        key = (asked.model, asked.text, asked.pair, asked.target, asked.unit, asked.repeats)
        found = self.trials.find(key)
        if found is not None:
            return found
        query, players, target = on_trial(
            asked.text, self.model(asked), asked.target, asked.unit, asked.repeats, asked.pair
        )
        return self.trials.keep(key, Trial(query, players, target))

    def knows(self, asked: Asked) -> bool:
        """Whether the explanation is kept from before."""
        return self.explanations.find(_key(asked)) is not None

    def explanation(self, asked: Asked, job: Job, watch: Watch | None = None) -> Explanation:
        """The explanation; `watch` is shown each round's, with the scores so far."""
        key = _key(asked)
        found = self.explanations.find(key)
        if found is not None:
            return found
        trial = self.trial(asked)
        job.check()

        def told(scores: Mapping[str, FloatArray]) -> None:
            job.check()
            if watch is not None:
                watch(_sketch(asked, trial, scores))

        made = explain(
            asked.text,
            self.model(asked),
            asked.method,
            pair=asked.pair,
            target=trial.target.index,
            unit=asked.unit,
            repeats=asked.repeats,
            seed=asked.seed,
            budget=asked.budget,
            tolerance=asked.tolerance,
            progress=job.progress,
            rounds=told,
        )
        return self.explanations.keep(key, made)

    def answer(self, asked: AskedWithout, job: Job) -> Answer:
        """The honest test: words really removed, and what the explanation said would happen."""
        explanation, trial = self.explanation(asked, job), self.trial(asked)
        removed, target = set(asked.removed), explanation.target
        _check_removed(removed, len(trial.players), asked.unit)
        (score, choice), (_, before) = trial.without(removed), trial.without(set())
        predicted, why = _predicted(explanation, sorted(removed))
        return Answer(
            removed=sorted(removed),
            label=target.label,
            scale=target.scale,
            whole=_said(target.score, target),
            true=_said(score, target),
            before=target.labels[before],
            decision=target.labels[choice],
            predicted=predicted,
            why=why,
        )

    def deletion(self, asked: Asked, job: Job) -> Curve:
        """How the answer falls while the highest-scored words go, and while any words go."""
        explanation, trial = self.explanation(asked, job), self.trial(asked)
        shares, ours = trial.curve(explanation.scores[explanation.primary])
        rng, chance = np.random.default_rng(0), []
        for _ in range(ORDERS):
            job.check()
            chance.append(trial.curve(rng.permutation(len(trial.players)).astype(float))[1])
        return Curve(
            label=trial.target.label,
            scale="probability" if trial.target.scale == LOG_ODDS else trial.target.scale,
            method=asked.method,
            removed=shares,
            by_score=ours.tolist(),
            at_random=np.mean(chance, axis=0).tolist(),
        )

    def comparison(self, asked: AskedOfMany, job: Job) -> Comparison:
        methods = asked.methods or [name for name in SEVEN if name in applicable(self.model(asked))]
        return compare(
            asked.text,
            self.model(asked),
            methods,
            pair=asked.pair,
            target=asked.target,
            unit=asked.unit,
            repeats=asked.repeats,
            seed=asked.seed,
            budget=asked.budget,
            measure=asked.measure,
            progress=job.progress,
        )


def _key(asked: Asked) -> object:
    """What two requests must have in common to share an explanation."""
    return tuple(getattr(asked, name) for name in Asked.model_fields)


def applicable(model: Classifier) -> dict[str, str]:
    """The methods that can run on the model, and what each gives."""
    return {
        name: summary(method)
        for name, method in METHODS.items()
        if isinstance(model, NEEDS.get(name, object))
    }


def _check_removed(removed: set[int], players: int, unit: str) -> None:
    if removed and max(removed) >= players:
        raise SettingError(f"There is no player {max(removed)}.", f"The last is {players - 1}.")
    if len(removed) == players:
        raise SettingError(f"Every {unit} is removed.", "Leave at least one to ask about.")


def _predicted(explanation: Explanation, removed: list[int]) -> tuple[Said | None, str | None]:
    try:
        score = explanation.target.score - explanation.change(removed)
    except PisteError as error:
        return None, str(error)
    return _said(score, explanation.target), None


def _said(score: float, target: Target) -> Said:
    sure = None if target.probability is None else float(expit(score))
    return Said(score=score, probability=sure)


def _sketch(asked: Asked, trial: Trial, scores: Mapping[str, FloatArray]) -> Explanation:
    """An explanation that is not finished: the scores so far, and nothing on their worth."""
    return Explanation(
        text=trial.players.text,
        players=trial.players.items,
        scores=dict(scores),
        primary="lin",
        target=trial.target,
        cost=Cost(0, 0, 0.0, 0.0),
        method=asked.method,
        settings=settings(METHODS[asked.method]),
        unit=asked.unit,
        repeats=asked.repeats,
        seed=asked.seed,
        budget=asked.budget,
        model="",
        backend="",
        versions={},
    )
