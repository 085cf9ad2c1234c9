"""A text as a tokenizer encodes it: checked, and cut to what the model reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from piste.arrays import IntArray
from piste.errors import InputError, SettingError, kind_of
from piste.text.units import Span, sentence_spans, word_spans

# A token's type (the segment number that BERT adds to it) travels in its id: id + TYPE * type.
# So a sequence stays a row of plain numbers, and two that differ in types differ.
TYPE = 2**32
UNREAD = "more than the model reads"  # in the note on a text that was cut
# In the note on a text whose words are mostly unknown to the model's tokenizer.
UNTOLD = " Use a model that was trained on this language or script."
BETWEEN = "\n"  # stands between the two texts of a pair in `Encoding.text`


@dataclass(frozen=True)
class Frame:
    """The special tokens a model wants around every sequence. They are never scored."""

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    between: tuple[int, ...] = ()  # the two texts of a pair
    types: tuple[int, int] = (0, 0)  # of the tokens of the first text and of the second

    @property
    def size(self) -> int:
        return len(self.prefix) + len(self.between) + len(self.suffix)

    def around(self, body: IntArray) -> IntArray:
        """Equally long sequences [rows, tokens] as the model reads them [rows, frame + tokens]."""
        prefix = np.tile(np.array(self.prefix, dtype=np.int64), (len(body), 1))
        suffix = np.tile(np.array(self.suffix, dtype=np.int64), (len(body), 1))
        return np.concatenate([prefix, body, suffix], axis=1)


@dataclass(frozen=True)
class Encoding:
    """A text as the model reads it. `spans[i]` is where token i stands in `text`.

    Tokens with equal `keys` count as the same token when players share scores: for a tokenizer
    they are the ids themselves. The two texts of a pair stand in `text` one after the other,
    `BETWEEN` between them.
    """

    text: str
    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    keys: tuple[int, ...]
    frame: Frame = Frame()
    notes: tuple[str, ...] = ()
    limit: int | None = None  # the most of these tokens that the model reads at once
    second: int | None = None  # where in `text` the second text of a pair begins

    @property
    def segments(self) -> tuple[int, ...]:
        """0 for a token of the first text, 1 for one of the second."""
        second = len(self.text) + 1 if self.second is None else self.second
        return tuple(int(start >= second) for start, _ in self.spans)


def texts(text: object, pair: object = None) -> list[str]:
    """The text, or both of a pair, checked."""
    return [check_text(text)] if pair is None else [check_text(text), check_text(pair)]


def check_text(text: object) -> str:
    """The text, or an error that says why there is nothing to explain."""
    if not isinstance(text, str):
        raise InputError(
            f"The text is {kind_of(text)}, not a string.",
            "Pass one string. Of many texts in a list, piste.explain explains each.",
        )
    if not text.strip():
        raise InputError("The text is empty.", "Give at least one word to explain.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"The text has half a character (a lone surrogate) at position {error.start}.",
            "Clean it first: text.encode('utf-8', 'replace').decode().",
        ) from None
    return text


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
            f"The two texts have {len(encoding.ids):,} tokens, {UNREAD}: only the beginnings of"
            f" both, {len(kept):,} tokens, were used and explained. Shorten the longer text."
        )
    end = encoding.spans[kept[-1]][1] if len(kept) else 0
    return (
        f"The text has {len(encoding.ids):,} tokens, {UNREAD}: only the first {len(kept):,} (up to"
        f" character {end:,} of {len(encoding.text):,}) were used and explained. Use --long windows"
        ' (long="windows") to explain all of it.'
    )
