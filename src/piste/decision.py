"""One text in front of one model: its players, the number that is explained, the line to ask on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from piste.arrays import FloatArray, IntArray, Ragged
from piste.models.protocol import Classifier
from piste.models.query import Query
from piste.models.target import LOG_ODDS, margins, resolve_target
from piste.options import DEFAULT, Options
from piste.result.explanation import Target
from piste.text.cutting import truncated
from piste.text.encoding import Encoding, texts
from piste.text.players import Players, split

__all__ = ["Decision"]


@dataclass
class Decision:
    """What methods and metrics work on. Nothing is asked twice on its query."""

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
        encoding = truncated(classifier.encode(*texts(text, pair)))
        query = Query(classifier, encoding.frame, batch_tokens=options.batch_tokens)
        return cls.of(encoding, query, options)

    @classmethod
    def of(cls, encoding: Encoding, query: Query, options: Options = DEFAULT) -> Decision:
        """The decision on a text that fits into the model; asks for the model's answer to it."""
        players = split(encoding, options.unit, options.repeats)
        whole = query.logits(players.tokens(players.whole))[0]
        every = options.means_every_class(query.classifier.labels)
        target = None if every else options.target
        return cls(query, players, resolve_target(query.classifier, whole, target))

    def logits(self, rows: Ragged) -> FloatArray:
        """The model's outputs [rows, outputs] for rows of players."""
        return self.query.logits(self.players.tokens(rows))

    def margins(self, rows: Ragged) -> FloatArray:
        """The target's score [rows] for rows of players."""
        return self.target_scores(self.logits(rows))

    def target_scores(self, logits: FloatArray) -> FloatArray:
        """The target's score [rows] in the model's outputs [rows, outputs]."""
        return margins(logits, self.query.classifier, self.target.index)

    def keeping(self, kept: Iterable[IntArray]) -> FloatArray:
        """The target's score [sets] for each set of kept players; all others are really gone."""
        return self.margins(Ragged.of([np.sort(row).tolist() for row in kept]))

    def falls(self, kept: Iterable[IntArray]) -> FloatArray:
        """p(whole text) - p(kept players alone) for each set of kept players [sets]."""
        whole = self.probabilities(np.array([self.target.score]))[0]
        return np.asarray(whole - self.probabilities(self.keeping(kept)))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Log-odds as probabilities; scores on another scale have none and stay as they are."""
        return np.asarray(expit(scores)) if self.target.scale == LOG_ODDS else scores

    def without(self, removed: Collection[int]) -> tuple[float, int]:
        """The target's score and the output that the model chooses without these players."""
        kept = [index for index in range(len(self.players)) if index not in removed]
        logits = self.logits(Ragged.of([kept]))
        return float(self.target_scores(logits)[0]), int(np.argmax(logits[0]))
