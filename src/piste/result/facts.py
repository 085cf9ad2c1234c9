"""How an explanation came about: how far it agrees with the model, what it cost, why it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOW = 0.5  # an R² below it earns a warning
FEW_CHECKS = 5  # an R2 of fewer sequences says nothing
GROUPS = "groups"  # checked on a few words at a time: it says nothing of the text itself


@dataclass(frozen=True)
class Agreement:
    """Surrogate against model on sequences that the fit has not seen."""

    r2: float | None  # None where the model's answers do not vary, or are fewer than FEW_CHECKS
    rmse: float  # on the target's scale
    samples: int


def r2_text(r2: float, digits: int = 2, above: str = "above ") -> str:
    """An R², rounded down, so that 0.998 never reads as perfect and 0.499 never as fair.

    Only 1 itself reads 1.00. above: what stands before 0.99 where it is nearer to 1 than to that.
    """
    if r2 < -10:
        return "below −10"
    parts = 10**digits
    if r2 < 1 and round(r2, digits) >= 1:
        return f"{above}{1 - 1 / parts:.{digits}f}"
    # A product may fall short of the number that it stands for: 0.29 * 100 is 28.999999999999996.
    return f"{math.floor(round(r2 * parts, 9)) / parts:.{digits}f}".replace("-", "−")


@dataclass(frozen=True)
class Fidelity:
    """Held-out agreement by kind of sequence: `checks["short"]`, `checks["deletions"]`.

    `r2` and `rmse` are those of the worst check: a figure to decide by must not flatter. So there
    is no `r2` where small groups of words are all that was checked.
    """

    checks: Mapping[str, Agreement]

    @property
    def r2(self) -> float | None:
        return self.worst.r2 if set(self.checks) != {GROUPS} else None

    @property
    def rmse(self) -> float:
        return self.worst.rmse

    @property
    def worst(self) -> Agreement:
        """The check with the lowest R2; those without one (the model hardly moves) come last."""
        return min(self.checks.values(), key=lambda check: (check.r2 is None, check.r2 or 0.0))


@dataclass(frozen=True)
class Cost:
    """What the explanation cost. `tokens` counts special tokens too; nothing is padded."""

    forwards: int  # sequences sent through the model
    tokens: int
    query_seconds: float
    fit_seconds: float
    full_tokens: int | None = None  # of the full text, or of all its windows; None in old files

    @property
    def passes(self) -> float | None:
        """The cost in forward passes of the full text: tokens in lengths of it."""
        return self.tokens / self.full_tokens if self.full_tokens else None

    def __add__(self, other: Cost) -> Cost:
        lengths = (self.full_tokens, other.full_tokens)
        return Cost(
            self.forwards + other.forwards,
            self.tokens + other.tokens,
            self.query_seconds + other.query_seconds,
            self.fit_seconds + other.fit_seconds,
            None if None in lengths else sum(length or 0 for length in lengths),
        )


@dataclass(frozen=True)
class FitReport:
    """How the surrogate's fit ended."""

    converged: bool
    iterations: int
    loss: float  # mean squared error on the fitted sequences


@dataclass(frozen=True)
class Stopped:
    """Why a method that samples in rounds asked no more, and how sure it was by then.

    The `ten strongest` are distinct players by the primary score (all, where there are fewer).
    """

    reason: str  # "stable", "budget" (not stable yet) or "exhausted" (nothing new left to ask)
    rounds: int
    tolerance: float
    spread: float  # standard error of the ten strongest, relative to their scores
    ranking: float  # how many of the ten another draw of the fit would choose, as a share


@dataclass(frozen=True)
class Record:
    """What it takes to make an explanation again, and to tell whether it still holds.

    Seed, method, its settings and versions stand in the explanation itself.
    """

    made: str  # date and time in UTC, as ISO 8601 writes them
    options: Mapping[str, Any]  # every setting of `Options`, as it was given
    fingerprint: Mapping[str, Any]  # of the model: digests of what it is made of, its labels
    unknown: str | None = None  # why there is no digest of its weights
    outputs: tuple[float, ...] | None = None  # the model's answer to the text; None in windows
