"""From the base to the score, one word after the other: what the waterfalls show."""

from __future__ import annotations

from dataclasses import dataclass

from piste.options import WORDS_SHOWN
from piste.render.clean import one_line
from piste.render.words import NOTHING, text_of
from piste.result.explanation import Explanation, Row
from piste.result.scores import score

SLACK = 1  # a single other word has the room that it would be counted in
LABEL = 24  # characters of a word


@dataclass(frozen=True)
class Step:
    """One bar: from where to where the score goes, and by which word."""

    label: str
    start: float
    end: float
    error: float | None = None  # standard error of the step
    group: int | None = None  # of the word; None: several words

    @property
    def change(self) -> float:
        return self.end - self.start


def steps(explanation: Explanation, most: int = WORDS_SHOWN) -> list[Step]:
    """The strongest words first, then all others as one step; they lead from base to score.

    A single other word has a step of its own; of several words that do nothing, none has one. Empty
    where the scores do not add up from a base.
    """
    name = explanation.primary
    if explanation.base is None or not score(name).adds_up:
        return []
    rows = explanation.top(len(explanation.players))
    shown = rows if len(rows) <= most + SLACK else rows[:most]
    least = NOTHING * max((abs(row.scores[name]) for row in rows), default=0.0)
    visible = sum(abs(row.scores[name]) >= least for row in shown)
    shown = shown if visible >= len(shown) - SLACK else rows[:visible]
    here, done = explanation.base, []
    for row in shown:
        there = here + row.scores[name]
        error, group = row.errors.get(name), row.player.group
        done.append(Step(_label(row, explanation), here, there, error, group))
        here = there
    others = len(rows) - len(shown)
    if others:
        some = f"{others:,} other {explanation.unit}{'s' if others > 1 else ''}"
        done.append(Step(some, here, explanation.target.score))
    return done


def _label(row: Row, explanation: Explanation) -> str:
    times = f" {row.occurrences}×" if row.occurrences > 1 else ""
    text = text_of(explanation, row.player)
    which = f" ({text})" if text else ""
    return f"{one_line(row.name, LABEL)}{times}{which}"
