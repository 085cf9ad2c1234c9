"""Every setting of an explanation, once: its type, default, check, and one line of help.

`explain`, `compare`, `evaluate`, `run`, the web API and the command line are built on this table;
a new setting is one line here. It imports nothing heavy: the command line reads it to show help.
"""

from __future__ import annotations

import dataclasses
import os
import re
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from piste.errors import SettingError, choices

if TYPE_CHECKING:
    from piste.lexicon import Lexicon

__all__ = ["Options"]
UNITS = ("word", "token", "phrase", "noun-chunk", "sentence", "span")
Spans = tuple[tuple[int, int], ...]  # first character, and the one after the last; in order
OPEN, CLOSE = "[[", "]]"  # the marks around a span
REPEATS = ("shared", "separate")
LONG = ("truncate", "windows")
Effort = Literal["quick", "light", "normal", "thorough"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
ALL = "all"  # as a target: every class
WORDS_SHOWN = 10  # of the strongest, on every surface that does not show all
LEAST_COMPARED = 0.5  # of a baseline's texts: of fewer a verdict of `check` says little
BATCH_TOKENS = 8192  # big batches of short sequences: many small ones are several times slower
Check = Callable[[str, Any], Any]  # a setting's name and value; returns the value as it is used


def among(*names: str) -> Check:
    """The check for one of a few names."""

    def check(name: str, given: Any) -> Any:
        if given not in names:
            raise choices(name, given, names)
        return given

    return check


def whole_number(name: str, given: object, least: int) -> int:
    """The number as a plain int (numpy's are welcome), or the error for one that is none."""
    number = None if isinstance(given, bool) else getattr(given, "__index__", None)
    if number is None or number() < least:
        raise SettingError(f"{name} is {given!r}.", f"Give a whole number from {least}.")
    return int(number())


def at_least(least: int) -> Check:
    """The check for a whole number."""
    return lambda name, given: whole_number(name, given, least)


def share(name: str, given: Any, example: float = 0.1) -> float:
    """The check for a number above 0, up to 1."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SettingError(f"{name} is {given!r}.", f"Give a number above 0, up to 1: {example:g}.")
    return float(given)


def flag(name: str, given: Any) -> bool:
    """The check for yes or no."""
    if not isinstance(given, bool):
        raise SettingError(f"{name} is {given!r}.", "Give True or False.")
    return given


def as_spans(name: str, given: Any) -> Spans:
    """The check for spans: pairs of numbers, or text such as "0-12, 20-31"."""
    try:
        pairs = _written(given) if isinstance(given, str) else [tuple(pair) for pair in given]
    except TypeError:
        pairs = [()]
    wrong = [pair for pair in pairs if len(pair) != 2]
    if wrong:
        raise SettingError(
            f"{name} is {reprlib.repr(given)}.", 'Give [(start, end), ...], or "0-12, 20-31".'
        )
    each = sorted((whole_number(name, a, 0), whole_number(name, b, 0)) for a, b in pairs)
    for start, end in each:
        if end <= start:
            raise SettingError(
                f"{name} has {start}-{end}, which holds nothing.",
                "The second number is the first character after the span, and larger.",
            )
    for one, other in pairwise(each):
        if other[0] < one[1]:
            raise SettingError(
                f"{name} has {one[0]}-{one[1]} and {other[0]}-{other[1]}, which overlap.",
                "A character belongs to one span: end one before the other begins.",
            )
    return tuple(each)


def _written(given: str) -> list[tuple[Any, ...]]:
    """Spans in writing; what is none has another length than two."""
    found = [re.fullmatch(r"\s*(\d{1,9})\s*-\s*(\d{1,9})\s*", one) for one in given.split(",")]
    return [() if one is None else (int(one[1]), int(one[2])) for one in found]


def setting(
    default: Any,
    help: str,
    kind: type,
    check: Check | None = None,
    *,
    names: tuple[str, ...] = (),
    remote: bool = True,
) -> Any:
    """One line of the table.

    kind: its type on the command line and in the web API; None is allowed where it is the default.
    names: the values it can have. remote: whether a client of the web API may set it.
    """
    check = among(*names) if names else check
    metadata = {"help": help, "kind": kind, "check": check, "names": names, "remote": remote}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Options:
    """How a text is explained, whatever the method. None leaves a setting to the method."""

    target: str | int | None = setting(
        None,
        "Label to explain: its name or index, predicted, runner-up or all. Default: predicted.",
        str,
    )
    against: str | int | None = setting(
        None,
        "Explain why the target rather than this label: name, index, runner-up or predicted.",
        str,
    )
    unit: str = setting(
        "word",
        "What gets a score: word, token, phrase, noun-chunk (needs spaCy), sentence or span.",
        str,
        names=UNITS,
    )
    spans: Spans | None = setting(
        None,
        "Units of your own, by characters: 0-12,20-31. The rest is cut by unit; with unit span,"
        " each stretch between them is one.",
        tuple,
        as_spans,
    )
    pair_spans: Spans | None = setting(None, "The same for the second text.", tuple, as_spans)
    marks: bool = setting(False, "Units of your own, in double brackets.", bool, flag)
    repeats: str = setting(
        "shared", "Repeated words: shared (one score) or separate.", str, names=REPEATS
    )
    long: str = setting(
        "truncate",
        "If the text is longer than the model reads: truncate, or explain it in windows.",
        str,
        names=LONG,
    )
    lexicon: Lexicon | str | os.PathLike[str] | None = setting(
        None, "File of words fitted in advance by `piste lexicon build`.", Path, remote=False
    )
    refine: int | None = setting(
        None,
        "With a lexicon: extra sequences of this text to ask; 0 for none.",
        int,
        at_least(0),
        remote=False,
    )
    effort: str | None = setting(
        None,
        "How much context asks: quick (no interactions in long texts), light, normal or thorough.",
        str,
        names=EFFORTS,
    )
    seed: int = setting(0, "Random seed; the same seed gives the same scores.", int, at_least(0))
    budget: int | None = setting(
        None,
        "Most sequences to send through the model. Default: a few hundred, by length.",
        int,
        at_least(1),
    )
    tolerance: float | None = setting(
        None, "Ask until the strongest scores are known this well; 0.1 is ±10 %.", float, share
    )
    batch_tokens: int = setting(
        BATCH_TOKENS,
        "Tokens per batch; does not change the scores.",
        int,
        at_least(1),
        remote=False,
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            given, check = getattr(self, field.name), field.metadata["check"]
            if check is not None and not (given is None and field.default is None):
                object.__setattr__(self, field.name, check(field.name, given))
        self._check_spans()
        if self.refine is not None and self.lexicon is None:
            raise SettingError(
                f"refine is {self.refine}, but there is no lexicon to refine.",
                "Give a lexicon too, or a budget instead of refine.",
            )

    def _check_spans(self) -> None:
        given = self.spans is not None or self.pair_spans is not None
        if self.unit == "span" and not (given or self.marks):
            raise SettingError(
                "unit is 'span', but no spans are given.",
                f"Give spans=[(start, end), ...], or marks=True and {OPEN}units{CLOSE} in it.",
            )
        if self.marks and given:
            raise SettingError(
                "marks and spans are both given.", "Mark the units in the text, or give spans."
            )
        if self.has_spans and self.lexicon is not None:
            raise SettingError(
                "A lexicon holds words, but spans are units of one text.",
                "Leave the lexicon out, or the spans and marks.",
            )

    def check_many(self) -> None:
        """Refuse what is of one text, where there are many."""
        if self.spans or self.pair_spans:
            raise SettingError(
                "spans belong to one text, but several are given.",
                f"Mark the units in each: {OPEN}a unit{CLOSE}, and marks=True (--marks).",
            )

    @property
    def has_spans(self) -> bool:
        """Whether units are given, in whatever form."""
        return bool(self.spans or self.pair_spans or self.marks)

    def marks_note(self, text: str) -> tuple[str, ...]:
        """The note on marks in a text, where nobody has said that they are marks."""
        found = None if self.has_spans else re.search(r"\[\[[^\[\]]+\]\]", text)
        if found is None:
            return ()
        return (
            f"The text holds {OPEN}...{CLOSE}, and the brackets were read as they stand. If they"
            " mark units of your own, use marks=True (--marks).",
        )

    @classmethod
    def names(cls) -> list[str]:
        """What the settings are called."""
        return [field.name for field in dataclasses.fields(cls)]

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options from keywords; one that does not exist is an error that guesses the name."""
        names = cls.names()
        for name in given:
            if name not in names:
                raise choices("setting", name, names)
        return cls(**given)

    def named(self) -> dict[str, Any]:
        """The settings as keywords."""
        return {name: getattr(self, name) for name in self.names()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a lexicon by its file, or by the number of its words."""
        data = self.named()
        if isinstance(self.lexicon, str | os.PathLike):
            data["lexicon"] = os.fspath(self.lexicon)
        elif self.lexicon is not None:
            data["lexicon"] = f"{len(self.lexicon):,} words"
        return data

    def means_every_class(self, labels: Sequence[str] | None) -> bool:
        """Whether all classes are to be explained: a label called "all" goes before the word.

        Raises a `SettingError` where one of them is to be compared with another label too.
        """
        every = self.target == ALL and ALL not in [label.casefold() for label in labels or ()]
        if every and self.against is not None:
            raise SettingError(
                f"target is {ALL!r} and against is {self.against!r}: a contrast has one target.",
                "Name the target, or leave against out.",
            )
        return every

    def shaping(self) -> dict[str, Any]:
        """What shapes the scores, for folders of results to compare."""
        return {name: value for name, value in self.to_dict().items() if name != "batch_tokens"}

    @cached_property
    def words(self) -> Lexicon | None:
        """The lexicon, read where it is a file."""
        if not isinstance(self.lexicon, str | os.PathLike):
            return self.lexicon
        from piste.lexicon import Lexicon  # numpy

        return Lexicon.load(self.lexicon)


DEFAULT = Options()
