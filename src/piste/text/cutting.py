"""Texts longer than the model reads: cut off, or read in windows one after the other."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from piste.arrays import IntArray
from piste.errors import InputError, SettingError
from piste.text.encoding import Encoding
from piste.text.units import sentence_spans, word_spans


def cut(encoding: Encoding, long: str = "truncate") -> tuple[Encoding, ...]:
    """The text in parts that the model can read: one, unless it is long and windows are wanted."""
    if encoding.limit is not None and encoding.limit < 1:
        raise InputError(
            f"The model reads {encoding.limit + encoding.frame.size} tokens at once, and the"
            f" {encoding.frame.size} around a text fill them.",
            "Check the tokenizer's model_max_length.",
        )
    if long == "truncate" or not _is_long(encoding):
        return (truncated(encoding),)
    if encoding.second is not None:
        raise SettingError(
            "A pair of texts cannot be read in windows.", 'Use long="truncate" for it.'
        )
    return windows(encoding)


def truncated(encoding: Encoding) -> Encoding:
    """As much of the text as the model reads, with a note on what it does not.

    Of a pair the longer text gives way first.
    """
    if not _is_long(encoding):
        return encoding
    segments, limit = np.array(encoding.segments), encoding.limit or 0
    first, second = (int((segments == segment).sum()) for segment in (0, 1))
    kept_second = min(second, max(limit - first, limit // 2))
    kept = np.concatenate(
        [
            np.flatnonzero(segments == 0)[: limit - kept_second],
            np.flatnonzero(segments == 1)[:kept_second],
        ]
    )
    return replace(_part(encoding, kept), notes=(_truncation(encoding, kept), *encoding.notes))


def windows(encoding: Encoding) -> tuple[Encoding, ...]:
    """The text in as few equal parts as the model's limit allows, cut where a sentence ends.

    Where no sentence ends in the last half of a part it is cut between words.
    """
    limit, count = encoding.limit or 0, len(encoding.ids)
    sentences = _beginnings(encoding, [start for start, _ in sentence_spans(encoding.text)])
    words = _beginnings(encoding, [start for start, _ in word_spans(encoding.text)])
    parts, start = [], 0
    while start < count:
        rest = -(-(count - start) // limit)  # parts that are still needed
        aim = start + -(-(count - start) // rest)
        end = count if rest == 1 else _cut(start, aim, limit, sentences, words)
        parts.append(_part(encoding, np.arange(start, end)))
        start = end
    return tuple(parts)


def _is_long(encoding: Encoding) -> bool:
    return encoding.limit is not None and len(encoding.ids) > encoding.limit


def _cut(start: int, aim: int, limit: int, sentences: IntArray, words: IntArray) -> int:
    """The token before which to cut: nearest to the aim, or at the limit where none serves.

    `sentences` and `words` are sorted: the tokens that begin one.
    """
    for cuts in (sentences, words):
        edges = np.searchsorted(cuts, (start + limit // 2, start + limit), side="right")
        good = cuts[edges[0] : edges[1]]
        if len(good):
            return int(good[np.argmin(np.abs(good - aim))])
    return start + limit


def _beginnings(encoding: Encoding, starts: Sequence[int]) -> IntArray:
    """The first token of each unit that begins at these characters."""
    ends = np.array([end for _, end in encoding.spans])
    return np.unique(np.searchsorted(ends, np.array(starts), side="right")).astype(np.int64)


def _part(encoding: Encoding, kept: IntArray) -> Encoding:
    chosen = kept.tolist()
    return replace(
        encoding,
        ids=tuple(encoding.ids[index] for index in chosen),
        spans=tuple(encoding.spans[index] for index in chosen),
        keys=tuple(encoding.keys[index] for index in chosen),
    )


def _truncation(encoding: Encoding, kept: IntArray) -> str:
    """The note on a text that is longer than what the model reads."""
    if encoding.second is not None:
        return (
            f"The two texts have {len(encoding.ids):,} tokens, more than the model reads: only"
            f" {len(kept):,} were used and explained, the beginnings of both."
        )
    end = encoding.spans[kept[-1]][1] if len(kept) else 0
    return (
        f"The text has {len(encoding.ids):,} tokens, more than the model reads: only the first"
        f" {len(kept):,} (up to character {end:,} of {len(encoding.text):,}) were used and"
        ' explained. long="windows" (--long windows) explains all of it.'
    )
