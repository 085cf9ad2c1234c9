"""One text in front of one model: its players, the number that is explained, the line to ask on.

One scale for everybody: the log-odds of the target, against all other classes together or against
one of them, or the raw score of a regression.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray, Ragged
from piste.errors import InputError, OutputError, SettingError, choices, several
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.options import DEFAULT, Options
from piste.result.explanation import Target
from piste.special import expit, logsumexp
from piste.text.encoding import Encoding, check_text, texts, truncated
from piste.text.players import Players, split
from piste.text.spans import own_spans, placed

__all__ = ["Decision"]
LOG_ODDS, RAW = "log-odds", "raw score"
CENTRED = "logit above the mean of all classes"  # where classes are fitted together
RANKS = ("predicted", "runner-up")  # by the model's answer to the text
LARGEST = 1e100  # squares of larger numbers leave float64
SCALES = ("probability", "log-odds")


@dataclass
class Decision:
    """What methods and metrics work on; its query never asks the same sequence twice."""

    query: Query
    players: Players
    target: Target

    @classmethod
    def on(
        cls,
        text: str,
        classifier: Classifier,
        options: Options = DEFAULT,
        pair: str | None = None,
    ) -> Decision:
        """The decision on a text, as much of it as the model reads, on a query without a budget."""
        first, second, options = placed(text, pair, options)
        encoding = truncated(classifier.encode(*texts(first, second)))
        query = Query(classifier, encoding.frame, batch_tokens=options.batch_tokens)
        return cls.of(encoding, query, options)

    @classmethod
    def of(cls, encoding: Encoding, query: Query, options: Options = DEFAULT) -> Decision:
        """The decision on a text that fits into the model; asks for the model's answer to it."""
        own = own_spans(encoding, options)
        players = split(encoding, options.unit, options.repeats, own)
        whole = query.logits(players.tokens(players.whole))[0]
        every = options.means_every_class(query.classifier.labels)
        wanted = None if every else options.target
        target = resolve_target(query.classifier, whole, wanted, options.against)
        return cls(query, players, target)

    def logits(self, rows: Ragged) -> FloatArray:
        """The model's outputs [rows, outputs] for rows of players."""
        return self.query.logits(self.players.tokens(rows))

    def margins(self, rows: Ragged) -> FloatArray:
        """The target's score [rows] for rows of players."""
        return self.target_scores(self.logits(rows))

    def target_scores(self, logits: FloatArray) -> FloatArray:
        """The target's score [rows] in the model's outputs [rows, outputs]."""
        target = self.target
        return margins(logits, self.query.classifier, target.index, target.against_index)

    def decides(self, logits: FloatArray) -> BoolArray:
        """Whether the model decides for the target [rows], given its outputs [rows, outputs].

        Of a contrast: whether it prefers the target to the other label, whatever comes first.
        """
        if self.target.against is not None:
            return np.asarray(self.target_scores(logits) > 0)
        single = self.query.classifier.outputs == "labels" or logits.shape[1] == 1
        index = self.target.index
        return np.asarray(logits[:, index] > 0 if single else logits.argmax(axis=1) == index)

    def choice(self, logits: FloatArray) -> int:
        """The output that the model chooses [outputs]; of a contrast, the one of the two."""
        rival = self.target.against_index
        if rival is None:
            return int(np.argmax(logits))
        return self.target.index if self.decides(logits[None])[0] else rival

    def said(self, logits: FloatArray) -> str:
        """What the model says [outputs], as far as it concerns the target.

        The label that it chooses; of one that others do not exclude, whether it says it ("toxic",
        "not toxic"). A number decides nothing: it is always the target's own name.
        """
        target, outputs = self.target, self.query.classifier.outputs
        if outputs == "raw":
            return target.label
        if outputs == "labels" or len(logits) == 1:
            return target.label if self.decides(logits[None])[0] else f"not {target.label}"
        return target.labels[self.choice(logits)]

    def keeping(self, kept: Iterable[IntArray]) -> FloatArray:
        """The target's score [sets] for each set of kept players; all others are deleted."""
        return self.margins(Ragged.of([np.sort(row).tolist() for row in kept]))

    def falls(self, kept: Iterable[IntArray]) -> FloatArray:
        """p(whole text) - p(kept players alone) for each set of kept players [sets]."""
        whole = self.probabilities(np.array([self.target.score]))[0]
        return np.asarray(whole - self.probabilities(self.keeping(kept)))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Log-odds as probabilities; scores on another scale have none and stay as they are."""
        return np.asarray(expit(scores)) if in_log_odds(self.target) else scores

    def without(self, removed: Collection[int]) -> tuple[float, str]:
        """The target's score, and what the model says, without these players."""
        kept = [index for index in range(len(self.players)) if index not in removed]
        logits = self.logits(Ragged.of([kept]))
        return float(self.target_scores(logits)[0]), self.said(logits[0])


class SameLabel(SettingError):
    """The target is contrasted with itself: on another text it may not be."""


def resolve_target(
    classifier: Classifier,
    logits: FloatArray,
    wanted: str | int | None,
    against: str | int | None = None,
) -> Target:
    """The target that `wanted` names; None is the predicted output. `logits` is [outputs].

    A label's name, its index, "predicted" or "runner-up". against: the label that it is contrasted
    with; there the runner-up is the likeliest label beside the target.
    """
    labels = classifier.labels or tuple(f"class {i}" for i in range(len(logits)))
    if len(labels) != len(logits):
        outputs = several(len(logits), "output")
        raise OutputError(
            f"The model gives {outputs} but has {several(len(labels), 'label')}.",
            "Pass one label for each output, in their order.",
        )
    ranked = np.argsort(-logits, kind="stable")
    index = int(ranked[0]) if wanted is None else _index(labels, wanted, ranked)
    rival = None if against is None else _rival(classifier, labels, against, ranked, index)
    score = float(margins(logits[None, :], classifier, index, rival)[0])
    scale = scale_of(classifier) if rival is None else f"{LOG_ODDS} against {labels[rival]}"
    return Target(
        index=index,
        label=labels[index],
        scale=scale,
        score=score,
        probability=None if scale == RAW else float(expit(score)),
        labels=labels,
        against=None if rival is None else labels[rival],
        against_index=rival,
    )


def _rival(
    classifier: Classifier,
    labels: tuple[str, ...],
    against: str | int,
    ranked: IntArray,
    index: int,
) -> int:
    """The output that output `index` is contrasted with."""
    if classifier.outputs != "classes" or len(labels) < 2:
        single = "labels that do not exclude each other" if len(labels) > 1 else "one output"
        what = "numbers, not labels" if classifier.outputs == "raw" else single
        raise SettingError(
            f"against is {against!r}, but this model gives {what}: there is nothing to choose"
            " between.",
            "Leave against out.",
        )
    runner_up = int(ranked[ranked != index][0])
    ranks = np.array([ranked[0], runner_up])
    rival = _index(labels, against, ranks, "label to contrast with")
    if rival == index:
        raise SameLabel(
            f"against is {against!r}, and {labels[index]!r} is what is explained.",
            f'Give another label: against={labels[runner_up]!r}, or against="runner-up".',
        )
    return rival


def in_log_odds(target: Target) -> bool:
    """Whether the sigmoid of the target's scores is a probability."""
    return target.scale == LOG_ODDS or target.against is not None


def scale_of(classifier: Classifier) -> str:
    """The scale of the explained number."""
    return RAW if classifier.outputs == "raw" else LOG_ODDS


def margins(
    logits: FloatArray, classifier: Classifier, index: int, against: int | None = None
) -> FloatArray:
    """The explained number for each row [rows] of outputs [rows, outputs].

    Log-odds against all other classes together, or against one: the difference of two logits.
    """
    largest = float(np.abs(logits).max(initial=0.0))
    if not largest <= LARGEST:
        raise OutputError(
            f"The model's answers are as large as {largest:.0e}.",
            "Nothing can be fitted to numbers that large: check what the model returns.",
        )
    explained = logits[:, index]
    if against is not None:
        explained = explained - logits[:, against]
    elif classifier.outputs == "classes":
        explained = explained - logsumexp(np.delete(logits, index, axis=1), axis=1)
    return np.asarray(explained, dtype=np.float64)


def _index(
    labels: tuple[str, ...], wanted: str | int, ranked: IntArray, setting: str = "target"
) -> int:
    """The index of the output; a label named "predicted" takes precedence over the keyword.

    ranked: the outputs that are meant by `RANKS`, in their order.
    """
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if -1 < wanted < len(labels):
            return wanted
        raise SettingError(
            f"There is no {setting} {wanted}.", f"Give 0 to {len(labels) - 1}, or a label's name."
        )
    if wanted in labels:
        return labels.index(str(wanted))
    folded = [label.casefold() for label in labels]
    if folded.count(str(wanted).casefold()) == 1:
        return folded.index(str(wanted).casefold())
    if str(wanted).isdecimal() and int(wanted) < len(labels):
        return int(wanted)
    if wanted in RANKS and RANKS.index(str(wanted)) < len(labels):
        return int(ranked[RANKS.index(str(wanted))])
    # "all" is offered where it is to be had.
    every = () if wanted == "all" or setting != "target" else ("all",)
    raise choices(setting, wanted, (*labels, *RANKS[: len(labels)], *every))


def predict(
    texts: Iterable[str],
    classifier: Classifier | str | None = None,
    scale: Literal["probability", "log-odds"] = "probability",
) -> FloatArray:
    """The model's prediction for every label of each text: an array [texts, labels].

    The form that lime and shap want of a model: `lambda texts: piste.predict(texts, classifier)`.
    scale: "probability" or "log-odds", of the label against all others; a model that gives raw
    numbers gives them in either. A text that is too long is cut. An empty one is asked as it
    is; where the model cannot read it, it counts as undecided (log-odds 0).
    """
    given = list(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else []
    if not given or not all(isinstance(text, str) for text in given):
        raise InputError(
            f"predict takes one text or more, in a list, not {reprlib.repr(texts)}.",
            'Give ["A text."].',
        )
    if scale not in SCALES:
        raise choices("scale", scale, SCALES)
    classifier = as_classifier(classifier)
    rows = [_ids(classifier, text) for text in given]
    sample = classifier.encode("a")  # for its frame, and for a number of labels
    query = Query(classifier, sample.frame)
    known = np.array([bool(row) or query.reads_nothing for row in rows])
    asked = Ragged.of([row for row, is_known in zip(rows, known, strict=True) if is_known])
    logits = query.logits(asked if len(asked) else Ragged.of([sample.ids]))
    answers = np.zeros((len(rows), logits.shape[1]))  # undecided, where there is nothing to read
    if len(asked):
        margin = [margins(logits, classifier, index) for index in range(logits.shape[1])]
        answers[known] = np.stack(margin, axis=1)
    is_probability = scale == "probability" and scale_of(classifier) != RAW
    return np.asarray(expit(answers)) if is_probability else answers


def _ids(classifier: Classifier, text: str) -> tuple[int, ...]:
    return truncated(classifier.encode(check_text(text))).ids if text.strip() else ()
