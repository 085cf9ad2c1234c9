"""How far the effect of a word or a pair moved between two runs, and whether that is chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control, t

from piste.arrays import FloatArray
from piste.runs.model_change import Shift

FREEDOM = 5  # degrees, a text: how well errors are known that were estimated from its answers
Key = tuple[tuple[str, ...], str]  # a word or a pair, and the label that its effects speak for
Row = Mapping[str, Any]


@dataclass
class Tally:
    """One word or pair over the texts of both runs: sums from which its change follows."""

    places: int = 0
    texts: int = 0
    before: float = 0.0
    after: float = 0.0
    variance: float = 0.0
    moments: FloatArray = field(default_factory=lambda: np.zeros(3))  # of (change, places) by text
    largest: tuple[float, int] = (-1.0, 0)  # change in a text, and which text

    def add(self, index: int, before: FloatArray, after: FloatArray, variance: float) -> None:
        """The effects in one text, place by place, and the variance of their summed change."""
        change, places = float(np.sum(after - before)), len(before)
        self.places += places
        self.texts += 1
        self.before += float(before.sum())
        self.after += float(after.sum())
        self.variance += variance
        self.moments += (change**2, change * places, places**2)
        self.largest = max(self.largest, (abs(change), index))

    def shift(self, key: Key, ids: Mapping[int, Row], least: float) -> Shift:
        """The mean change and the chance that it is none."""
        before, after = self.before / self.places, self.after / self.places
        change = after - before
        spread = float(self.moments @ (1.0, -2 * change, change**2))
        between = max(0.0, spread) * self.texts / max(1, self.texts - 1)
        error = float(np.sqrt(max(self.variance, between if self.texts > 1 else 0.0))) / self.places
        chance = chance_of(change, error, least, FREEDOM * self.texts)
        text = str(ids[self.largest[1]]["id"])
        return Shift(*key, self.texts, before, after, error, chance, text)


def chance_of(change: float, error: float, least: float, freedom: int) -> float:
    """How likely a change of at most `least` looks as large as this one."""
    distances = np.array([abs(change) - least, abs(change) + least]) / max(error, 1e-12)
    tails = t.sf(distances, freedom).sum()
    return float(min(1.0, tails))


def beyond_chance(chances: Sequence[float], alpha: float) -> Sequence[bool]:
    """Which of these p-values are, as one family (Benjamini and Hochberg)."""
    adjusted = false_discovery_control(np.array(chances))
    return [bool(value <= alpha) for value in adjusted]


def moved(shifts: Sequence[Shift], alpha: float) -> list[Shift]:
    """Those that moved at all beyond chance, however little; the largest changes first."""
    if not shifts:
        return []
    chances = [chance_of(one.change, one.error, 0.0, FREEDOM * one.texts) for one in shifts]
    found = [
        one for one, is_sure in zip(shifts, beyond_chance(chances, alpha), strict=True) if is_sure
    ]
    return sorted(found, key=lambda shift: -abs(shift.change))


def needed(tests: int, alpha: float) -> float:
    """How many of its errors a word in a single text must move by, to be the one that counts."""
    return float(t.isf(alpha / 2 / tests, FREEDOM))
