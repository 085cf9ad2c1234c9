"""Public names of a package that load when first used (PEP 562)."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose public names are defined in the modules `homes`.

    Example:
        __all__ = ["fit_sgd"]
        __getattr__ = loader(__name__, {"fit_sgd": "piste.surrogates.slalom.sgd"})
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load
