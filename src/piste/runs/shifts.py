"""How far the effect of a word or a pair moved between two runs, and whether that is chance."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control, t

from piste.arrays import FloatArray
from piste.runs.model_change import Shift

FREEDOM = 5  # degrees, a text: how well errors are known that were estimated from its answers
SURE = 0.01  # the p-value of a change that is counted among those in single texts
Key = tuple[tuple[str, ...], str]  # a word or a pair, and the label that its effects speak for
Row = Mapping[str, Any]
TINY = 1e-12  # variance where nothing changes at all
SMALLEST = 1e-6  # of the others' size: variance of a change that is known exactly


def _numbers() -> array[float]:
    return array("d")


@dataclass
class Tally:
    """One word or pair over the texts of both runs: what its change follows from, text by text.

    Of a text with several places the means over these.
    """

    texts: list[int] = field(default_factory=list)
    before: array[float] = field(default_factory=_numbers)
    after: array[float] = field(default_factory=_numbers)
    variances: array[float] = field(default_factory=_numbers)  # of the change, by both fits

    def add(self, index: int, before: FloatArray, after: FloatArray, variance: float) -> None:
        """The effects in one text, place by place, and the variance of their summed change."""
        self.texts.append(index)
        self.before.append(float(before.mean()))
        self.after.append(float(after.mean()))
        self.variances.append(variance / len(before) ** 2)

    def shift(self, key: Key, texts: Mapping[int, Row], least: float) -> Shift:
        """The mean change, the changes in single texts, and the chance that there is none."""
        befores, afters, variances = map(np.array, (self.before, self.after, self.variances))
        changes, number = afters - befores, len(self.texts)
        weights, error = over_texts(changes, variances)
        change = float(weights @ changes)
        chance = float(chance_of(change, error, least, FREEDOM * number))
        single = chance_of(changes, np.sqrt(variances), least, FREEDOM)
        somewhere = some_of(single)
        if number > 1:  # two ways to look at it: either may be the one that finds something
            chance, somewhere = min(1.0, 2 * chance), min(1.0, 2 * somewhere)
        most = int(np.argmax(np.abs(changes)))
        return Shift(
            *key,
            number,
            float(weights @ befores),
            float(weights @ afters),
            error,
            min(chance, somewhere),
            text=str(texts[self.texts[most]]["id"]),
            opening=texts[self.texts[most]].get("opening", ""),
            largest=float(changes[most]),
            moved=int((single <= SURE).sum()),
            uneven=number > 1 and somewhere < chance,
        )


def over_texts(changes: FloatArray, variances: FloatArray) -> tuple[FloatArray, float]:
    """The weights of texts in their mean, which sum to 1, and the mean's standard error.

    By random effects (DerSimonian and Laird): a text that is explained badly counts less, and where
    texts differ by more than their errors they count alike.
    """
    size = max(float(variances.max()), float(np.mean(changes**2)))
    known = variances + max(SMALLEST * size, TINY)
    between = _between(changes, 1 / known)
    weights = 1 / (known + between)
    share = weights / weights.sum()
    rest = weights @ (changes - share @ changes) ** 2 / max(1, len(changes) - 1)
    return share, float(np.sqrt(max(1.0, rest) / weights.sum()))


def _between(changes: FloatArray, weights: FloatArray) -> float:
    """The variance of the true change from text to text."""
    total = weights.sum()
    rest = weights @ (changes - weights @ changes / total) ** 2 - (len(changes) - 1)
    room = weights @ (total - weights) / total
    return float(max(0.0, rest) / room) if room > 0 else 0.0


def chance_of(
    change: FloatArray | float, error: FloatArray | float, least: float, freedom: int
) -> FloatArray:
    """How likely a change of at most `least` looks as large as each of these."""
    distances = np.stack([np.abs(change) - least, np.abs(change) + least])
    tails: FloatArray = t.sf(distances / np.maximum(error, 1e-12), freedom).sum(axis=0)
    return np.minimum(1.0, tails)


def some_of(chances: FloatArray) -> float:
    """How likely the smallest of so many p-values are as small as these (Simes)."""
    ranked = np.sort(chances)
    return float((ranked * len(ranked) / np.arange(1, len(ranked) + 1)).min())


def beyond_chance(chances: Sequence[float], alpha: float) -> Sequence[bool]:
    """Which of these p-values are, as one family (Benjamini and Hochberg)."""
    adjusted = false_discovery_control(np.array(chances))
    return [bool(value <= alpha) for value in adjusted]


def moved(shifts: Sequence[Shift], alpha: float) -> list[Shift]:
    """Those that moved at all beyond chance, however little; the largest changes first."""
    if not shifts:
        return []
    chances = [float(chance_of(one.change, one.error, 0.0, FREEDOM * one.texts)) for one in shifts]
    found = [
        one for one, is_sure in zip(shifts, beyond_chance(chances, alpha), strict=True) if is_sure
    ]
    return sorted(found, key=lambda shift: -abs(shift.change))


def needed(tests: int, alpha: float) -> float:
    """How many of its errors a word in a single text must move by, to be the one that counts."""
    return float(t.isf(alpha / 2 / tests, FREEDOM))
