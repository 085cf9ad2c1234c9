"""Any function of texts as a classifier. Its units are words; it has no special tokens."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from typing import Any, NamedTuple

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import OutputError, SettingError, choices
from piste.models.backends.asking import answered
from piste.models.backends.function_answers import (
    Margins,
    Scale,
    as_numbers,
    as_scores,
    default_labels,
    two_columns,
)
from piste.models.loading_errors import first_line
from piste.models.protocol import Outputs, described
from piste.text.encoding import BETWEEN, Encoding, Frame
from piste.text.units import Span, is_character_script, is_word_character, word_spans
from piste.threads import lock_for

MEANT: dict[str, Outputs] = {
    "logits": "classes",
    "probabilities": "classes",
    "label-logits": "labels",  # of labels that do not exclude each other
    "label-probabilities": "labels",
    "raw": "raw",
}
UNSTEADY = "gives different answers to the same text"
ROUNDING = 1e-4  # of an answer: what other batches change in float32


class Piece(NamedTuple):
    """A word and the characters around it that belong to no word: blanks, invisible ones.

    The function is given the whole text exactly as written, blanks at its ends included: its score
    is then what the function answers to this very text. So the first word of a text keeps what the
    text begins with, and the last word what it ends with.
    """

    before: str
    word: str
    opens: bool = False  # `before` is sent also where a sequence begins with this word
    after: str = ""  # sent only where a sequence ends with this word


PAIR = Piece("", "||")  # no word of a text: words are single characters or letters


@dataclass
class Vocabulary:
    """Numbers for things seen, given out on first sight (safe to share between threads)."""

    numbers: dict[Hashable, int] = field(default_factory=dict)
    things: dict[int, Any] = field(default_factory=dict)
    fresh: "count[int]" = field(default_factory=count)

    def number(self, thing: Hashable) -> int:
        number = self.numbers.setdefault(thing, next(self.fresh))
        self.things[number] = thing
        return number


@dataclass(repr=False, eq=False)
class FunctionClassifier:
    """A function from a list of texts to scores. Build it with `from_function`."""

    function: Callable[[Any], Any]
    labels: tuple[str, ...] | None
    scale: Scale
    name: str
    backend: str = "function"
    width: int = 0  # outputs a text; 0 until the first answer
    pieces: Vocabulary = field(default_factory=Vocabulary)
    words: Vocabulary = field(default_factory=Vocabulary)
    remarks: Callable[[], tuple[str, ...]] | None = None  # on the answers so far
    text_remarks: Callable[[str], tuple[str, ...]] | None = None  # on a text to be explained
    asks_twice: bool = True  # one sequence, once; in vain where answers are kept
    kept: tuple[IntArray, FloatArray] | None = None  # a sequence, and the function's own answer
    batch: int = 0  # how many were asked together with it
    parallel: bool = False  # whether the function is made for threads
    doubt: str = ""  # what asking it again, alone, has shown
    varies: float = 0.0  # how far the logits of that text were apart
    margins: Margins = field(default_factory=Margins)
    reads_nothing: bool | None = None  # whether it answers an empty text; None: not tried

    @property
    def outputs(self) -> Outputs:
        return MEANT[self.scale]

    def __repr__(self) -> str:
        return described(self)

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        if pair is not None:
            return self._encode_pair(text, pair)
        spans = word_spans(text)
        pieces = _pieces(text, spans)
        return Encoding(
            text=text,
            ids=tuple(self.pieces.number(piece) for piece in pieces),
            spans=tuple(spans),
            keys=tuple(self.words.number(piece.word) for piece in pieces),
            notes=() if self.text_remarks is None else self.text_remarks(text),
        )

    def _encode_pair(self, text: str, pair: str) -> Encoding:
        """Both texts, with a mark between them: the function is given tuples of two texts."""
        first, second = self.encode(text), self.encode(pair)
        shift = len(text + BETWEEN)
        return Encoding(
            text=text + BETWEEN + pair,
            ids=first.ids + second.ids,
            spans=first.spans + tuple((start + shift, end + shift) for start, end in second.spans),
            keys=first.keys + second.keys,
            frame=Frame(between=(self.pieces.number(PAIR),)),
            second=shift,
            notes=tuple(dict.fromkeys(first.notes + second.notes)),
        )

    def logits(self, ids: IntArray) -> FloatArray:
        if self.parallel:
            return self._logits(ids)
        with lock_for(self):  # a user's function need not be made for threads
            return self._logits(ids)

    def _logits(self, ids: IntArray) -> FloatArray:
        given, first = self._given(ids), partial(self.show, ids[0])
        answers = as_numbers(answered(self.function, given, self.name, first), len(ids))
        self._keep(ids, answers)
        scores = as_scores(answers, self.scale)
        if self.scale == "logits" and scores.size == len(scores):
            self.margins.add(scores)
        if self.labels is None:
            self.labels = default_labels(scores, self.outputs)
        logits = two_columns(scores) if self.outputs == "classes" else scores
        self.width = self.width or logits.shape[1]
        if logits.shape[1] != self.width:
            raise OutputError(
                f"The function returned {self.width} outputs per text, now {logits.shape[1]}.",
                "Return the same number of outputs for every text.",
            )
        return logits

    def notes(self, may_ask: bool = True, whole: FloatArray | None = None) -> tuple[str, ...]:
        with lock_for(self):
            if may_ask and self.asks_twice and self.kept is not None:
                self.asks_twice = False
                self.doubt = self._asked_again(*self.kept)
        remarks = () if self.remarks is None else self.remarks()
        return (*remarks, *filter(None, (self.doubt, self.margins.doubt)))

    def _keep(self, ids: IntArray, answers: FloatArray) -> None:
        """Remember one sequence to ask again, if possible one that had company."""
        if self.asks_twice and self.batch < 2 and len(ids) > self.batch:
            self.batch, self.kept = len(ids), (ids[:1].copy(), answers[:1].copy())

    def _asked_again(self, ids: IntArray, before: FloatArray) -> str:
        """What is wrong with a function whose answer to a sequence changes; or nothing.

        It costs one question for each classifier, whatever is explained with it.
        """
        try:
            now = as_numbers(self.function(self._given(ids)), 1)
        except Exception as error:  # what was found out before stands
            return f"Asked for the same text again, the function failed: {first_line(error)}."
        if now.shape != before.shape:
            return "Asked for the same text again, the function gave another number of outputs."
        apart = float(np.abs(now - before).max())
        if apart <= ROUNDING * max(1.0, float(np.abs(before).max())):
            return ""
        self.varies = self._difference(before, now)
        return (
            f"The function {UNSTEADY} (by {apart:.2g}), so its scores are no more certain than"
            " that. It is not deterministic, or depends on the rest of the batch: put the model"
            " into evaluation mode."
        )

    def _difference(self, before: FloatArray, now: FloatArray) -> float:
        """How far any number that may be explained differs between two answers to one text."""
        then, again = (as_scores(answers, self.scale) for answers in (before, now))
        if self.outputs == "classes":  # log-odds and contrasts: differences of columns
            return float(np.ptp(two_columns(then) - two_columns(again)))
        return float(np.abs(then - again).max())

    def show(self, ids: IntArray) -> str:
        text = self._text(ids)
        return text if isinstance(text, str) else f" {PAIR[1]} ".join(text)

    def _given(self, ids: IntArray) -> Any:
        """What the function is called with, for sequences [n, tokens]."""
        return [self._text(row) for row in ids]

    def _text(self, ids: IntArray) -> str | tuple[str, str]:
        """What the function is given for one sequence: a text, or the two of a pair."""
        pieces = [self.pieces.things[number] for number in ids.tolist()]
        if PAIR not in pieces:
            return _joined(pieces)
        cut = pieces.index(PAIR)
        return _joined(pieces[:cut]), _joined(pieces[cut + 1 :])


def from_function(
    fn: Callable[[Any], Any],
    labels: Sequence[str] | None = None,
    *,
    tokenizer: Any = None,
    outputs: Scale = "logits",
    name: str | None = None,
) -> FunctionClassifier:
    """A classifier from `fn`: a list of texts -> logits [n, classes], or margins [n].

    A margin is the log-odds of the second of two labels. With `outputs="probabilities"`, `fn`
    gives probabilities (of each class, or of the second of two) and piste takes their logs; with
    "label-logits" or "label-probabilities" its columns are labels that do not exclude each other,
    and "raw" are numbers of any meaning (a regression), explained as they are.
    Where a pair is explained, `fn` is given tuples of two texts.

    tokenizer: a fast tokenizer, its name or its directory; `fn` is then given not texts but their
    ids, an array [n, tokens] with special tokens and without padding (and without token types).
    """
    if not callable(fn):
        raise SettingError(f"{fn!r} is not a function.", "Pass fn(list of texts) -> scores.")
    if outputs not in MEANT:
        raise choices("kind of output", outputs, tuple(MEANT))
    if isinstance(labels, str):
        raise SettingError("labels is one string.", f"Pass a list, such as [{labels!r}, ...].")
    named = None if labels is None else tuple(map(str, labels))
    called = name or str(getattr(fn, "__name__", "function"))
    if tokenizer is None:
        return FunctionClassifier(fn, named, outputs, called)
    from piste.models.backends.ids_function import IdsFunctionClassifier, reader_for

    return IdsFunctionClassifier(fn, named, outputs, called, reader=reader_for(tokenizer))


def _pieces(text: str, words: Sequence[Span]) -> list[Piece]:
    """The text in pieces, one for each word; together they hold all its characters."""
    if not words:
        return []
    begins = [0, *(end for _, end in words[:-1])]
    pieces = [
        Piece(text[begin:start], text[start:end], opens=0 == begin < start)
        for begin, (start, end) in zip(begins, words, strict=True)
    ]
    pieces[-1] = pieces[-1]._replace(after=text[words[-1][1] :])
    return pieces


def _joined(pieces: Sequence[Piece]) -> str:
    """The text of a sequence; of a whole text, the text as written."""
    if not pieces:
        return ""
    first, last = pieces[0], pieces[-1]
    parts = [first.before if first.opens else "", first.word]
    for left, right in pairwise(pieces):
        parts += [right.before or _needed_blank(left.word, right.word), right.word]
    return "".join([*parts, last.after])


def _needed_blank(left: str, right: str) -> str:
    """Words that met because something between them is gone stay apart.

    A word's first character tells whether it is one of letters: a symbol may end in a mark.
    """
    pair = (left[0], right[0])
    apart = all(is_word_character(c) and not is_character_script(c) for c in pair)
    return " " if apart else ""
