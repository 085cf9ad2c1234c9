"""Words that act together over the texts of a run: which pairs, how often, how strongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from piste.result.parts import is_sure


@dataclass(frozen=True)
class WordPair:
    """Two words, in the order of the text, and what they do together (towards one label).

    `effect` is the mean over the `texts` in which the two are among the strongest pairs, `error`
    its standard error over these.
    """

    first: str
    second: str
    label: str
    texts: int
    effect: float
    error: float

    @property
    def is_sure(self) -> bool:
        return is_sure(self.effect, self.error)

    @property
    def strength(self) -> float:
        """What they do together in all texts: what is frequent counts more than what is rare."""
        return self.texts * abs(self.effect)


@dataclass
class PairTally:
    """The interactions of word pairs, text by text."""

    effects: dict[tuple[str, str, str], list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, pairs: Sequence[Mapping[str, Any]], label: str, sign: float) -> None:
        """Add the pairs of one text; words that meet several times in it count once, by the sum."""
        of_text: dict[tuple[str, str, str], tuple[float, float]] = {}
        for pair in pairs:
            key = (pair["first_word"], pair["second_word"], label)
            effect, variance = of_text.get(key, (0.0, 0.0))
            of_text[key] = (effect + sign * pair["effect"], variance + pair["error"] ** 2)
        for key, told in of_text.items():
            self.effects.setdefault(key, []).append(told)

    def pairs(self) -> list[WordPair]:
        """All pairs, those that do most together first."""
        found = [_mean(*key, told) for key, told in self.effects.items()]
        return sorted(found, key=lambda pair: -pair.strength)


def _mean(first: str, second: str, label: str, told: list[tuple[float, float]]) -> WordPair:
    effects, variances = np.array(told).T
    # Texts differ by at least as much as each is known: of one or two texts their spread says
    # little, and the errors of the fits stand in.
    between = float(np.var(effects, ddof=1)) if len(effects) > 1 else 0.0
    error = float(np.sqrt(max(between, float(variances.mean())) / len(effects)))
    return WordPair(first, second, label, len(effects), float(effects.mean()), error)
