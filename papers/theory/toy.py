"""Made-up reviews to train small models on: the synthetic data of arXiv 2405.13536, widened."""

import numpy as np
import torch
from torch import Tensor

from papers.arrays import FloatArray, IntArray
from papers.theory.single_layer import CLS, UNK

# Log-odds of a word towards "positive".
PAPER_WEIGHTS = {  # its Table 3
    "the": 0.0, "we": 0.0, "movie": 0.0, "watch": 0.0,
    "good": 0.6, "best": 1.0, "perfect": 1.5, "ok": -0.6, "bad": -1.0, "worst": -1.5,
}  # fmt: skip
WEIGHTS = PAPER_WEIGHTS | {
    "a": 0.0, "of": 0.0, "and": 0.0, "film": 0.0, "plot": 0.0, "actor": 0.0, "scene": 0.0,
    "story": 0.0, "was": 0.0, "it": 0.0, "music": 0.0, "camera": 0.0, "ending": 0.0, "hour": 0.0,
    "fine": 0.5, "great": 1.2, "superb": 1.8, "warm": 0.8, "weak": -0.8, "dull": -1.2,
    "awful": -1.8, "slow": -0.5,
}  # fmt: skip
WORDS = tuple(WEIGHTS)
FIRST = 2  # the number of the first word, behind [UNK] and [CLS]
VOCABULARY = FIRST + len(WORDS)


def toy_reviews(
    rng: np.random.Generator, texts: int, longest: int = 24
) -> tuple[list[str], list[int]]:
    """Texts of Binomial(longest, 1/2) random words, and labels drawn from their log-odds."""
    rows, labels = _draw(rng, texts, longest)
    return [" ".join(WORDS[word] for word in row) for row in rows], labels.astype(int).tolist()


def toy_rows(rng: np.random.Generator, texts: int, window: int) -> tuple[Tensor, Tensor]:
    """The same as ids [texts, window], with [CLS] first and [UNK] behind, and labels [texts]."""
    rows, labels = _draw(rng, texts, window - 1)
    ids = torch.full((texts, window), UNK)
    ids[:, 0] = CLS
    for place, row in zip(ids, rows, strict=True):
        place[1 : 1 + len(row)] = torch.from_numpy(FIRST + row)
    return ids, torch.from_numpy(labels)


def distinct_words(rng: np.random.Generator, words: int) -> IntArray:
    """The ids of a text of that many different words, [CLS] first."""
    return np.append(CLS, FIRST + rng.permutation(len(WORDS))[:words])


def _draw(rng: np.random.Generator, texts: int, longest: int) -> tuple[list[IntArray], FloatArray]:
    lengths = np.maximum(1, rng.binomial(longest, 0.5, size=texts))
    rows = [rng.choice(len(WORDS), size=length) for length in lengths]
    weights = np.array(list(WEIGHTS.values()))
    odds = np.array([weights[row].sum() for row in rows])
    return rows, np.asarray(rng.random(texts) < 1 / (1 + np.exp(-odds)), dtype=np.float64)
