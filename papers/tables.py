"""What the theory's checks and measurements hand to whoever prints them."""

from dataclasses import dataclass

SLALOM_PAPER, ATTENTION_PAPER = "2405.13536", "2402.03485"  # on arXiv
OURS = "ours"


@dataclass(frozen=True)
class Finding:
    """One claim, what was measured, and whether the claim stands."""

    source: str  # the paper, or OURS
    claim: str
    measured: str
    passed: bool


@dataclass(frozen=True)
class Table:
    """A measurement: rows of text under columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
