"""The explainers, in one explicit table. A new one: one file, one line here, one oracle test."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from piste.errors import SettingError, choices
from piste.methods.base import Method
from piste.methods.slalom import Slalom
from piste.methods.slalom_ana import SlalomAna

METHODS: Mapping[str, Method] = {
    "slalom": Slalom(),
    "slalom-ana": SlalomAna(),
}


def find_method(method: str | Method) -> tuple[str, Method]:
    """The name and the method: by name from the table, or an object as it is."""
    if isinstance(method, str):
        if method not in METHODS:
            raise choices("method", method, list(METHODS))
        return method, METHODS[method]
    if not hasattr(method, "explain") or isinstance(method, type):
        raise SettingError(
            f"{method!r} is not a method.", f"Give a name ({', '.join(METHODS)}) or an object."
        )
    names = [name for name, known in METHODS.items() if type(known) is type(method)]
    return (names or [type(method).__name__])[0], method


def summary(method: Method) -> str:
    """The first line of a method's docstring."""
    return (type(method).__doc__ or "").strip().split("\n")[0]


def settings(method: Method) -> dict[str, Any]:
    """The fields of a method as plain data; a method that is no dataclass has none to tell."""
    return dataclasses.asdict(method) if dataclasses.is_dataclass(method) else {}
