"""pydantic's errors in our words, for the web API and the command line."""

import reprlib
from collections.abc import Mapping
from typing import Any

from piste.errors import SettingError

WANTED = {  # by a validator's names for kinds of mistakes, or how they begin
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a text",
    "string_unicode": "a text without half characters (lone surrogates)",
    "list": "a list",
    "tuple": "a list",
}
BOUNDS = {  # by what a validator calls the bound, and the name of its value
    "greater_than_equal": ("a number from {}", "ge"),
    "greater_than": ("a number above {}", "gt"),
    "less_than_equal": ("a number up to {}", "le"),
    "less_than": ("a number below {}", "lt"),
    "string_too_long": ("at most {} characters", "max_length"),
    "too_long": ("at most {} of them", "max_length"),
    "too_short": ("at least {} of them", "min_length"),
    "literal_error": ("one of {}", "expected"),
}


def unfit(name: str, found: Mapping[str, Any]) -> SettingError:
    """The error for a value that pydantic refuses. found: what it tells, as `errors()` gives it."""
    kind = str(found["type"])
    if kind == "missing":
        return SettingError(f"{name} is missing.", f"Give {name}.")
    wanted = WANTED.get(kind, WANTED.get(kind.partition("_")[0]))
    if kind in BOUNDS:
        words, bound = BOUNDS[kind]
        wanted = words.format(found["ctx"][bound])
    remedy = f"Give {wanted}." if wanted else f"{found['msg']}."
    return SettingError(f"{name} is {reprlib.repr(found['input'])}.", remedy)
