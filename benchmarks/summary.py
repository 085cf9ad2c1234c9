"""From figures of single texts to estimates with intervals, and differences on the same texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from contenders import CONTENDERS

RESAMPLES = 4000
EQUAL = 70  # forward passes of the comparison at equal cost: context's default
ENOUGH = 1.15  # times that much is still equal, for contenders that nobody can set


@dataclass(frozen=True)
class Measure:
    """A figure: how it is called, and whether more of it is better."""

    title: str
    is_better_high: bool = True
    is_median: bool = False  # over texts: of figures that have no bounds

    @property
    def arrow(self) -> str:
        return f"{self.title} {'↑' if self.is_better_high else '↓'}"


MEASURES = {
    "r2": Measure("R² on parts", is_median=True),
    "calibrated": Measure("R² calibrated", is_median=True),
    "halves": Measure("R² on halves", is_median=True),
    "shapley": Measure("Shapley error", is_better_high=False, is_median=True),
    "interactions": Measure("interactions"),
    "removals": Measure("removal error", is_better_high=False, is_median=True),
    "deletion": Measure("deletion"),
    "insertion": Measure("insertion", is_better_high=False),
    "people": Measure("people"),
}


@dataclass(frozen=True)
class Estimate:
    """A mean or median over texts with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float
    texts: int

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.texts > 1 and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class Point:
    """One contender with one setting, on one task under one absence."""

    task: str
    absence: str
    contender: str
    passes: int  # as it was told; 0: its default


@dataclass
class Results:
    """All lines, by point and text."""

    lines: Sequence[dict[str, Any]]
    figures: dict[Point, dict[str, dict[str, Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self.figures = {}
        for line in self.lines:
            if "figures" in line:
                names = (line["task"], line["absence"], line["contender"], line["passes"] or 0)
                self.figures.setdefault(Point(*names), {})[line["text"]] = line

    def games(self) -> list[tuple[str, str]]:
        """(task, absence) of everything that was measured, in the order of the tasks."""
        return list(dict.fromkeys((point.task, point.absence) for point in self.figures))

    def tasks(self) -> set[str]:
        return {task for task, _ in self.games()}

    def points(self, task: str, absence: str, contender: str | None = None) -> list[Point]:
        order = list(CONTENDERS)
        found = (
            point
            for point in self.figures
            if (point.task, point.absence) == (task, absence)
            and contender in (None, point.contender)
        )
        return sorted(found, key=lambda point: (order.index(point.contender), point.passes))

    def values(self, point: Point, measure: str) -> dict[str, float]:
        """By text, where there is such a figure."""
        found = self.figures.get(point, {})
        return {
            text: line["figures"][measure]
            for text, line in found.items()
            if line["figures"].get(measure) is not None
        }

    def spent(self, point: Point) -> float:
        """Forward passes, the mean over texts."""
        return float(np.mean([line["spent"] for line in self.figures[point].values()]))

    def texts(self, task: str, absence: str) -> int:
        return len({text for point in self.points(task, absence) for text in self.figures[point]})

    def estimate(self, point: Point, measure: str) -> Estimate | None:
        return estimate(list(self.values(point, measure).values()), MEASURES[measure].is_median)

    def difference(self, one: Point, other: Point, measure: str) -> Estimate | None:
        """On the texts that both have: above 0 where `one` is better."""
        first, second = self.values(one, measure), self.values(other, measure)
        sign = 1 if MEASURES[measure].is_better_high else -1
        gaps = [sign * (first[text] - second[text]) for text in first if text in second]
        return estimate(gaps, MEASURES[measure].is_median)

    def at_equal_cost(self, task: str, absence: str) -> list[Point]:
        """One point a contender: told so many passes, else its default where that is no dearer."""
        found = {}
        for point in self.points(task, absence):
            cheap = point.passes == 0 and self.spent(point) <= EQUAL * ENOUGH
            if point.passes == EQUAL or (cheap and point.contender not in found):
                found[point.contender] = point
        return list(found.values())

    def problems(self, task: str, absence: str) -> list[str]:
        """Why explanations are missing: once for each contender and reason."""
        reasons: dict[tuple[str, str], int] = {}
        for line in self.lines:
            if (line["task"], line["absence"]) != (task, absence):
                continue
            reason = line.get("error") or line.get("left out")
            if reason and reason != "too few passes":
                key = line["contender"], reason
                reasons[key] = reasons.get(key, 0) + 1
        return [f"{name}: {reason} ({count} times)" for (name, reason), count in reasons.items()]


def estimate(values: Sequence[float], is_median: bool = False, seed: int = 0) -> Estimate | None:
    if not len(values):
        return None
    middle = np.median if is_median else np.mean
    rng, array = np.random.default_rng(seed), np.array(values)
    means = middle(array[rng.integers(0, len(array), (RESAMPLES, len(array)))], axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(middle(array)), float(low), float(high), len(array))
