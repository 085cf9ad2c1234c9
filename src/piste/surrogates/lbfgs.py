"""The minimum of a smooth function of some hundred numbers: L-BFGS with a Wolfe line search.

As in scipy.optimize, which is not used because importing it takes longer than such a fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray

Loss = Callable[[FloatArray], tuple[float, FloatArray]]  # the value and its gradient
MEMORY = 10  # steps from which the curvature is known
FLAT = 1e-5  # of the largest entry of the gradient
PRECISION = 1e7 * float(np.finfo(float).eps)
ENOUGH, FLATTER = 1e-3, 0.9  # Wolfe: of the fall that the slope promises, and of the slope itself
TRIALS = 20  # of a step's length


@dataclass(frozen=True, eq=False)
class Point:
    """Where the search is, and what the function is there."""

    place: FloatArray
    value: float
    gradient: FloatArray

    @classmethod
    def at(cls, loss: Loss, place: FloatArray) -> Point:
        value, gradient = loss(place)
        return cls(place, float(value), gradient)


def minimise(
    loss: Loss, start: FloatArray, iterations: int, precision: float = PRECISION
) -> tuple[FloatArray, int]:
    """The place where `loss` is least, as far as it is found, and the number of iterations.

    It ends where a step makes it fall by less than `precision`, relative to its size.
    """
    point, steps = Point.at(loss, np.asarray(start, dtype=np.float64)), _Steps(deque(maxlen=MEMORY))
    for count in range(iterations):
        if np.abs(point.gradient).max(initial=0.0) <= FLAT:
            return point.place, count
        following = _searched(loss, point, steps.direction(point.gradient), not steps.known)
        if following is None and steps.known:  # the curvature misleads: downhill instead
            steps.known.clear()
            following = _searched(loss, point, -point.gradient, True)
        if following is None:
            return point.place, count
        steps.add(following.place - point.place, following.gradient - point.gradient)
        fall, size = point.value - following.value, max(abs(point.value), abs(following.value), 1.0)
        point = following
        if fall <= precision * size:
            return point.place, count + 1
    return point.place, iterations


@dataclass
class _Steps:
    """The last steps, the changes of the gradient on them, and 1 / their product."""

    known: deque[tuple[FloatArray, FloatArray, float]]

    def add(self, step: FloatArray, change: FloatArray) -> None:
        product = float(step @ change)
        if product > np.finfo(float).eps * float(change @ change):
            self.known.append((step, change, 1 / product))

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Minus the inverse curvature times the gradient (the two loops of Nocedal)."""
        downhill, shares = -gradient, []
        for step, change, inverse in reversed(self.known):
            share = inverse * float(step @ downhill)
            shares.append(share)
            downhill = downhill - share * change
        if self.known:
            _, change, inverse = self.known[-1]
            downhill = downhill / (inverse * float(change @ change))
        for (step, change, inverse), share in zip(self.known, reversed(shares), strict=True):
            downhill = downhill + (share - inverse * float(change @ downhill)) * step
        return downhill


def _searched(loss: Loss, point: Point, direction: FloatArray, first: bool) -> Point | None:
    """A point along the direction that is lower and flatter by Wolfe's conditions; else the lowest
    that fell enough; None where none did.
    """
    start = _Trial(0.0, point, direction)
    if not start.slope < 0:
        return None
    length = min(1.0, 1 / float(np.linalg.norm(direction))) if first else 1.0
    low, high, best = start, None, None
    for _ in range(TRIALS):
        trial = _Trial(length, Point.at(loss, point.place + length * direction), direction)
        fell = trial.value <= start.value + ENOUGH * length * start.slope
        if fell and abs(trial.slope) <= -FLATTER * start.slope:
            return trial.point
        if fell and (best is None or trial.value < best.value):
            best = trial.point
        if not fell or trial.value >= low.value or trial.slope > 0:
            high = trial
        else:
            low = trial
        length = 4 * length if high is None else _between(low, high)
    return best


class _Trial:
    """A point on the line of a search."""

    def __init__(self, length: float, point: Point, direction: FloatArray) -> None:
        self.length, self.point, self.value = length, point, point.value
        self.slope = float(point.gradient @ direction)


def _between(low: _Trial, high: _Trial) -> float:
    """Where the cubic through both ends has its minimum, not too near to either."""
    width = high.length - low.length
    bend = 3 * (low.value - high.value) / width + low.slope + high.slope
    under = bend**2 - low.slope * high.slope
    share = 0.5
    if np.isfinite(under) and under >= 0:
        root = np.sqrt(under)
        below = high.slope - low.slope + 2 * root
        share = 1 - (high.slope + root - bend) / below if below else 0.5
    return low.length + float(np.clip(share, 0.1, 0.9)) * width
