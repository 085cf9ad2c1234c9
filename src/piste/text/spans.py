"""Units of one's own: spans of the text, given by their characters or by marks around them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from piste.errors import InputError, SettingError
from piste.options import CLOSE, OPEN, Options, Spans
from piste.text.encoding import Encoding, texts
from piste.text.units import Span, stripped

Cut = Callable[[int, int], list[Span]]  # the units of a stretch of the text


def placed(text: str, pair: str | None, options: Options) -> tuple[str, str | None, Options]:
    """Both texts without marks, and the options with the spans that these stood around.

    Raises a `SettingError` for a span that leaves its text, or holds nothing.
    """
    if not options.has_spans:
        return text, pair, options
    texts(text, pair)  # refuses what is none
    spans, pair_spans = options.spans, options.pair_spans
    if options.marks:
        text, spans = unmarked(text)
        pair, pair_spans = (None, None) if pair is None else unmarked(pair)
    if pair is None and pair_spans:
        raise SettingError("pair_spans is given, but only one text.", "Give pair, or spans.")
    return (
        text,
        pair,
        replace(
            options,
            marks=False,
            spans=_inside(spans, text, "spans"),
            pair_spans=None if pair is None else _inside(pair_spans, pair, "pair_spans"),
        ),
    )


def unmarked(text: str) -> tuple[str, Spans]:
    """The text without its marks, and the spans that these stood around."""
    pieces, spans, length = [], [], 0
    for number, piece in enumerate(text.split(OPEN)):
        inside, closed, outside = piece.partition(CLOSE)
        if bool(closed) != (number > 0) or CLOSE in outside:
            raise InputError(
                f"The marks do not match near {piece[:40]!r}: every {OPEN} needs its {CLOSE}, and"
                " none stands inside another.",
                f"Write {OPEN}a unit{CLOSE}, or give spans in place of marks.",
            )
        if number > 0:
            spans.append((length, length + len(inside)))
        pieces += [inside, outside]
        length += len(inside) + len(outside)
    return "".join(pieces), tuple(spans)


def _inside(spans: Spans | None, text: str, name: str) -> Spans:
    """The spans without spaces at their ends."""
    kept: list[Span] = []
    for start, end in spans or ():
        if end > len(text):
            raise SettingError(
                f"{name} has {start}-{end}, and the text ends at {len(text)}.",
                "Count characters from 0; the end is the first one after the span.",
            )
        if not text[start:end].strip():
            raise SettingError(
                f"{name} has {start}-{end}, where the text holds {text[start:end]!r}.",
                "Give a span with a word in it, or leave it out.",
            )
        kept += stripped(text, start, end)
    return tuple(kept)


def own_spans(encoding: Encoding, options: Options) -> Spans:
    """The spans of both texts, as they stand in the text of the encoding."""
    shift = encoding.second or 0
    second = tuple((start + shift, end + shift) for start, end in options.pair_spans or ())
    return (*(options.spans or ()), *second)


def grown(own: Spans, tokens: Sequence[Span]) -> Spans:
    """The spans with all of the tokens that they cut; what then overlaps is one span.

    A token is removed as a whole, so a unit cannot end inside it.
    """
    tokens = sorted(tokens)
    starts, ends = [start for start, _ in tokens], [*accumulate((end for _, end in tokens), max)]
    units: list[Span] = []
    for begin, stop in own:
        cut = tokens[bisect_right(ends, begin) : bisect_left(starts, stop)]
        start = min([begin, *(first for first, _ in cut)])
        end = max([stop, *(last for _, last in cut)])
        if units and start < units[-1][1]:
            start, end = units[-1][0], max(end, units.pop()[1])
        units.append((start, end))
    return tuple(units)


def divided(begin: int, end: int, own: Spans, cut: Cut) -> list[Span]:
    """The units of a stretch of the text: own spans as they are, and what is between them, cut."""
    units: list[Span] = []
    place = begin
    for span in own:
        start, stop = max(span[0], begin), min(span[1], end)
        if start < stop:  # others are in another window, or beyond what the model reads
            units += [*cut(place, start), (start, stop)]
            place = stop
    return units + cut(place, end)


def displaced(encoding: Encoding, own: Spans, players: Sequence[Span]) -> tuple[str, ...]:
    """The note on spans that the model cannot see as they were given."""
    begin = min((start for start, _ in encoding.spans), default=0)
    end = max((end for _, end in encoding.spans), default=0)
    seen = [span for span in own if span[0] < end and span[1] > begin]
    lost = [span for span in seen if span not in players]
    if not lost:
        return ()
    start, stop = lost[0]
    some = "1 span is" if len(lost) == 1 else f"{len(lost):,} spans are"
    became = next((f"{a}-{b}" for a, b in players if a < stop and b > start), "nothing")
    return (
        f"{some} no unit as given: {start}-{stop} became {became}, as it ends inside a piece that"
        " the model reads whole, or the text was cut there. Move its ends to those of words.",
    )
