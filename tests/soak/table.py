"""The one table: what was tried, how often, what was wrong or lost, and how long it took."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import piste
from tests.soak.cases import Case, Result
from tests.soak.ledger import Ledger

BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"
HEAD = ("stage", "what was tried", "times", "wrong or lost", "seconds", "also seen")
DASH = "–"


@dataclass(frozen=True)
class Row:
    """A case, how many of its batches are done, and what they found together."""

    case: Case
    done: int
    planned: int
    result: Result

    @classmethod
    def of(cls, case: Case, ledger: Ledger) -> Row:
        results = ledger.results(case)
        total = sum(results.values(), Result())
        return cls(case, len(results), len(case.planned(ledger.scale)), total)

    @property
    def is_complete(self) -> bool:
        return self.done >= self.planned

    @property
    def is_good(self) -> bool:
        return self.is_complete and not self.result.wrong

    @property
    def cells(self) -> tuple[str, ...]:
        case, result = self.case, self.result
        if not self.done:
            return case.stage, case.title, DASH, DASH, DASH, ""
        part = "" if self.is_complete else f" ({self.done} of {self.planned} batches)"
        times, wrong = f"{result.tried:,}{part}", f"{result.wrong:,}"
        return case.stage, case.title, times, wrong, f"{result.seconds:.0f}", _seen(result)


def _seen(result: Result) -> str:
    counts = [f"{name}: {count:,}" for name, count in sorted(result.counts.items())]
    peaks = [f"{name}: {value:,.4g}" for name, value in sorted(result.peaks.items())]
    return "; ".join(counts + peaks)


def markdown(rows: Sequence[Row]) -> str:
    """The table, with a last line for all of it."""
    tried = sum(row.result.tried for row in rows)
    wrong = sum(row.result.wrong for row in rows)
    last = ("", "all", f"{tried:,}", f"{wrong:,}", f"{sum(row.result.seconds for row in rows):.0f}")
    done = any(row.done for row in rows)
    lines = [HEAD, ("---", "---", "---:", "---:", "---:", "---"), *(row.cells for row in rows)]
    lines.append((*last, "") if done else ("", "all", DASH, DASH, DASH, ""))
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def caption() -> str:
    """What was measured, when and on what."""
    date = datetime.now(UTC).date().isoformat()
    return (
        f"piste {piste.__version__}, {date}, Python {platform.python_version()},"
        f" {os.cpu_count()} cores, {platform.system()} {platform.machine()}."
    )


def update_page(page: Path, rows: Sequence[Row], note: str) -> None:
    """Put the table between the page's two marks."""
    text = page.read_text(encoding="utf-8")
    between = f"{BEGIN}\n\n{note}\n\n{markdown(rows)}\n{END}"
    updated, times = re.subn(
        f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: between, text, flags=re.S
    )
    if times != 1:
        raise SystemExit(f"{page} has no place for the table: {BEGIN} ... {END}.")
    page.write_text(updated, encoding="utf-8")
