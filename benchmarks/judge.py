"""One judge for every explanation: the same words, parts, removals and scale for all.

* R² on parts: how well the contender's own surrogate predicts the model on random parts of 30 to
  100 % of the words that this contender has not asked. Calibrated: the squared correlation, which
  forgives a wrong base and scale.
* removals: 1 to 5 random words removed; the error relative to predicting no change.
* Shapley: the relative error of scores that estimate Shapley values; the values are exact for up to
  twelve words, else from many paired samples.
* interactions: the correlation of all pairs with the exact values of what the contender estimates:
  Shapley interactions, or mean second differences near the text (parts of 30 to 100 %).
* deletion: the mean fall of the probability while the highest-scored words are removed; insertion:
  the mean of what is still missing while only they are kept (lower is better).
* people: how often a word that people marked is scored above one that they did not (AUROC).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from contenders.base import Game
from scipy.special import expit

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.design import deletions
from piste.design.parts import parts_between
from piste.methods.kernel_shap import constrained, paired_coalitions
from piste.metrics.deletion import points, ranked
from piste.metrics.human_attention import auroc
from piste.surrogates.shapley import all_coalitions, exact_shapley, part_interactions

PARTS, HALVES, REMOVALS, MOST_REMOVED = 150, 100, 60, 5
FEW = 10  # parts that were not asked: fewer give no R²
STEPS = 25  # of deletion and insertion
EXACT = 12
Figures = dict[str, float | None]


@dataclass
class Judge:
    """Tries explanations of one game on the model."""

    game: Game
    samples: int = 0  # for the Shapley values of longer texts; 0: not measured there

    @cached_property
    def parts(self) -> BoolArray:
        """Everything that a contender is asked to predict, in three blocks."""
        words, rng = self.game.words, np.random.default_rng(1234)
        half = max(1, words // 2) / words
        removed = deletions(rng, words, REMOVALS, 1, min(MOST_REMOVED, words - 1))
        return np.vstack(
            [
                parts_between(rng, words, PARTS, 0.3, 1.0),
                parts_between(rng, words, HALVES, half, half),
                masks_of(removed, words),
            ]
        )

    @cached_property
    def true(self) -> FloatArray:
        return self.game.known(self.parts)

    def figures(self, line: dict[str, Any]) -> Figures:
        """Everything that is measured of one explanation."""
        scores = np.array(line["scores"])
        marked = self.game.row.get("marked")
        return {
            **self._predictions(line),
            "shapley": self._shapley_error(scores) if line["is_shapley"] else None,
            "interactions": self._interactions(line),
            "deletion": self.deletion(scores),
            "insertion": self.insertion(scores),
            "people": None if marked is None else auroc(scores - scores.min(), np.array(marked)),
        }

    def _predictions(self, line: dict[str, Any]) -> Figures:
        names = ("r2", "calibrated", "halves", "removals")
        if line["predicted"] is None:
            return dict.fromkeys(names)
        predicted, fresh = np.array(line["predicted"]), ~np.array(line["asked"])
        first, second, third = np.split(np.arange(len(fresh)), [PARTS, PARTS + HALVES])
        parts, halves = first[fresh[first]], second[fresh[second]]
        return {
            "r2": r2(predicted[parts], self.true[parts]),
            "calibrated": calibrated(predicted[parts], self.true[parts]),
            "halves": r2(predicted[halves], self.true[halves]),
            "removals": self._removal_error(line, predicted[third], self.true[third]),
        }

    def _removal_error(
        self, line: dict[str, Any], predicted: FloatArray, true: FloatArray
    ) -> float | None:
        """Of changes from the whole text, as the model has it."""
        change = self.game.whole - true
        scale = float(np.mean(change**2))
        if scale <= 1e-18:
            return None
        return float(np.sqrt(np.mean((predicted - true) ** 2) / scale))

    @cached_property
    def shapley(self) -> FloatArray | None:
        """The Shapley values of the words."""
        words = self.game.words
        if words <= EXACT:
            return exact_shapley(all_coalitions(words), self._table)
        if not self.samples:
            return None
        kept = paired_coalitions(np.random.default_rng(7), words, self.samples // 2)
        empty = float(self.game.known(np.zeros((1, words), dtype=bool))[0])
        return constrained(kept, self.game.known(kept), self.game.whole, empty)[0]

    @cached_property
    def _table(self) -> FloatArray:
        return self.game.known(all_coalitions(self.game.words))

    def _shapley_error(self, scores: FloatArray) -> float | None:
        if self.shapley is None:
            return None
        return float(np.linalg.norm(scores - self.shapley) / np.linalg.norm(self.shapley))

    @cached_property
    def interactions(self) -> dict[bool, FloatArray]:
        """All of them, by whether they are those near the text."""
        words = self.game.words
        near = part_interactions(all_coalitions(words), self._table, np.arange(words))
        return {True: near, False: exact_interactions(self._table, words)}

    def _interactions(self, line: dict[str, Any]) -> float | None:
        if line["pairs"] is None or self.game.words > EXACT:
            return None
        upper = np.triu_indices(self.game.words, k=1)
        found, true = np.array(line["pairs"])[upper], self.interactions[line["near"]][upper]
        return None if np.ptp(found) == 0 else float(np.corrcoef(found, true)[0, 1])

    def deletion(self, scores: FloatArray) -> float:
        order = ranked(scores)
        return self._missing([order[gone:] for gone in points(len(order), STEPS)])

    def insertion(self, scores: FloatArray) -> float:
        order = ranked(scores)
        return self._missing([order[:kept] for kept in points(len(order), STEPS)])

    def _missing(self, kept: list[Any]) -> float:
        """The mean over sets of words of p(whole text) - p(these alone); of a raw score, itself."""
        masks = np.zeros((len(kept), self.game.words), dtype=bool)
        for mask, words in zip(masks, kept, strict=True):
            mask[words] = True
        scores = self.game.known(masks)
        if self.game.row["raw"]:
            return float(np.mean(self.game.whole - scores))
        return float(np.mean(expit(self.game.whole) - expit(scores)))


def masks_of(rows: Ragged, words: int) -> BoolArray:
    masks = np.zeros((len(rows), words), dtype=bool)
    for index in range(len(rows)):
        masks[index, rows.row(index)] = True
    return masks


def r2(predicted: FloatArray, true: FloatArray) -> float | None:
    if len(true) < FEW or np.var(true) <= 1e-18:
        return None
    return float(1 - np.mean((predicted - true) ** 2) / np.var(true))


def calibrated(predicted: FloatArray, true: FloatArray) -> float | None:
    """R² after the best base and scale that hindsight gives."""
    if len(true) < FEW or np.var(true) <= 1e-18:
        return None
    return 0.0 if np.ptp(predicted) == 0 else float(np.corrcoef(predicted, true)[0, 1] ** 2)


def exact_interactions(table: FloatArray, words: int) -> FloatArray:
    """Shapley interactions of all pairs [words, words], from all coalitions in order of bits.

    The mean second difference, where the others are a coalition of every size equally often.
    """
    member = all_coalitions(words)
    found = np.zeros((words, words))
    for first, second in zip(*np.triu_indices(words, k=1), strict=True):
        without = np.flatnonzero(~member[:, first] & ~member[:, second])
        one, other = 1 << int(first), 1 << int(second)
        second_difference = (
            table[without + one + other]
            - table[without + one]
            - table[without + other]
            + table[without]
        )
        sizes = member[without].sum(axis=1)
        counts = np.bincount(sizes, minlength=words - 1)
        weights = 1 / (counts[sizes] * (words - 1))
        found[first, second] = found[second, first] = weights @ second_difference
    return found
