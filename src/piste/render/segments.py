"""The text cut into stretches, each with the players that cover it."""

import bisect
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from piste.arrays import FloatArray
from piste.render.clean import shorten
from piste.result.explanation import Explanation
from piste.text.units import sentence_spans

CONTEXT = 6  # segments kept on either side of a strong one; half of them are the spaces between
LONGEST = 300  # characters of one segment in an excerpt


@dataclass(frozen=True)
class Segment:
    """A stretch of the text and the indices of the players on it (none, one, or several bytes)."""

    text: str
    players: tuple[int, ...] = ()


ELISION = Segment("[…] ")


def segments(explanation: Explanation) -> list[Segment]:
    """Stretches in reading order. Joined, they are the text: nothing twice, nothing missing."""
    text = explanation.text
    starts, ends = _edges(explanation)
    cuts = sorted({0, len(text), *starts, *ends})
    active: set[int] = set()
    segments = []
    for start, end in itertools.pairwise(cuts):
        active.difference_update(ends.get(start, ()))
        active.update(starts.get(start, ()))
        segments.append(Segment(text[start:end], tuple(sorted(active))))
    return segments


def _edges(explanation: Explanation) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    size = len(explanation.text)
    for index, player in enumerate(explanation.players):
        start, end = max(player.start, 0), min(player.end, size)
        if start < end:  # a player without characters has no place in the text
            starts.setdefault(start, []).append(index)
            ends.setdefault(end, []).append(index)
    return starts, ends


def lead(segment: Segment, shades: FloatArray) -> int | None:
    """The player that colours the segment: the strongest on it."""
    return max(segment.players, key=lambda index: abs(shades[index]), default=None)


def shade(segment: Segment, shades: FloatArray) -> float:
    """The strength of the segment's leading player, 0 between players."""
    index = lead(segment, shades)
    return 0.0 if index is None else float(shades[index])


def excerpt(parts: Sequence[Segment], shades: FloatArray, limit: int) -> list[Segment]:
    """All parts if they hold at most `limit` characters, else the sentences of the strongest.

    A sentence that is too long is shown around its strongest players only.
    """
    if sum(len(part.text) for part in parts) <= limit:
        return list(parts)
    short = [Segment(shorten(part.text, LONGEST), part.players) for part in parts]
    return _with_elisions(short, _around_strongest(short, _sentences(parts), shades, limit))


def _sentences(parts: Sequence[Segment]) -> list[range]:
    """For each part, the parts of its sentence; what lies between two belongs to the first."""
    starts = [0, *itertools.accumulate(len(part.text) for part in parts)]
    sentences = sentence_spans("".join(part.text for part in parts))
    first = [0, *(bisect.bisect_left(starts, start) for start, _ in sentences[1:]), len(parts)]
    return [range(low, high) for low, high in itertools.pairwise(first) for _ in range(low, high)]


def _around_strongest(
    parts: Sequence[Segment], sentences: Sequence[range], shades: FloatArray, limit: int
) -> set[int]:
    order = sorted(range(len(parts)), key=lambda index: -abs(shade(parts[index], shades)))
    kept: set[int] = set()

    def size(indices: Iterable[int]) -> int:
        return sum(len(parts[index].text) for index in indices)

    for centre in order:
        near = range(max(centre - CONTEXT, 0), min(centre + CONTEXT + 1, len(parts)))
        whole = size(sentences[centre]) <= limit
        wanted = kept.union(sentences[centre] if whole else near)
        if size(wanted) > limit:
            break
        kept = wanted
    return kept or {order[0]}


def _with_elisions(parts: Sequence[Segment], kept: set[int]) -> list[Segment]:
    shown: list[Segment] = []
    for index, part in enumerate(parts):
        if index in kept:
            shown.append(part)
        elif not shown or shown[-1] is not ELISION:
            apart = not shown or shown[-1].text[-1:].isspace()
            shown += [ELISION] if apart else [Segment(" "), ELISION]
    return shown
