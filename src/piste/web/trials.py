"""What a person tries on a decision: words removed or replaced, and the model asked again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from piste.arrays import FloatArray, Ragged
from piste.decision import CENTRED, Decision
from piste.errors import PisteError, SettingError
from piste.methods.every_class import Classes
from piste.metrics.deletion import deletion_curve
from piste.result.explanation import Explanation, Target
from piste.special import expit
from piste.text.players import Players
from piste.web.requests import EditAnswer, RemovalAnswer, Said

MOST_ANSWERS = 4096  # of one text


@dataclass
class OpenDecision:
    """A decision that a page looks at: its words can be changed, and the model asked again."""

    decision: Decision
    lock: threading.Lock = field(default_factory=threading.Lock)

    def without(self, removed: set[int]) -> FloatArray:
        """The model's outputs [1, outputs] for the text without these players."""
        kept = [index for index in range(len(self.decision.players)) if index not in removed]
        with self.lock:
            self.forget()
            return self.decision.logits(Ragged.of([kept]))

    def answer_to(self, text: str, pair: str | None) -> FloatArray:
        """The model's outputs [1, outputs] for another text."""
        decision = Decision.on(text, self.decision.query.classifier, pair=pair)
        return decision.logits(decision.players.whole)

    def said(self, logits: FloatArray, target: Target) -> Said:
        """The target's score in these outputs, on its own scale."""
        margin = self.decision.target_scores(logits)
        score = margin if target.scale != CENTRED else self._classes().scores(logits)[:, 0]
        sure = None if target.probability is None else float(expit(margin[0]))
        return Said(score=float(score[0]), probability=sure, error=None)

    def choice(self, logits: FloatArray) -> str:
        """What the model says: the label that it chooses, or whether it says the target."""
        return self.decision.said(logits[0])

    def _classes(self) -> Classes:
        """The classes that were explained together."""
        whole = self.without(set())[0]
        return Classes.of(self.decision.query.classifier, whole, self.decision.target)

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


def removal(tried: OpenDecision, explanation: Explanation, removed: set[int]) -> RemovalAnswer:
    """The model's answer without these players, beside the explanation's prediction."""
    target = explanation.target
    _check_removed(removed, tried.decision.players)
    rest, whole = tried.without(removed), tried.without(set())
    guess, why = _predicted_or_why(explanation, removed)
    return RemovalAnswer(
        removed=sorted(removed),
        label=target.title,
        scale=target.scale,
        whole=tried.said(whole, target),
        true=tried.said(rest, target),
        before=tried.choice(whole),
        decision=tried.choice(rest),
        predicted=guess,
        why=why,
    )


def edit(tried: OpenDecision, explanation: Explanation, text: str, pair: str | None) -> EditAnswer:
    """The model's answer to the edited text."""
    target = explanation.target
    edited, whole = tried.answer_to(text, pair), tried.without(set())
    return EditAnswer(
        text=text,
        pair=pair,
        label=target.title,
        scale=target.scale,
        whole=tried.said(whole, target),
        true=tried.said(edited, target),
        before=tried.choice(whole),
        decision=tried.choice(edited),
    )


def predicted(explanation: Explanation, kept: Iterable[int]) -> Said:
    """What the explanation predicts for the text with only these players."""
    prediction, target = explanation.predict(kept), explanation.target
    return _guess(prediction.score, target, prediction.error)


def edited_texts(
    text: str, pair: str | None, explanation: Explanation, edits: Mapping[int, str]
) -> tuple[str, str | None]:
    """Both texts with these players replaced; an empty replacement takes a space with it."""
    last = len(explanation.players) - 1
    if edits and max(edits) > last:
        raise SettingError(f"There is no player {max(edits)}.", f"The last is {last}.")
    texts = [text, pair or ""]
    offsets = (0, explanation.second or 0)
    beyond = [len(text), len(pair or "")]
    order = sorted(edits, key=lambda index: -explanation.players[index].start)
    for index in order:
        player = explanation.players[index]
        segment = player.segment
        start, end = (place - offsets[segment] for place in (player.start, player.end))
        if end > beyond[segment]:
            raise SettingError(
                f"Player {index} shares characters with another that is replaced.",
                "Replace one of them.",
            )
        texts[segment] = _spliced(texts[segment], start, end, edits[index])
        beyond[segment] = start
    return texts[0], None if pair is None else texts[1]


def _spliced(text: str, start: int, end: int, new: str) -> str:
    before, after = text[:start], text[end:]
    if not new and after[:1].isspace() and (not before or before[-1].isspace()):
        after = after[1:]
    return f"{before}{new}{after}"


def _check_removed(removed: set[int], players: Players) -> None:
    if removed and max(removed) >= len(players):
        last = len(players) - 1
        raise SettingError(f"There is no player {max(removed)}.", f"The last is {last}.")
    if len(removed) == len(players):
        raise SettingError(f"Every {players.unit} is removed.", "Leave at least one to ask about.")


def _predicted_or_why(
    explanation: Explanation, removed: set[int]
) -> tuple[Said | None, str | None]:
    """The prediction, or the reason why there is none."""
    target = explanation.target
    try:
        if explanation.parts is not None:
            return predicted(explanation, set(range(len(explanation.players))) - removed), None
        return _guess(target.score - explanation.change(sorted(removed)), target), None
    except PisteError as error:
        return None, str(error)


def _guess(score: float, target: Target, error: float | None = None) -> Said:
    """A predicted score; of all classes together, one of them tells no probability."""
    told = target.probability is not None and target.scale != CENTRED
    return Said(score=score, probability=float(expit(score)) if told else None, error=error)
