"""One judge for every explanation: the same model, words, removals and scale for all.

An explanation arrives as scores of character spans. They are laid onto piste's words (and onto
the model's tokens) and then tried on the model itself:

* deletion: take the highest-scored word away, then the next; the mean drop of the target's
  probability over the curve. Higher is better.
* insertion: keep only the highest-scored words; the mean of what is still missing. Lower is better.
* removal error: take 1 to 5 random words away, compare the change of the log-odds that the
  explanation predicts with the true one; relative to predicting no change.

Removed always means that the ids are gone, not masked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import expit

from piste.arrays import Ragged
from piste.decision import margins
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.result.explanation import Explanation
from piste.text.players import Players, split

STEPS = 25  # points of a curve at most, evenly spaced
DRAWS = 60  # random removals of each text
MOST_REMOVED = 5  # words


@dataclass
class Judge:
    """Tries explanations of one text on the model; no sequence is asked twice."""

    classifier: Classifier
    text: str
    target: int
    steps: int = STEPS
    seed: int = 0
    query: Query = field(init=False)
    words: Players = field(init=False)
    tokens: Players = field(init=False)

    def __post_init__(self) -> None:
        encoding = self.classifier.encode(self.text)
        self.query = Query(self.classifier, encoding.frame)
        self.words = split(encoding, "word", "separate")
        self.tokens = split(encoding, "token", "separate")
        self.length = len(encoding.ids) + encoding.frame.size

    def figures(self, line: dict) -> dict[str, float]:
        """Everything that is measured of one explanation."""
        words = project(line["scores"], self.words)
        tokens = project(line["scores"], self.tokens)
        return {
            "deletion": self.deletion(self.words, words, self.steps),
            "insertion": self.insertion(self.words, words, self.steps),
            "token deletion": self.deletion(self.tokens, tokens, self.steps // 2),
            "removal error": self.removal_error(line),
            "fe": line["tokens"] / self.length,
        }

    def deletion(self, units: Players, scores: np.ndarray, steps: int) -> float:
        order = self._ranked(scores)
        return self._missing(units, [order[k:] for k in counts(len(units), steps)])

    def insertion(self, units: Players, scores: np.ndarray, steps: int) -> float:
        order = self._ranked(scores)
        return self._missing(units, [order[:k] for k in counts(len(units), steps)])

    def removal_error(self, line: dict) -> float:
        removed, true = self._removals
        error = predicted_changes(line, self.words, removed) - true
        return float(np.sqrt(np.mean(error**2) / np.mean(true**2)))

    @cached_property
    def _whole(self) -> float:
        return float(self._margins(self.words, [range(len(self.words))])[0])

    @cached_property
    def _removals(self) -> tuple[np.ndarray, np.ndarray]:
        """Which words each draw takes away [draws, words], and the true changes [draws]."""
        rng, count = np.random.default_rng(self.seed), len(self.words)
        removed = np.zeros((DRAWS, count), dtype=bool)
        for row in removed:
            size = rng.integers(1, min(MOST_REMOVED, count - 1) + 1)
            row[rng.choice(count, size, replace=False)] = True
        kept = [np.flatnonzero(~row) for row in removed]
        return removed, self._whole - self._margins(self.words, kept)

    def _ranked(self, scores: np.ndarray) -> np.ndarray:
        """Highest first; equal scores in a random order, the same for every contender."""
        chance = np.random.default_rng(self.seed).permutation(len(scores))
        return np.lexsort((chance, -scores))

    def _missing(self, units: Players, kept: Sequence[np.ndarray]) -> float:
        """Mean over the rows of p(whole) - p(row)."""
        rows = [np.sort(row) for row in kept]
        return float(np.mean(expit(self._whole) - expit(self._margins(units, rows))))

    def _margins(self, units: Players, rows: Sequence[Sequence[int]]) -> np.ndarray:
        """The target's log-odds of the text with only those units, in reading order."""
        ids = Ragged.of(rows).expand(units.ids)
        return margins(self.query.logits(ids), self.classifier, self.target)


def counts(units: int, steps: int) -> np.ndarray:
    """At which numbers of units a curve is read: from one to all but one, evenly spaced."""
    return np.unique(np.linspace(1, units - 1, min(steps, units - 1)).round().astype(int))


def project(spans: list, units: Players) -> np.ndarray:
    """Scores of units: those of the spans over them, each divided by how much it overlaps."""
    overlap = overlaps(spans, units)
    covered = overlap.sum(axis=0)
    scores = np.array([span[2] for span in spans])
    return overlap @ np.divide(scores, covered, out=np.zeros(len(spans)), where=covered > 0)


def overlaps(spans: list, units: Players) -> np.ndarray:
    """Characters in common [units, spans]."""
    starts, ends = (np.array([span[side] for span in spans]) for side in (0, 1))
    left = np.array([unit.start for unit in units.items])[:, None]
    right = np.array([unit.end for unit in units.items])[:, None]
    return np.clip(np.minimum(right, ends) - np.maximum(left, starts), 0, None).astype(float)


def predicted_changes(line: dict, words: Players, removed: np.ndarray) -> np.ndarray:
    """What the explanation says of each draw [draws]: log-odds of the whole less the rest's.

    Here is the place for a better prediction of any contender: it writes what it knows into its
    line, and this function reads it.
    """
    if line.get("explanation") is not None:
        return _explained_changes(line["explanation"], words, removed)
    if "slalom" in line:
        return _slalom_changes(line["slalom"], words, removed)
    return removed @ project(line.get("removal", line["scores"]), words)


def _explained_changes(data: dict, words: Players, removed: np.ndarray) -> np.ndarray:
    """By piste's own surrogate, as the explanation keeps it."""
    explanation = Explanation.from_dict(data)
    spans = [(player.start, player.end) for player in explanation.players]
    owner = overlaps(spans, words).argmax(axis=0)  # of each player
    return np.array([explanation.change(np.flatnonzero(row[owner]).tolist()) for row in removed])


def _slalom_changes(tokens: list, words: Players, removed: np.ndarray) -> np.ndarray:
    """By the formula: the mean of the values, weighted by the exponentials of importances."""
    owner = overlaps(tokens, words).argmax(axis=0)  # of each token
    values = np.array([token[2] for token in tokens])
    importances = np.array([token[3] for token in tokens])
    weights = np.exp(importances - importances.max())
    rest = weights * ~removed[:, owner]  # [draws, tokens]
    return weights @ values / weights.sum() - rest @ values / rest.sum(axis=1)
