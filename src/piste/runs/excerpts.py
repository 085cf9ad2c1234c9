"""Example texts for the rows of a summary: which texts show a word, and what stands around it.

A run keeps no texts, but every visible character of a text belongs to one of its players, and
players know where they stand. So a text is put together again from its rows; only the kind of
white space between words is lost.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

OWN, OTHER, WRONG, MOST = 2, 1, 2, 4  # texts of a word: its own side, the other, mistakes, in all
AROUND = 9  # words shown on each side of the one that matters
WHOLE = 24  # on each side, where it is the text that matters
LONGEST = 40  # characters of a word
GAP = "…"
Piece = tuple[str, float, bool]  # text, score, and whether it is what the row is about


@dataclass(frozen=True)
class Excerpt:
    """Part of a text: its words with their scores, and what the model and the data say of it."""

    id: str
    predicted: str
    label: str | None  # of the data
    probability: float | None  # of what is predicted
    pieces: tuple[Piece, ...]
    decided: bool = True  # False: what is predicted is not known; `predicted` is what was explained
    wrong: bool = False  # surely predicted otherwise than labelled


@dataclass(frozen=True)
class Place:
    """Words of a text, by position; without positions, those around its strongest word."""

    text: int
    positions: tuple[int, ...] = ()


@dataclass
class Picks:
    """The texts that show a word best, gathered text by text."""

    highest: list[tuple[float, int, int]] = field(default_factory=list)  # score, text, position
    lowest: list[tuple[float, int, int]] = field(default_factory=list)
    wrong: list[Place] = field(default_factory=list)

    def add(self, score: float, text: int, position: int, decided_wrongly: bool) -> None:
        """An occurrence; of a text that has several, any."""
        _keep(self.highest, (-score, text, position))
        _keep(self.lowest, (score, text, position))
        if decided_wrongly and len(self.wrong) < WRONG:
            self.wrong.append(Place(text, (position,)))

    def places(self, mean: float) -> list[Place]:
        """Texts of the side that the mean is on, one of the other if there is one, mistakes."""
        own, other = (self.highest, self.lowest) if mean >= 0 else (self.lowest, self.highest)
        chosen = [Place(text, (at,)) for _, text, at in own[:OWN]]
        chosen += [Place(text, (at,)) for key, text, at in other[:OTHER] if key < 0]
        by_text = {place.text: place for place in [*self.wrong, *chosen]}
        ordered = [by_text[place.text] for place in [*chosen, *self.wrong]]
        return list(dict.fromkeys(ordered))[:MOST]


def _keep(best: list[tuple[float, int, int]], entry: tuple[float, int, int]) -> None:
    """Keep the smallest entries, one a text."""
    if len(best) == OWN and entry[0] >= best[-1][0]:
        return  # equal ones: the first texts stay
    if any(one[1] == entry[1] for one in best):
        return
    insort(best, entry)
    del best[OWN:]


def pieces(
    rows: Mapping[str, Sequence[Any]], scores: Sequence[float], positions: Sequence[int]
) -> tuple[Piece, ...]:
    """The words around these positions, or around the strongest one, as they stood."""
    size = len(scores)
    reach = AROUND if positions else WHOLE
    marked = [at for at in positions if at < size]
    centres = marked or [max(range(size), key=lambda at: abs(scores[at]))] if size else []
    made: list[Piece] = []
    last = -1
    for at in _windows(centres, reach, size):
        if at > last + 1:
            made.append((f"{GAP} " if last < 0 else f" {GAP} ", 0.0, False))
            last = -1
        space = _space(rows, last, at) if last >= 0 else ""
        made.append((space + _cut(rows["word"][at]), scores[at], at in marked))
        last = at
    if made and last < size - 1:
        made.append((f" {GAP}", 0.0, False))
    return tuple(made)


def _windows(centres: Sequence[int], reach: int, size: int) -> Iterator[int]:
    """Positions near the centres, in order, each once."""
    near = {at for centre in centres for at in range(centre - reach, centre + reach + 1)}
    return iter(sorted(at for at in near if 0 <= at < size))


def _space(rows: Mapping[str, Sequence[Any]], left: int, right: int) -> str:
    """What stood between two neighbours: nothing, white space, or the end of the first text."""
    if "segment" in rows and rows["segment"][left] != rows["segment"][right]:
        return " ‖ "
    return " " if rows["start"][right] > rows["end"][left] else ""


def _cut(word: str) -> str:
    """The word, cut where it is longer than any word is."""
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + GAP
