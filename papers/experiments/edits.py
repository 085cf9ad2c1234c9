"""Edits of a document that is read passage by passage, chosen from explanations of the passages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from papers.arrays import FloatArray
from piste import Explanation
from piste.arrays import Ragged
from piste.decision import Decision


@dataclass(frozen=True)
class Passage:
    """A part of the document that the model reads at once."""

    text: str
    decision: Decision
    share: float  # of the document's words

    def score(self, removed: Sequence[int]) -> float:
        """The log-odds without these players."""
        kept = np.setdiff1d(np.arange(len(self.decision.players)), removed)
        return float(self.decision.margins(Ragged.of([kept.tolist()]))[0])


@dataclass(frozen=True)
class Edit:
    """A word taken out of a passage, all its occurrences there."""

    passage: int
    players: tuple[int, ...]


@dataclass(frozen=True)
class Edited:
    """What came of one way to choose."""

    edits: Sequence[Edit]
    curve: FloatArray  # the document's log-odds after 0, 1, 2 ... edits

    @classmethod
    def of(cls, document: Sequence[Passage], edits: Sequence[Edit]) -> Edited:
        """Ask the model what becomes of the document."""
        return cls(edits, curve(document, edits))

    @property
    def turned(self) -> int | None:
        """The edits after which the decision is another."""
        below = np.flatnonzero(self.curve < 0)
        return int(below[0]) if len(below) else None


Way = Callable[[Sequence[Passage], Sequence[Explanation], int], list[Edit]]  # at most so many


def readings(explained: Sequence[Explanation]) -> float:
    """What the explanations cost, in readings of the whole document."""
    tokens = sum(explanation.cost.tokens for explanation in explained)
    return tokens / sum(explanation.cost.full_tokens or 0 for explanation in explained)


def words_of(passage: Passage) -> list[tuple[int, ...]]:
    """The players of each distinct word."""
    groups: dict[int, list[int]] = {}
    for index in range(len(passage.decision.players)):
        groups.setdefault(int(passage.decision.players.groups[index]), []).append(index)
    return [tuple(members) for members in groups.values()]


def highest(score: str) -> Way:
    """By a score of the words, the largest in the whole document first, as paper A ranks words."""

    def way(document: Sequence[Passage], explained: Sequence[Explanation], most: int) -> list[Edit]:
        ranked = [
            (passage.share * float(explanation.scores[score][list(word)].sum()), Edit(number, word))
            for number, (passage, explanation) in enumerate(zip(document, explained, strict=True))
            for word in words_of(passage)
        ]
        return [edit for _, edit in sorted(ranked, key=lambda pair: -pair[0])[:most]]

    return way


def step_by_step(
    document: Sequence[Passage], explained: Sequence[Explanation], most: int
) -> list[Edit]:
    """Always the edit that, after those before it, is predicted to lower the document most."""
    removed: list[tuple[int, ...]] = [() for _ in document]
    left = [words_of(passage) for passage in document]
    best = [_best(document[n], explained[n], removed[n], left[n]) for n in range(len(document))]
    edits: list[Edit] = []
    while len(edits) < most and any(words for words in left):
        number = max(range(len(best)), key=lambda n: best[n][0])
        word = best[number][1]
        edits.append(Edit(number, word))
        removed[number] += word
        left[number].remove(word)
        best[number] = _best(document[number], explained[number], removed[number], left[number])
    return edits


def _best(
    passage: Passage,
    explanation: Explanation,
    removed: tuple[int, ...],
    left: Sequence[tuple[int, ...]],
) -> tuple[float, tuple[int, ...]]:
    """The largest predicted fall of the document that one more word brings, and that word."""
    if not left:
        return -np.inf, ()
    before = explanation.change(removed) if removed else 0.0
    falls = [explanation.change((*removed, *word)) - before for word in left]
    place = int(np.argmax(falls))
    return passage.share * falls[place], left[place]


def turning_sets(
    document: Sequence[Passage], explained: Sequence[Explanation], most: int
) -> list[Edit]:
    """The sets that turn a passage: first where an edit is predicted to bring most."""
    ranked = []
    for number, (passage, explanation) in enumerate(zip(document, explained, strict=True)):
        flip = explanation.flip
        if flip is not None and explanation.target.score > 0:
            edits = list(_edits_of(number, passage, flip.players))
            fall = passage.share * (explanation.target.score - flip.predicted)
            ranked.append((fall / len(edits), edits))
    ranked.sort(key=lambda pair: -pair[0])
    return [edit for _, edits in ranked for edit in edits][:most]


def _edits_of(number: int, passage: Passage, players: Sequence[int]) -> Iterator[Edit]:
    """A set's players, those of one word together."""
    for word in words_of(passage):
        taken = tuple(index for index in word if index in players)
        if taken:
            yield Edit(number, taken)


def curve(document: Sequence[Passage], edits: Sequence[Edit]) -> FloatArray:
    """The model's log-odds of the document after 0, 1, 2 ... edits."""
    scores = np.array([passage.decision.target.score for passage in document])
    shares = np.array([passage.share for passage in document])
    removed: list[list[int]] = [[] for _ in document]
    points = [float(shares @ scores)]
    for edit in edits:
        removed[edit.passage] += edit.players
        scores[edit.passage] = document[edit.passage].score(removed[edit.passage])
        points.append(float(shares @ scores))
    return np.array(points)
