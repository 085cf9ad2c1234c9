"""Naive Bayes as a reference: a word's log-odds from counts alone, however the model weighs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray
from piste.metrics.agreement import rank_correlation
from piste.result.explanation import Explanation
from piste.result.scores import score
from piste.text.players import Players


@dataclass(frozen=True)
class NaiveBayes:
    """Counts of every player, as written but for case, in texts of each class."""

    counts: dict[int | str, Counter[str]]
    kinds: int  # distinct players of all classes

    @classmethod
    def fit(cls, texts: Iterable[tuple[Players, int | str]]) -> NaiveBayes:
        """Count the players of labelled texts."""
        counts: dict[int | str, Counter[str]] = {}
        for players, label in texts:
            counts.setdefault(label, Counter()).update(
                player.text.lower() for player in players.items
            )
        kinds = len(set().union(*counts.values())) if counts else 0
        return cls(counts, kinds)

    def weights(
        self, players: Players, label: int | str, against: int | str | None = None
    ) -> FloatArray:
        """log P(player | label) - log P(player | others), with Laplace smoothing [players].

        against: the one label that counts as the others.
        """
        inside = self.counts.get(label, Counter())
        outside: Counter[str] = Counter()
        for other, counted in self.counts.items():
            if other == against or (against is None and other != label):
                outside.update(counted)
        words = [player.text.lower() for player in players.items]
        sizes = [sum(counted.values()) + self.kinds for counted in (inside, outside)]
        pairs = [(inside[word] + 1, outside[word] + 1) for word in words]
        first, second = np.array(pairs, dtype=np.float64).T
        return np.asarray(np.log(first / sizes[0]) - np.log(second / sizes[1]))


def naive_bayes_correlation(
    explanation: Explanation, weights: FloatArray, players: Players
) -> float | None:
    """Spearman's correlation with the weights over distinct players.

    Scores without a side (importances, attention) are compared with the weights' size.

    None where either never varies.
    """
    first = players.first
    scores = explanation.scores[explanation.primary][first]
    signed = score(explanation.primary).signed
    wanted = weights[first] if signed else np.abs(weights[first])
    return rank_correlation(scores, wanted)
