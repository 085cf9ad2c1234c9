"""Errors in two parts: the cause, and the remedy."""

import unicodedata
from collections.abc import Mapping, Sequence

__all__ = [
    "FileError",
    "InputError",
    "ModelError",
    "OutputError",
    "PisteError",
    "SettingError",
    "choices",
]
JOINERS = "\u200c\u200d"  # emoji and Persian need them


class PisteError(Exception):
    """A mistake a user can mend. The message is the cause, then the remedy.

    command: the remedy for whoever is on the command line, where it is another there.
    """

    def __init__(self, cause: str, remedy: str, command: str | None = None) -> None:
        self.cause, self.remedy = printable(cause), printable(remedy)
        self.command = self.remedy if command is None else printable(command)
        super().__init__(f"{self.cause} {self.remedy}".strip())

    def __reduce__(self) -> tuple[type["PisteError"], tuple[str, str, str]]:
        # from a worker process to the one it works for
        return type(self), (self.cause, self.remedy, self.command)


def printable(text: str) -> str:
    """The text on one line, with control and invisible characters (escapes, bidi marks) escaped.

    Labels, paths and texts are quoted in messages, and they may be anybody's.
    """
    return "".join(
        c
        if c.isprintable() or c in JOINERS or unicodedata.category(c) == "Zs"
        else c.encode("unicode_escape").decode()
        for c in text
    )


class InputError(PisteError):
    """The text to explain cannot be explained as it is."""


class SettingError(PisteError):
    """A setting (method, unit, target, budget ...) has no such value."""


class ModelError(PisteError):
    """The model cannot be loaded, or is not a text classifier."""


class OutputError(PisteError):
    """The model did not answer, or with something that is not a score."""


class FunctionError(OutputError):
    """A function of the user's own raised an error: that is its `__cause__`."""


class PassingError(OutputError):
    """The model did not answer now; at another time it may."""


class FileError(PisteError):
    """A file cannot be read, written or understood."""


def kind_of(value: object) -> str:
    """ "a list", "an int"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def reason(error: BaseException) -> str:
    """The message for one of many that failed."""
    return str(error) if isinstance(error, PisteError) else f"{type(error).__name__}: {error}"


def is_passing(error: BaseException | None) -> bool:
    """Whether it may go well at another time: a time-out, a lost connection, a full disk."""
    seen: list[BaseException] = []  # causes may go in a circle
    while error is not None and not any(error is one for one in seen):
        if isinstance(error, OSError | PassingError):
            return True
        seen.append(error)
        error = error.__cause__
    return False


def choices(
    name: str,
    given: object,
    valid: "list[str] | tuple[str, ...]",
    elsewhere: Mapping[str, str] | None = None,
) -> SettingError:
    """The error for an unknown name, with the valid ones listed and the nearest guessed.

    elsewhere: names that other libraries use, in small letters with hyphens, and ours for them.
    """
    plain = str(given).strip().lower().replace("_", "-").replace(" ", "-")
    near = elsewhere[plain] if elsewhere and plain in elsewhere else nearest(plain, valid)
    guess = f"Did you mean {near!r}? " if near else ""
    return SettingError(f"There is no {name} {str(given)!r}.", f"{guess}Valid: {few(valid)}.")


def nearest(given: str, valid: Sequence[str]) -> str | None:
    """The name that was probably meant; None where none is like it."""
    import difflib  # on an error path, and not free at start-up

    known = {own.lower(): own for own in valid}
    near = difflib.get_close_matches(given.lower(), list(known), n=1)
    return known[near[0]] if near else None


def few(names: Sequence[object], most: int = 30) -> str:
    """The names joined by commas; a long list is cut after `most`."""
    more = f" ... and {len(names) - most:,} more" if len(names) > most else ""
    return printable(", ".join(map(str, names[:most])) + more)


def several(count: int, thing: str) -> str:
    """ "1 text", "1,200 texts"."""
    return f"{count:,} {thing}{'' if count == 1 else 'es' if thing.endswith('s') else 's'}"


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage, with a space before the sign."""
    return f"{100 * share:.{digits}f} %"
