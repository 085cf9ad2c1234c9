"""Whether two explanations have the same scores, up to sampling and rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.errors import few
from piste.result.explanation import Explanation
from piste.result.scores import score

BEYOND = 3.0  # standard errors: with the same seed, scores of the same model differ by rounding
FIT_ROUNDING = 0.01  # of the strongest score: what a fit on another machine makes of rounding
ADDED_UP = 1e-6  # of the scores' size: what rounding leaves of a sum
HOLDS, FAILS, UNKNOWN = "holds", "fails", "unknown"


@dataclass(frozen=True)
class Check:
    """One thing that was tried: whether it holds, what was found, what to do about it."""

    name: str
    outcome: str  # "holds", "fails" or "unknown"
    found: str
    advice: str = ""


def adds_up(explanation: Explanation) -> bool:
    """Whether base and scores are to add up to the model's score."""
    return explanation.base is not None and score(explanation.primary).adds_up


def sum_problem(explanation: Explanation) -> str | None:
    """What base and scores add up to, where that is not the recorded score."""
    if not adds_up(explanation):
        return None
    base, scores = explanation.base or 0.0, explanation.scores[explanation.primary]
    total, size = base + float(scores.sum()), abs(base) + float(np.abs(scores).sum())
    target = explanation.target.score
    if abs(total - target) <= ADDED_UP * max(1.0, size):
        return None
    return f"base and scores add up to {signed(total)}, and the recorded score is {signed(target)}"


def of_scores(then: Explanation, again: Explanation) -> Check:
    """Whether all scores are the same within their standard errors."""
    if [player.text for player in then.players] != [player.text for player in again.players]:
        return Check("scores", FAILS, f"the {then.unit}s differ now", "Explain again.")
    missing = [name for name in then.scores if name not in again.scores]
    if missing:
        found = f"{again.method} makes no score {few(missing)!r}"
        return Check("scores", FAILS, found, "The file was changed: use the original.")
    wrong = {name: _beyond(then, again, name) for name in then.scores}
    for name, beyond in wrong.items():  # the primary one, which is the first, before others
        if beyond.any():
            return _other_scores(then, again, name, beyond)
    apart = max(float(_apart(then, again, name).max(initial=0.0)) for name in then.scores)
    count = sum(map(len, then.scores.values()))
    return Check("scores", HOLDS, f"{count:,} scores, equal within {apart:.1g}")


def _apart(then: Explanation, again: Explanation, name: str) -> FloatArray:
    return np.abs(then.scores[name] - again.scores[name])


def _beyond(then: Explanation, again: Explanation, name: str) -> BoolArray:
    """Which scores differ by more than sampling and rounding explain."""
    apart = _apart(then, again, name)
    # The file's own errors could have been changed with its scores.
    error = math.sqrt(2) * again.errors.get(name, np.zeros_like(apart))
    largest = float(np.abs(then.scores[name]).max(initial=0.0))
    return np.asarray(apart > BEYOND * error + FIT_ROUNDING * max(largest, 1e-9))


def _other_scores(then: Explanation, again: Explanation, name: str, beyond: BoolArray) -> Check:
    worst = int(np.argmax(np.where(beyond, _apart(then, again, name), 0.0)))
    was, now = float(then.scores[name][worst]), float(again.scores[name][worst])
    word = few([then.players[worst].text])
    found = f"{int(beyond.sum()):,} of {len(beyond):,} {name}s differ, most “{word}”"
    advice = "Explain the text again, and look at both with piste diff."
    return Check("scores", FAILS, f"{found}: {signed(was)} recorded, {signed(now)} now", advice)


def signed(number: float) -> str:
    return f"{number:+.3g}".replace("-", "−")
