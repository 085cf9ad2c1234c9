"""Asks a user's function: an error of its own becomes one that names function and input."""

from collections.abc import Callable
from typing import Any

from piste.errors import FunctionError, PisteError
from piste.models.loading_errors import first_line, is_out_of_memory

ALONE = "To ask it about one at a time: piste.explain(..., batch_tokens=1)."
SHOWN, SAID = 80, 300  # characters of an input, and of what an error says


def answered(
    function: Callable[[Any], Any], given: Any, name: str, first: Callable[[], str]
) -> Any:
    """What the function returns for a batch. first: its first input, to be shown."""
    try:
        return function(given)
    except PisteError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError | RuntimeError) and is_out_of_memory(error):
            raise  # the query asks again with a smaller batch
        raise _failed(name, len(given), first(), error) from error


def _failed(name: str, inputs: int, first: str, error: Exception) -> FunctionError:
    shown = repr(first if len(first) <= SHOWN else f"{first[:SHOWN]}...")
    kind, said = type(error).__name__, _said(error)
    asked = shown if inputs == 1 else f"{inputs:,} inputs, of which the first is {shown}"
    alone = "" if inputs == 1 else f" {ALONE}"
    what = kind if said in ("", kind) else f"{kind}: {said}"
    return FunctionError(
        f"The function {name!r} failed ({what}) when it was asked about {asked}.",
        "It is asked about parts of the text, and of a pair one part may be empty: it must answer"
        f" them all.{alone}",
    )


def _said(error: Exception) -> str:
    """The first line of an error; nothing of one that fails to say anything."""
    try:
        line = first_line(error)
    except Exception:  # its __str__ is the user's own
        return ""
    return line if len(line) <= SAID else f"{line[:SAID]}..."
