"""Tokens gathered into players. A player's tokens always travel together and in order."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from piste.arrays import IntArray, Ragged
from piste.errors import InputError
from piste.options import Options, Spans
from piste.result.basics import read_as
from piste.result.explanation import Player
from piste.text.encoding import TYPE, Encoding, Frame
from piste.text.phrases import noun_chunk_spans, phrase_spans
from piste.text.spans import Cut, divided, grown
from piste.text.units import Span, sentence_spans, stripped, word_spans

UNITS: dict[str, Callable[[str], list[Span]]] = {
    "word": word_spans,
    "phrase": phrase_spans,
    "noun-chunk": noun_chunk_spans,
    "sentence": sentence_spans,
    "span": lambda text: stripped(text, 0, len(text)),  # all that is between spans of one's own
}


@dataclass(frozen=True)
class Players:
    """The players of one text, in reading order."""

    text: str
    unit: str
    items: tuple[Player, ...]
    frame: Frame
    paired: bool = False  # two texts, each with players of its own

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
        """The token ids of each player, with the types of its text."""
        types = [TYPE * kind for kind in self.frame.types]
        return Ragged.of([[token + types[p.segment] for token in p.ids] for p in self.items])

    @cached_property
    def segments(self) -> IntArray:
        """The text of each player [players]: 0, or 1 for the second of a pair."""
        return np.array([player.segment for player in self.items], dtype=np.int64)

    @cached_property
    def positions(self) -> IntArray:
        """Where the players' tokens stand in the framed sequence of the whole text [tokens]."""
        between = len(self.frame.between) * np.repeat(self.segments, self.ids.lengths)
        return np.arange(len(self.ids.values)) + len(self.frame.prefix) + between

    def tokens(self, rows: Ragged) -> Ragged:
        """Rows of players as rows of token ids, to be framed.

        Of a pair, the first text's come first, then what stands between, then the second's.
        """
        if not self.paired:
            return rows.expand(self.ids)
        between = Ragged.of([self.frame.between])
        parts, marks = Ragged.concat([self.ids, between]), np.full(len(rows), len(self.items))
        row = np.repeat(np.arange(len(rows)), rows.lengths)
        places = np.append(3 * row + 2 * self.segments[rows.values], 3 * np.arange(len(rows)) + 1)
        order = np.argsort(places, kind="stable")
        values = np.append(rows.values, marks)[order]
        return Ragged.packed(values, rows.lengths + 1).expand(parts)

    def replaced(self, keep: NDArray[np.bool_], token: int) -> Ragged:
        """The whole text with the tokens of absent players replaced: `keep` is [rows, players]."""
        whole = self.tokens(self.whole).values
        where = self.positions - len(self.frame.prefix)
        owner = np.repeat(np.arange(len(self.items)), self.ids.lengths)
        rows = np.tile(whole, (len(keep), 1))
        types = self.ids.values // TYPE * TYPE
        rows[:, where] = np.where(keep[:, owner], self.ids.values, token + types)
        return Ragged.table(rows)

    def complete(self, rows: Ragged, rng: np.random.Generator) -> Ragged:
        """Rows of players in which, of a pair, neither text is empty.

        A text that has no player in a row gets one of its own at random.
        """
        if not self.paired or not len(rows):
            return rows
        row = np.repeat(np.arange(len(rows)), rows.lengths)
        values, owners = [rows.values], [row]
        for segment in (0, 1):
            there = np.bincount(row[self.segments[rows.values] == segment], minlength=len(rows)) > 0
            missing, known = np.flatnonzero(~there), np.flatnonzero(self.segments == segment)
            if len(known):
                values.append(rng.choice(known, len(missing)))
                owners.append(missing)
        order = np.argsort(np.concatenate(owners), kind="stable")
        lengths = np.bincount(np.concatenate(owners), minlength=len(rows))
        return Ragged.packed(np.concatenate(values)[order], lengths)

    def of_groups(self, rows: Ragged) -> Ragged:
        """Rows of groups as rows of players: each group by its first player."""
        return Ragged(self.first[rows.values], rows.starts)

    @property
    def places(self) -> list[Span]:
        """Where each player stands in the text."""
        return [(player.start, player.end) for player in self.items]

    @cached_property
    def reads(self) -> IntArray:
        """What the model reads of each player [players]."""
        return read_as(self.items)

    @property
    def whole(self) -> Ragged:
        """The design with one row: the text itself."""
        return Ragged.table(np.arange(len(self.items))[None, :])


def split(
    encoding: Encoding, unit: str = "word", repeats: str = "shared", own: Spans = ()
) -> Players:
    """Players of the given unit; equal ones share a group unless `repeats` is "separate".

    own: spans of the encoding's text that are players as they are, whatever the unit.
    """
    Options(unit=unit, repeats=repeats, spans=own)  # refuses others
    tokens_alone = unit == "token" and not own
    spans, owners = _token_units(encoding) if tokens_alone else _text_units(encoding, unit, own)
    if not owners:
        raise InputError(
            "The model's tokenizer sees nothing in this text.",
            "It holds only characters the tokenizer drops (spaces, control characters).",
        )
    items = _gather(encoding, spans, owners, repeats)
    return Players(encoding.text, unit, items, encoding.frame, encoding.second is not None)


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


def _text_units(encoding: Encoding, unit: str, wanted: Spans) -> tuple[list[Span], list[int]]:
    """Units of the text, and for each token the unit that owns it."""
    spans: list[Span] = []
    owners: list[int] = []
    segments = encoding.segments
    for segment in (0, 1) if encoding.second is not None else (0,):
        tokens = [s for s, own in zip(encoding.spans, segments, strict=True) if own == segment]
        units, own = _units_under(encoding.text, tokens, unit, wanted)
        if encoding.second is not None and not units:
            raise InputError(
                f"The model's tokenizer sees nothing in the {('first', 'second')[segment]} text.",
                "It holds only characters the tokenizer drops, or was cut off: shorten the other.",
            )
        owners += [len(spans) + owner for owner in own]
        spans += units
    return spans, owners


def _units_under(
    text: str, tokens: Sequence[Span], unit: str, wanted: Spans
) -> tuple[list[Span], list[int]]:
    """Units of the stretch of text that these tokens cover, no further, and each token's unit."""
    begin = min((start for start, _ in tokens), default=0)
    end = max((end for _, end in tokens), default=0)
    seen = grown(wanted, [_trimmed(text, token) for token in tokens])
    spans = divided(begin, end, seen, _cutter(text, tokens, unit))
    if not spans:
        return [], []
    overlaps = _overlaps(tokens, spans)
    merged = _merged(overlaps, len(spans))
    for unit_index, owner in enumerate(merged.tolist()):
        spans[owner] = (spans[owner][0], max(spans[owner][1], spans[unit_index][1]))
    owners = np.maximum.accumulate(merged[[low for low, _ in overlaps]])
    return spans, owners.tolist()


def _cutter(text: str, tokens: Sequence[Span], unit: str) -> Cut:
    """What cuts a stretch of the text into units."""
    if unit == "token":
        pieces = sorted({_trimmed(text, token) for token in tokens})
        return lambda begin, end: [one for one in pieces if begin <= one[0] < one[1] <= end]
    return lambda begin, end: [(begin + a, begin + b) for a, b in UNITS[unit](text[begin:end])]


def _merged(overlaps: Sequence[tuple[int, int]], units: int) -> IntArray:
    """The first of the units that each one belongs with [units].

    A token over several units (a piece like "d.") makes one unit of them.
    """
    low, high = np.array(overlaps, dtype=np.int64).T
    steps = np.zeros(units + 1, dtype=np.int64)  # of the number of tokens that reach in from before
    np.add.at(steps, low + 1, 1)
    np.add.at(steps, high + 1, -1)
    is_joined = np.cumsum(steps)[:units] > 0
    return np.maximum.accumulate(np.where(is_joined, 0, np.arange(units)))


def _overlaps(tokens: Sequence[Span], units: Sequence[Span]) -> list[tuple[int, int]]:
    """First and last unit under each token.

    A blank token goes with the unit that follows it, the last ones with the last unit.
    """
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
    players, segments = [], encoding.segments
    for owner, members in tokens.items():
        segment = segments[members[0]]
        # The same word in the other text of a pair is another word to the model.
        same = (segment, *(encoding.keys[t] for t in members))
        key = same if repeats == "shared" else owner
        start, end = spans[owner]
        players.append(
            Player(
                text=encoding.text[start:end],
                start=start,
                end=end,
                ids=tuple(encoding.ids[t] for t in members),
                group=groups.setdefault(key, len(groups)),
                segment=segment,
            )
        )
    return tuple(players)
