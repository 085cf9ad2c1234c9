"""Made-up texts whose log-odds are known.

Two languages: one adds up its words (paper A, Table 3), one is a SLALOM. A text is a row of word
numbers, its words drawn evenly and independently; its label is drawn from its log-odds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from papers.arrays import FloatArray, IntArray
from papers.theory.toy import PAPER_WEIGHTS
from piste.arrays import Ragged
from piste.surrogates import SlalomModel, count_matrix

WEIGHTS = PAPER_WEIGHTS  # log-odds of each word of the linear language
LONGEST = 30  # words of a text
Lengths = Callable[[np.random.Generator, int], IntArray]


@dataclass(frozen=True, eq=False)
class Language:
    """Words, how long texts are, and the log-odds that a text truly has."""

    name: str
    words: tuple[str, ...]
    lengths: Lengths
    truth: Callable[[Ragged], FloatArray]  # log-odds [rows] of rows of word numbers
    law: Any  # what the truth was made from, as plain data

    def rows(self, rng: np.random.Generator, texts: int, lengths: Lengths | None = None) -> Ragged:
        """Random texts, as long as this language's are unless told otherwise."""
        long = (lengths or self.lengths)(rng, texts)
        return Ragged.packed(rng.integers(0, len(self.words), size=int(long.sum())), long)

    def labels(self, rng: np.random.Generator, rows: Ragged) -> list[int]:
        """A label for each text, drawn from its log-odds."""
        drawn = rng.random(len(rows)) < expit(self.truth(rows))
        return [int(positive) for positive in drawn]

    def texts(self, rows: Ragged) -> list[str]:
        """The rows as text."""
        return [" ".join(self.words[word] for word in rows.row(i)) for i in range(len(rows))]

    def counts(self, rows: Ragged) -> sparse.csr_array:
        """How often each word occurs in each row [rows, words]."""
        return count_matrix(rows, np.arange(len(self.words)), len(self.words))


def binomial_lengths(rng: np.random.Generator, texts: int) -> IntArray:
    """Binomial(30, 1/2), but no text is empty."""
    return np.maximum(1, rng.binomial(LONGEST, 0.5, size=texts))


def up_to(longest: int) -> Lengths:
    """1 to `longest` words, all as likely."""
    return lambda rng, texts: rng.integers(1, longest + 1, size=texts)


def exactly(length: int) -> Lengths:
    """Every text of this length."""
    return lambda _, texts: np.full(texts, length)


def linear_language() -> Language:
    """Log-odds that add up over the words: what no transformer can follow."""
    weights = np.array(list(WEIGHTS.values()))

    def truth(rows: Ragged) -> FloatArray:
        return np.asarray(count_matrix(rows, np.arange(len(weights)), len(weights)) @ weights)

    return Language("linear", tuple(WEIGHTS), binomial_lengths, truth, WEIGHTS)


@dataclass(frozen=True)
class KnownSlalom:
    """How the SLALOM of the second language is drawn."""

    words: int = 10
    strongest: float = 3.0  # values are even steps from -strongest to strongest
    correlation: float = 0.8  # of the importances with the sizes of the values
    seed: int = 0


def known_slalom(settings: KnownSlalom) -> SlalomModel:
    """Strong words weigh more: importances of mean 0 and deviation 1, correlated as told."""
    values = np.linspace(-settings.strongest, settings.strongest, settings.words)
    sizes = _standard(np.abs(values))
    other = _standard(np.random.default_rng(settings.seed).normal(size=settings.words))
    other = _standard(other - sizes * (other @ sizes) / (sizes @ sizes))
    share = settings.correlation
    return SlalomModel(values[:, None], share * sizes + np.sqrt(1 - share**2) * other)


def slalom_language(settings: KnownSlalom) -> Language:
    """Log-odds that follow a known SLALOM."""
    model, groups = known_slalom(settings), np.arange(settings.words)
    words = tuple(f"word{number}" for number in range(settings.words))

    def truth(rows: Ragged) -> FloatArray:
        return np.asarray(model.predict(count_matrix(rows, groups, len(groups)))[:, 0])

    return Language("slalom", words, up_to(LONGEST), truth, asdict(settings))


def _standard(numbers: FloatArray) -> FloatArray:
    centred = numbers - numbers.mean()
    return np.asarray(centred / centred.std())
