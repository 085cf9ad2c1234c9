"""What is asked for, checked before any work: the method, the target, and the settings of both."""

import functools
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from piste.errors import SettingError, whole_number
from piste.explanation import Stopped
from piste.lexicon import Lexicon
from piste.methods import find_method, settings
from piste.methods.base import Method
from piste.methods.every_class import ALL, EveryClass, is_every
from piste.methods.from_lexicon import FromLexicon
from piste.methods.slalom import Slalom
from piste.models.protocol import Classifier

REPORTED = ("piste", "numpy", "scipy", "torch", "transformers")


@dataclass(frozen=True)
class Task:
    """What is wanted of a text, or of each of its windows."""

    name: str  # of the method
    method: Method
    settings: dict[str, Any]  # of the method, as the explanation tells them
    target: str | int | None
    unit: str
    repeats: str
    seed: int
    budget: int | None
    tolerance: float | None
    batch_tokens: int

    @classmethod
    def of(
        cls,
        method: str | Method,
        classifier: Classifier,
        *,
        target: str | int | None,
        unit: str,
        repeats: str,
        lexicon: Lexicon | str | os.PathLike[str] | None,
        refine: int | None,
        seed: int,
        budget: int | None,
        tolerance: float | None,
        batch_tokens: int,
    ) -> "Task":
        """The arguments of `explain`, checked."""
        name, chosen = _chosen(method, lexicon, refine)
        every = is_every(target, classifier)
        return cls(
            name=name,
            method=EveryClass(chosen) if every else chosen,
            settings=settings(chosen) | _for_all(chosen, every),
            target=None if every else target,
            unit=unit,
            repeats=repeats,
            seed=whole_number("seed", seed, 0),
            budget=None if budget is None else whole_number("budget", budget, 1),
            tolerance=None if tolerance is None else _tolerance(tolerance),
            batch_tokens=whole_number("batch_tokens", batch_tokens, 1),
        )

    def notes(self, stopped: Stopped | None) -> tuple[str, ...]:
        """What was asked for in vain."""
        if self.tolerance is None or stopped is not None:
            return ()
        return (f"The tolerance had no effect: {self.name} did not sample in rounds here.",)


def _for_all(method: Method, every: bool) -> dict[str, Any]:
    """What explaining all classes changes in the settings."""
    shared = {"classes": "shared"} if isinstance(method, Slalom) else {}
    return {"target": ALL} | shared if every else {}


def _chosen(
    method: str | Method, lexicon: Lexicon | str | os.PathLike[str] | None, refine: int | None
) -> tuple[str, Method]:
    if lexicon is None:
        if refine is not None:
            raise SettingError("refine needs a lexicon.", "Give one, or a budget without it.")
        return find_method(method)
    if method != "slalom":
        raise SettingError("A lexicon holds SLALOM's scores.", 'Leave method at "slalom".')
    known = lexicon if isinstance(lexicon, Lexicon) else Lexicon.load(lexicon)
    return "slalom", FromLexicon(known, refine)


def _tolerance(given: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SettingError(f"tolerance is {given!r}.", "Give a number above 0, up to 1: 0.1.")
    return float(given)


@functools.cache
def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in REPORTED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
