"""Classifiers whose explanation is known, because we made them from it."""

import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class PlantedSlalom:
    """A function of texts that is exactly a SLALOM over whitespace-separated words."""

    def __init__(self, words: int = 30, seed: int = 0, spread: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.words = [f"w{index}" for index in range(words)]
        self.values = dict(zip(self.words, rng.normal(size=words), strict=True))
        self.importances = dict(zip(self.words, spread * rng.normal(size=words), strict=True))
        self.calls = 0

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def margin(self, text: str) -> float:
        words = text.split()
        weights = np.exp([self.importances.get(word, 0.0) for word in words])
        return float(weights @ [self.values.get(word, 0.0) for word in words] / weights.sum())

    def __call__(self, texts: list[str]) -> Array:
        self.calls += len(texts)
        return np.array([self.margin(text) for text in texts])

    def noisy(self, deviation: float, seed: int = 1) -> Callable[[list[str]], Array]:
        """The same with noise that depends on the text only, as a real model's misfit does."""

        def function(texts: list[str]) -> Array:
            seeds = [zlib.crc32(f"{seed} {text}".encode()) for text in texts]
            noise = [np.random.default_rng(s).normal() for s in seeds]
            return self(texts) + deviation * np.array(noise)

        return function

    def truth(self, players: "list[str]") -> tuple[Array, Array]:
        values = np.array([self.values[word] for word in players])
        return values, np.array([self.importances[word] for word in players])


def additive(weights: dict[str, float]) -> Callable[[list[str]], Array]:
    """A bag of words: what additive explanations assume."""
    return lambda texts: np.array([sum(weights.get(w, 0.0) for w in t.split()) for t in texts])


class Changing:
    """A function whose answer to a text is higher by 2 `by` from the second time on."""

    def __init__(self, score: Callable[[str], float], by: float) -> None:
        self.score, self.by = score, by
        self.seen: set[str] = set()

    def __call__(self, texts: list[str]) -> list[float]:
        return [self.score(text) + self._off(text) for text in texts]

    def _off(self, text: str) -> float:
        off = self.by if text in self.seen else -self.by
        self.seen.add(text)
        return off
