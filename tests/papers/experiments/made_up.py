"""Classifiers whose answers on made-up texts are known."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from papers.experiments.base import Context
from papers.experiments.languages import WEIGHTS, Language
from papers.experiments.synthetic import of_counts
from piste.models.backends.function import from_function
from piste.models.protocol import Classifier


def context_in(folder: Path, seed: int = 0) -> Context:
    return Context(cache=folder, scale="tiny", seed=seed)


def additive(language: Language) -> Classifier:
    """The linear language's truth as a classifier."""
    weights = np.array(list(WEIGHTS.values()))
    return of_counts(language, lambda counts: counts @ weights, "additive")


def flat(language: Language, answer: float) -> Classifier:
    """The same answer to every text that has words: what a transformer says to runs."""
    return of_counts(language, lambda counts: np.full(len(counts), answer), "flat")


def by_place(weight: Callable[[str, int], float]) -> Classifier:
    """A GAM: the sum over places of the weight of the word there."""

    def function(texts: list[str]) -> list[float]:
        return [sum(weight(word, place) for place, word in enumerate(t.split())) for t in texts]

    return from_function(function, ("negative", "positive"))
