"""Every setting of an explanation, once: its type, default, check, and one line of help.

`explain`, `compare`, `evaluate`, `run`, the web API and the command line are built on this table;
a new setting is one line here. It imports nothing heavy: the command line reads it to show help.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from piste.errors import SettingError, choices

if TYPE_CHECKING:
    from piste.lexicon import Lexicon

__all__ = ["Options"]
UNITS = ("word", "token", "sentence")
REPEATS = ("shared", "separate")
LONG = ("truncate", "windows")
Effort = Literal["quick", "light", "normal", "thorough"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
ALL = "all"  # as a target: every class
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


def share(name: str, given: Any) -> float:
    """The check for a number above 0, up to 1."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SettingError(f"{name} is {given!r}.", "Give a number above 0, up to 1: 0.1.")
    return float(given)


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
    unit: str = setting("word", "What gets a score: word, token or sentence.", str, names=UNITS)
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
        if self.refine is not None and self.lexicon is None:
            raise SettingError(
                f"refine is {self.refine}, and there is no lexicon to refine.",
                "Give a lexicon too, or a budget instead of refine.",
            )

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options from keywords; one that does not exist is an error that guesses the name."""
        names = [field.name for field in dataclasses.fields(cls)]
        for name in given:
            if name not in names:
                raise choices("setting", name, names)
        return cls(**given)

    def named(self) -> dict[str, Any]:
        """The settings as keywords."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

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
