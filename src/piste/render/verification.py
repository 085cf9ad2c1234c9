"""A verification in a terminal, and as plain text."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from piste.render import words
from piste.render.clean import one_line
from piste.render.plain import captured, plain
from piste.result.checks import FAILS, HOLDS, UNKNOWN
from piste.verify import Verification

MARKS = {HOLDS: ("holds", "green"), FAILS: ("FAILS", "bold red"), UNKNOWN: ("–", "dim")}


def show(verification: Verification, console: Console | None = None) -> None:
    """Print the checks to the terminal, or to the given console."""
    console = console or Console()
    console.print(plain(verdict(verification), "bold"))
    console.print(Padding(_checks(verification), (1, 2)))
    for advice in dict.fromkeys(check.advice for check in verification.checks if check.advice):
        names = [check.name for check in verification.checks if check.advice == advice]
        console.print(plain(f"{words.listed(names)}: {advice}"))
    console.print(plain(_origin(verification), "dim"))


def as_text(verification: Verification) -> str:
    """The same as plain text, without colours or escape codes."""
    return captured(lambda console: show(verification, console))


def verdict(verification: Verification) -> str:
    """Whether the explanation holds, in one sentence."""
    by = {
        outcome: [c.name for c in verification.checks if c.outcome == outcome] for outcome in MARKS
    }
    if by[FAILS]:
        verb = "differs" if len(by[FAILS]) == 1 else "differ"
        return f"The explanation does not hold: {words.listed(by[FAILS])} {verb}."
    if verification.again is None:
        return "What could be checked holds, but the scores could not be recomputed."
    return "The explanation holds."


def _checks(verification: Verification) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for check in verification.checks:
        mark, style = MARKS[check.outcome]
        grid.add_row(plain(check.name, "bold"), plain(mark, style), plain(check.found))
    return grid


def _origin(verification: Verification) -> str:
    explanation = verification.explanation
    when = "at an unknown date" if explanation.record is None else f"on {explanation.record.made}"
    how = f"{explanation.method}, seed {explanation.seed}"
    return f"Made {when} from {one_line(explanation.model, 60)} by {how}."
