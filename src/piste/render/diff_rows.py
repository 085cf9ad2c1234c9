"""The rows of a difference, and the steps that lead from the score before to the score after."""

from __future__ import annotations

import math
from dataclasses import dataclass

from piste.render.clean import one_line
from piste.result.difference import Diff, WordChange
from piste.result.explanation import Explanation
from piste.result.parts import is_sure

SHOWN = 12  # rows of their own
EMPTY = "empty text"  # the label of the base's step
NO_CHANGE = 0.005  # on the scale: shown, both scores are the same


@dataclass(frozen=True)
class Row:
    """A word that changed, or several equal ones that share their scores."""

    same: tuple[WordChange, ...]

    @property
    def kind(self) -> str:
        return self.same[0].kind

    @property
    def score_before(self) -> float:
        return math.fsum(word.score_before for word in self.same)

    @property
    def score_after(self) -> float:
        return math.fsum(word.score_after for word in self.same)

    @property
    def change(self) -> float:
        return self.score_after - self.score_before

    @property
    def error(self) -> float | None:
        """The standard error of the change: equal words share one error, which therefore adds."""
        errors = [word.error for word in self.same if word.error is not None]
        return math.fsum(errors) if len(errors) == len(self.same) else None

    @property
    def sure(self) -> bool:
        return is_sure(self.change, self.error or 0.0)


@dataclass(frozen=True)
class Step:
    """One bar from the score before to the score after."""

    label: str
    start: float
    end: float
    row: Row | None = None
    error: float | None = None

    @property
    def change(self) -> float:
        return self.end - self.start


def rows(diff: Diff) -> list[Row]:
    """All words, equal ones together, the largest change first."""
    found: dict[tuple[object, ...], list[WordChange]] = {}
    for word in diff.words:
        groups = _groups(diff.before, word.before), _groups(diff.after, word.after)
        found.setdefault((word.kind, *groups), []).append(word)
    return sorted((Row(tuple(same)) for same in found.values()), key=lambda row: -abs(row.change))


def _groups(explanation: Explanation, players: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(explanation.players[index].group for index in players)


def named(diff: Diff, row: Row) -> str:
    """A row's title: "How many → Where", "+ not", "− not", "film 2×"."""
    old, new = (one_line(text, 28) for text in diff.text_of(row.same[0]))
    times = f" {len(row.same)}×" if len(row.same) > 1 else ""
    if row.kind == "changed":
        return f"{old} → {new}{times}"
    if row.kind == "added":
        return f"+ {new}{times}"
    return f"− {old}{times}" if row.kind == "removed" else f"{new}{times}"


def steps(diff: Diff, most: int = SHOWN) -> list[Step]:
    """From the score before to the score after: base, changes beyond chance, then all others."""
    here, done = diff.before.target.score, []
    if diff.base:
        done.append(Step(EMPTY, here, here + diff.base))
        here += diff.base
    every = [row for row in rows(diff) if row.change]
    sure = [row for row in every if row.sure]
    shown = sure if len(sure) <= most + 1 else sure[:most]
    shown = shown if len(every) > len(shown) + 1 else every  # one that is left has its own name
    for row in shown:
        done.append(Step(named(diff, row), here, here + row.change, row, row.error))
        here += row.change
    end, others = diff.after.target.score, [row for row in every if row not in shown]
    if others:
        there = end - (0.0 if diff.adds_up else diff.left)
        name = f"other {diff.after.unit}s" if shown else f"{diff.after.unit}s"
        done.append(Step(f"{len(others)} {name}", here, there, error=_rest(diff, shown, others)))
        here = there
    if not diff.adds_up and abs(diff.left) >= NO_CHANGE:
        done.append(Step(f"not told by {diff.after.method}", here, end))
    return done


def _rest(diff: Diff, shown: list[Row], others: list[Row]) -> float | None:
    """A bound on the error of the others together.

    Where all changes sum to a known number, the others are as uncertain as those that are shown.
    """
    sides = [others, shown] if diff.adds_up and not diff.base else [others]
    errors = [diff.error_of([word for row in side for word in row.same]) for side in sides]
    return min((error for error in errors if error is not None), default=None)
