"""Pairs of players whose interaction appeared, vanished or changed beyond chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from piste.result.alignment import Place
from piste.result.explanation import Explanation
from piste.result.parts import Pair, is_sure

SEARCHED = 50  # the strongest pairs of each explanation
COUNTED = 2000  # pairs of a long text whose interactions are looked up; weaker ones count as 0
NOTABLE = 0.05  # of the strongest interaction: smaller changes are left out, however sure

Indices = tuple[int, int]


@dataclass(frozen=True)
class PairChange:
    """Two players that act together, before and after, and how far that moved."""

    kind: str  # "appeared", "vanished" or "changed"
    before: Indices | None  # players of the first explanation; None where they are not there
    after: Indices | None  # players of the second
    effect_before: float  # 0 where they are not there
    effect_after: float
    error: float  # standard error of the change

    @property
    def change(self) -> float:
        return self.effect_after - self.effect_before


def pair_changes(
    before: Explanation, after: Explanation, places: Sequence[Place]
) -> tuple[PairChange, ...]:
    """Changes of interactions beyond chance, strongest first.

    None where one of the explanations does not tell which players act together.
    """
    if not (_tells(before) and _tells(after)):
        return ()
    strongest = [_sure(before), _sure(after)]
    there = {old[0]: new[0] for _, old, new in places if len(old) == len(new) == 1}
    back = {new: old for old, new in there.items()}
    pairs: dict[tuple[Indices | None, Indices | None], None] = {}
    for pair in strongest[0]:
        own = (pair.first, pair.second)
        pairs[own, _counterpart(own, there)] = None
    for pair in strongest[1]:
        own = (pair.first, pair.second)
        pairs[_counterpart(own, back), own] = None
    were = _effects(before, [one for one, _ in pairs])
    are = _effects(after, [two for _, two in pairs])
    changes = [
        _change(one, two, *was, *now) for (one, two), was, now in zip(pairs, were, are, strict=True)
    ]
    largest = max((abs(pair.effect) for pairs in strongest for pair in pairs), default=0.0)
    notable = [
        change
        for change in changes
        if is_sure(change.change, change.error) and abs(change.change) >= NOTABLE * largest
    ]
    return tuple(sorted(notable, key=lambda change: -abs(change.change)))


def _tells(explanation: Explanation) -> bool:
    return explanation.parts is not None and explanation.parts.tells_pairs


def _sure(explanation: Explanation) -> list[Pair]:
    pairs = explanation.pairs(SEARCHED)
    return [pair for pair in pairs if is_sure(pair.effect, pair.error)]


def _counterpart(pair: Indices, there: dict[int, int]) -> Indices | None:
    """The same two places in the other text."""
    if pair[0] not in there or pair[1] not in there:
        return None
    first, second = sorted((there[pair[0]], there[pair[1]]))
    return first, second


def _change(
    one: Indices | None, two: Indices | None, was: float, was_error: float, now: float, error: float
) -> PairChange:
    kind = "changed"
    if two is None or (is_sure(was, was_error) and not is_sure(now, error)):
        kind = "vanished"
    elif one is None or (is_sure(now, error) and not is_sure(was, was_error)):
        kind = "appeared"
    return PairChange(kind, one, two, was, now, math.hypot(was_error, error))


def _effects(
    explanation: Explanation, pairs: Sequence[Indices | None]
) -> list[tuple[float, float]]:
    """Interaction and standard error of these pairs; 0 and 0 where there is none to speak of."""
    told = {(pair.first, pair.second): pair for pair in explanation.pairs(COUNTED)}
    known = [None if pair is None else told.get(pair) for pair in pairs]
    return [(0.0, 0.0) if pair is None else (pair.effect, pair.error) for pair in known]
