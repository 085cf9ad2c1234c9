"""What the soak consists of: cases, tried in batches, each of which has a result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SHOWN = 5  # findings that are kept of each result
CLEANUP = 30.0  # seconds that a batch may take beyond its deadline before it is killed


@dataclass(frozen=True)
class Result:
    """What one batch tried, and what was wrong or lost; results add up."""

    tried: int = 0
    wrong: int = 0
    seconds: float = 0.0
    findings: tuple[str, ...] = ()  # the first of what was wrong, in words
    counts: dict[str, int] = field(default_factory=dict)  # worth telling, not wrong: summed
    peaks: dict[str, float] = field(default_factory=dict)  # worth telling: the largest counts

    def __add__(self, other: Result) -> Result:
        names = self.counts.keys() | other.counts.keys()
        peaks = self.peaks.keys() | other.peaks.keys()
        return Result(
            self.tried + other.tried,
            self.wrong + other.wrong,
            self.seconds + other.seconds,
            (self.findings + other.findings)[:SHOWN],
            {name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in names},
            {name: max(r.peaks[name] for r in (self, other) if name in r.peaks) for name in peaks},
        )

    @classmethod
    def failure(cls, finding: str) -> Result:
        return cls(wrong=1, findings=(finding,))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Result:
        return cls(**{**data, "findings": tuple(data["findings"])})


@dataclass
class Tally:
    """A result in the making."""

    tried: int = 0
    wrong: int = 0
    findings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def fail(self, finding: str) -> None:
        self.wrong += 1
        if len(self.findings) < SHOWN:
            self.findings.append(finding[:500])

    def check(self, good: bool, finding: str) -> None:
        if not good:
            self.fail(finding)

    def count(self, name: str, times: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + times

    def result(self) -> Result:
        return Result(
            self.tried, self.wrong, 0.0, tuple(self.findings), dict(self.counts), dict(self.peaks)
        )


@dataclass(frozen=True)
class Batch:
    """A part of a case's trials, with everything that decides how it goes."""

    number: int
    count: int  # trials, or seconds where the case is timed
    scale: float
    deadline: float  # on the clock of `time.monotonic`: no trial begins after it
    folder: Path  # of this batch; removed afterwards unless something was wrong
    shared: Path  # of the case: what `prepare` made

    @property
    def seed(self) -> int:
        return 1_000_003 * (self.number + 1)

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.deadline


@dataclass(frozen=True)
class Case:
    """One kind of trial. Bounded by count and by time."""

    stage: str
    name: str
    title: str  # what is tried, in the table's words
    count: int  # trials at scale 1 (or seconds, where the function goes by those)
    batch: int  # of them in one batch
    seconds: float  # the most that the case may take
    run: Callable[[Batch], Result]
    prepare: Callable[[Path, float], None] | None = None  # once a case: folder, scale
    side_by_side: int = 1  # batches at once

    @property
    def key(self) -> str:
        return f"{self.stage}/{self.name}"

    def planned(self, scale: float) -> list[int]:
        """The size of every batch."""
        count = max(1, round(self.count * scale))
        size = max(1, min(self.batch, count))
        full, rest = divmod(count, size)
        return [size] * full + ([rest] if rest else [])
