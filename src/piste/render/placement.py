"""Labels beside their points, none over another: greedy, strongest first, always the same."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray

Point = tuple[float, float]
_RINGS = (1.0, 9.0, 18.0, 28.0, 40.0)  # distance of the label from its point
_TURNS = 16
_COVERED = 14.0  # a covered point is worth this much distance
_NEAR = 5.0  # and so much a point near enough to be taken for the label's own
_CLOSE = 6.0
_MOST_COVERED = 2
_STEPS = 6


@dataclass(frozen=True)
class Box:
    """A rectangle; which way is up does not matter."""

    left: float
    low: float
    right: float
    high: float

    def overlaps(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high

    def inside(self, other: "Box") -> bool:
        across = other.left <= self.left and self.right <= other.right
        return across and other.low <= self.low and self.high <= other.high

    def holds(self, point: Point) -> bool:
        return self.left <= point[0] <= self.right and self.low <= point[1] <= self.high

    def nearest(self, point: Point) -> Point:
        """The point of the box that is nearest to `point`: where a leader line ends."""
        x, y = point
        return min(max(x, self.left), self.right), min(max(y, self.low), self.high)

    def moved(self, across: float, up: float) -> "Box":
        return Box(self.left + across, self.low + up, self.right + across, self.high + up)

    def grown(self, by: float) -> "Box":
        return Box(self.left - by, self.low - by, self.right + by, self.high + by)


def place(
    anchors: Sequence[Point], sizes: Sequence[Point], obstacles: Sequence[Point], bounds: Box
) -> list[Box | None]:
    """A box for each anchor, in the order given; None where no free place is near.

    `obstacles` are all points of the picture; a label covers one only if it must.
    """
    placed: list[Box | None] = []
    busy = np.array(obstacles, dtype=np.float64).reshape(-1, 2)
    for anchor, size in zip(anchors, sizes, strict=True):
        taken = [box for box in placed if box is not None]
        box = _best(anchor, size, busy, taken, bounds)
        placed.append(box)
        if box is not None:
            busy = np.concatenate([busy, _leader(anchor, box)])
    return placed


def _best(
    anchor: Point, size: Point, busy: FloatArray, taken: list[Box], bounds: Box
) -> Box | None:
    best, least = None, math.inf
    for distance, box in _candidates(anchor, size):
        if not box.inside(bounds) or not _is_free(anchor, box, taken):
            continue
        covered, around = _count(busy, box.grown(1.5)), box.grown(_CLOSE)
        strangers = _count(busy, around) - around.holds(anchor)
        cost = distance + _COVERED * covered + _NEAR * strangers
        if covered <= _MOST_COVERED and cost < least:
            best, least = box, cost
    return best


def _count(busy: FloatArray, box: Box) -> int:
    inside = (busy >= (box.left, box.low)) & (busy <= (box.right, box.high))  # [points, 2]
    return int(inside.all(axis=1).sum())


def _is_free(anchor: Point, box: Box, taken: list[Box]) -> bool:
    line = _leader(anchor, box)
    return not any(box.overlaps(other) or any(map(other.holds, line)) for other in taken)


def _candidates(anchor: Point, size: Point) -> Iterator[tuple[float, Box]]:
    """Boxes around the anchor, near ones first; right and left of it before above and below."""
    (x, y), (width, height) = anchor, size
    for ring in _RINGS:
        for turn in range(_TURNS):
            half = (turn + 1) // 2 * (1 if turn % 2 else -1)
            angle = 2 * math.pi * half / _TURNS
            across, up = math.cos(angle), math.sin(angle)
            centre_x = x + across * (ring + 5 + width / 2)
            centre_y = y + up * (ring + 4 + height / 2)
            box = Box(
                centre_x - width / 2,
                centre_y - height / 2,
                centre_x + width / 2,
                centre_y + height / 2,
            )
            yield math.dist(anchor, box.nearest(anchor)) + abs(up), box


def _leader(anchor: Point, box: Box) -> list[Point]:
    """Points along the line from the anchor to its label, without the anchor itself."""
    (x, y), (end_x, end_y) = anchor, box.nearest(anchor)
    steps = (step / _STEPS for step in range(1, _STEPS + 1))
    return [(x + (end_x - x) * part, y + (end_y - y) * part) for part in steps]
