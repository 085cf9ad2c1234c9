"""Which players of one text stand in the place of which players of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from piste.result.explanation import Player

LONGEST = 4  # players of a phrase that became another; longer ones are removed and added
Place = tuple[str, tuple[int, ...], tuple[int, ...]]  # kind, players before, players after


def matched(before: Sequence[Player], after: Sequence[Player]) -> list[Place]:
    """All players of both in reading order, each once.

    Equal ones are kept. Between those, as many that became as many others are changed one by one,
    and a short phrase that became another is one change.
    """
    matcher = SequenceMatcher(None, _keys(before), _keys(after), autojunk=False)
    places: list[Place] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        old, new = range(i, j), range(k, m)
        if tag == "equal":
            places += [_same(before, after, i, j) for i, j in zip(old, new, strict=True)]
        else:
            places += _replaced(old, new)
    return places


def _keys(players: Sequence[Player]) -> list[tuple[int, str]]:
    return [(player.segment, player.text.casefold()) for player in players]


def _same(before: Sequence[Player], after: Sequence[Player], i: int, j: int) -> Place:
    """Letters of another case are a change where the model reads other tokens."""
    old, new = before[i], after[j]
    return "kept" if old.text == new.text or old.ids == new.ids else "changed", (i,), (j,)


def _replaced(old: range, new: range) -> Iterator[Place]:
    if len(old) == len(new):
        yield from (("changed", (i,), (j,)) for i, j in zip(old, new, strict=True))
    elif old and new and max(len(old), len(new)) <= LONGEST:
        yield "changed", tuple(old), tuple(new)
    else:
        yield from (("removed", (index,), ()) for index in old)
        yield from (("added", (), (index,)) for index in new)
