"""LIME for text as arXiv 2402.03485 defines it, for endless samples: summed over every subset.

The number of removed words is uniform on 1 ... d, the words uniform given the number; a removed
word is replaced by [UNK] at each of its places. The answers are fitted by weighted least squares
on z_j = "word j was kept", with weights exp(-distance^2 / (2 bandwidth^2)), where the distance is
the cosine distance to the whole text, 1 - sqrt(share of words kept).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from papers.arrays import BoolArray, FloatArray, IntArray
from papers.theory.single_layer import UNK

Game = Callable[[BoolArray], FloatArray]  # kept [rows, words] -> answers [rows]
LIME_BANDWIDTH = 0.25  # the lime package's: 25, on distances times 100
ROWS = 1024  # sequences at once
MOST_WORDS = 16  # every subset is written down: 65,535 of them


@dataclass(frozen=True)
class Removal:
    """A text whose words can be replaced by [UNK] in place: the game that LIME plays."""

    model: Callable[[Tensor], Tensor]  # ids [rows, length] -> answers [rows]
    ids: IntArray  # [length]; the first token is [CLS], which always stays

    @cached_property
    def words(self) -> IntArray:
        """The distinct words [words]: their ids."""
        return np.unique(self.ids[1:])

    @cached_property
    def owner(self) -> IntArray:
        """The word at each position [length]; -1 at [CLS]."""
        return np.append(-1, np.searchsorted(self.words, self.ids[1:]))

    def __len__(self) -> int:
        return len(self.words)

    def __call__(self, kept: BoolArray) -> FloatArray:
        stays = np.column_stack([kept, np.ones(len(kept), dtype=bool)])  # column -1 is [CLS]
        rows = torch.from_numpy(np.where(stays[:, self.owner], self.ids, UNK))
        with torch.inference_mode():
            answers = [self.model(part) for part in torch.split(rows, ROWS)]
        return np.asarray(torch.cat(answers).numpy(), dtype=np.float64)


def exact_lime(game: Game, words: int, bandwidth: float = math.inf) -> FloatArray:
    """What LIME tends to as samples grow [words]: every subset, with its probability."""
    kept = every_subset(words)
    return weighted_fit(kept, game(kept), subset_odds(kept) * weights(kept, bandwidth))


def every_subset(words: int) -> BoolArray:
    """All subsets but the whole text, of which LIME removes at least one word."""
    if words > MOST_WORDS:
        raise ValueError(f"{words} words have too many subsets; at most {MOST_WORDS} are summed")
    numbers = np.arange(2**words - 1)
    return np.asarray((numbers[:, None] >> np.arange(words)) & 1, dtype=bool)


def subset_odds(kept: BoolArray) -> FloatArray:
    """The probability of each subset [rows]: 1 / d for its size, shared by all of that size."""
    words = kept.shape[1]
    ways = np.array([math.comb(words, size) for size in range(words + 1)], dtype=np.float64)
    return np.asarray(1 / (words * ways[kept.sum(axis=1)]))


def weights(kept: BoolArray, bandwidth: float) -> FloatArray:
    """LIME's weight of each row [rows]; 1 for an infinite bandwidth."""
    return size_weights(kept.mean(axis=1), bandwidth)


def size_weights(share: FloatArray, bandwidth: float) -> FloatArray:
    """LIME's weight where that share of the words is kept."""
    return np.asarray(np.exp(-((1 - np.sqrt(share)) ** 2) / (2 * bandwidth**2)))


def weighted_fit(kept: BoolArray, answers: FloatArray, weight: FloatArray) -> FloatArray:
    """Coefficients [words] of weighted least squares with a free intercept."""
    share = weight / weight.sum()
    centred = kept - share @ kept
    scatter = (centred * weight[:, None]).T @ centred
    return np.linalg.solve(scatter, (centred * weight[:, None]).T @ (answers - share @ answers))


def kept_means(game: Game, words: int) -> tuple[FloatArray, float]:
    """E[f | s words removed, word j kept] in row s - 1 [words, words], and f with none kept.

    By every subset; the last row, where nothing is kept, is empty.
    """
    kept = every_subset(words)
    answers = game(kept)
    removed = words - kept.sum(axis=1)
    of_size = removed == np.arange(1, words + 1)[:, None]  # [sizes, subsets]
    totals = (of_size * answers) @ kept
    counts = of_size.astype(np.float64) @ kept
    means = np.divide(totals, counts, out=np.zeros_like(totals), where=counts > 0)
    return means, float(answers[0])
