"""Human attention: do the scores single out the words that people marked?"""

import re
from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from piste.arrays import BoolArray, FloatArray
from piste.text.players import Players


def consensus(
    players: Players, words: Sequence[str], maps: Sequence[Sequence[int]]
) -> BoolArray | None:
    """The players that hold a word which every annotator marked [players].

    The words are found in the text one after the other; where one is missing from it, or a map
    is not as long as the words, there is no map: None.
    """
    if not words or not maps or any(len(marks) != len(words) for marks in maps):
        return None
    agreed = np.all([np.asarray(marks, dtype=bool) for marks in maps], axis=0)
    spans = _spans(players.text, words)
    if spans is None:
        return None
    marked = np.zeros(len(players), dtype=bool)
    for index, player in enumerate(players.items):
        touched = [
            bool(mark)
            for (start, end), mark in zip(spans, agreed, strict=True)
            if start < player.end and player.start < end
        ]
        marked[index] = any(touched)
    return marked


def _spans(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Where the words stand. Case is ignored: annotated texts are often lower-cased."""
    lowered, cursor, spans = text.lower(), 0, []
    if len(lowered) != len(text):  # a few letters grow when they are lowered
        lowered = text
    for word in words:
        match = re.compile(_whole(word.lower())).search(lowered, cursor)
        if match is None:
            return None
        start, cursor = match.span()
        spans.append((start, cursor))
    return spans


def _whole(word: str) -> str:
    """A pattern that matches the word as a whole only."""
    before = r"(?<!\w)" if word[:1].isalnum() else ""
    after = r"(?!\w)" if word[-1:].isalnum() else ""
    return f"{before}{re.escape(word)}{after}"


def auroc(scores: FloatArray, marked: BoolArray) -> float | None:
    """How often a marked player has a larger absolute score than an unmarked one; ties are half.

    None where all or none are marked.
    """
    positives = int(marked.sum())
    negatives = len(marked) - positives
    if not positives or not negatives:
        return None
    ranks = rankdata(np.abs(scores))
    above = float(ranks[marked].sum()) - positives * (positives + 1) / 2
    return above / (positives * negatives)


def average_precision(scores: FloatArray, marked: BoolArray) -> float | None:
    """The mean precision at each marked player, by falling absolute score; ties come together."""
    if not marked.any() or marked.all():
        return None
    levels = np.unique(-np.abs(scores), return_inverse=True)[1]
    here = np.bincount(levels, weights=marked.astype(np.float64))
    hits = np.cumsum(here)
    seen = np.cumsum(np.bincount(levels))
    return float(np.sum(here * hits / seen) / marked.sum())
