"""Tokens gathered into players. A player's tokens always travel together and in order."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from piste.errors import InputError, choices
from piste.explanation import Player
from piste.ragged import IntArray, Ragged
from piste.text.encoding import Encoding, Frame, Span
from piste.text.units import UNITS

UNIT_NAMES = ("token", *UNITS)
REPEATS = ("shared", "separate")


@dataclass(frozen=True)
class Players:
    """The players of one text, in reading order."""

    text: str
    unit: str
    items: tuple[Player, ...]
    frame: Frame

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def groups(self) -> IntArray:
        """The group of each player [players]; groups are numbered by first appearance."""
        return np.array([player.group for player in self.items], dtype=np.int64)

    @cached_property
    def first(self) -> IntArray:
        """The first player of each group [groups]."""
        return np.unique(self.groups, return_index=True)[1].astype(np.int64)

    @cached_property
    def ids(self) -> Ragged:
        """The token ids of each player."""
        return Ragged.of([player.ids for player in self.items])

    def of_groups(self, rows: Ragged) -> Ragged:
        """Rows of groups as rows of players: each group by its first player."""
        return Ragged(self.first[rows.values], rows.starts)

    @property
    def whole(self) -> Ragged:
        """The design with one row: the text itself."""
        return Ragged.table(np.arange(len(self.items))[None, :])


def split(encoding: Encoding, unit: str = "word", repeats: str = "shared") -> Players:
    """Players of the given unit; equal ones share a group unless `repeats` is "separate"."""
    check_unit(unit, repeats)
    spans, owners = _token_units(encoding) if unit == "token" else _text_units(encoding, unit)
    if not owners:
        raise InputError(
            "The model's tokenizer sees nothing in this text.",
            "It holds only characters the tokenizer drops (spaces, control characters).",
        )
    return Players(encoding.text, unit, _gather(encoding, spans, owners, repeats), encoding.frame)


def check_unit(unit: str, repeats: str) -> None:
    """Raise the error for a unit or a way to treat repeats that does not exist."""
    if unit not in UNIT_NAMES:
        raise choices("unit", unit, UNIT_NAMES)
    if repeats not in REPEATS:
        raise choices("way to treat repeats", repeats, REPEATS)


def _token_units(encoding: Encoding) -> tuple[list[Span], list[int]]:
    """Every token a unit of its own, its span without the space that some tokenizers include."""
    spans = [_trimmed(encoding.text, span) for span in encoding.spans]
    return spans, list(range(len(spans)))


def _trimmed(text: str, span: Span) -> Span:
    piece = text[span[0] : span[1]]
    if not piece.strip():
        return span
    start = span[0] + len(piece) - len(piece.lstrip())
    return start, start + len(piece.strip())


def _text_units(encoding: Encoding, unit: str) -> tuple[list[Span], list[int]]:
    """Units of the text, and for each token the unit that owns it."""
    spans = UNITS[unit](encoding.text)
    if not spans:
        return [], []
    overlaps = _overlaps(encoding.spans, spans)
    merged = list(range(len(spans)))
    for low, high in overlaps:
        # A token over several units (a piece like "d.") makes one unit of them.
        merged[low + 1 : high + 1] = [merged[low]] * (high - low)
    for unit_index, owner in enumerate(merged):
        spans[owner] = (spans[owner][0], max(spans[owner][1], spans[unit_index][1]))
    owners = np.maximum.accumulate([merged[low] for low, _ in overlaps] or [0])
    return spans, owners[: len(overlaps)].tolist()


def _overlaps(tokens: Sequence[Span], units: Sequence[Span]) -> list[tuple[int, int]]:
    """First and last unit under each token. A blank token goes with the unit that follows it."""
    starts, ends = [u[0] for u in units], [u[1] for u in units]
    pairs = []
    for start, end in tokens:
        low = min(bisect_right(ends, start), len(units) - 1)
        pairs.append((low, max(low, bisect_left(starts, end) - 1)))
    return pairs


def _gather(
    encoding: Encoding, spans: Sequence[Span], owners: Sequence[int], repeats: str
) -> tuple[Player, ...]:
    tokens: dict[int, list[int]] = {}
    for token, owner in enumerate(owners):
        tokens.setdefault(owner, []).append(token)
    groups: dict[object, int] = {}
    players = []
    for owner, members in tokens.items():
        key = tuple(encoding.keys[t] for t in members) if repeats == "shared" else owner
        start, end = spans[owner]
        players.append(
            Player(
                text=encoding.text[start:end],
                start=start,
                end=end,
                ids=tuple(encoding.ids[t] for t in members),
                group=groups.setdefault(key, len(groups)),
            )
        )
    return tuple(players)
