"""Optional libraries: the error for one that is missing, and installed versions."""

from __future__ import annotations

import functools
import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from piste.errors import SettingError

EXTRAS = {  # an import that may be missing, and the extra of piste that brings it
    "openvino": "fast",
    "pyarrow": "data",
    "datasets": "data",
    "ray": "ray",
    "fastapi": "web",
    "uvicorn": "web",
    "mcp": "mcp",
    "pandas": "pandas",
    "shap": "shap",
    "spacy": "spacy",
    "anywidget": "notebook",
    "traitlets": "notebook",
}
REPORTED = ("piste", "numpy", "scipy", "torch", "transformers")


def require(module: str, purpose: str) -> Any:
    """The imported module, or an error that says what needs it and how to install it."""
    package = module.split(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise SettingError(
            f"{purpose} needs {package}, which is not installed or cannot be loaded ({error}).",
            f"Install it: pip install 'piste[{EXTRAS[package]}]'.",
        ) from error


@functools.cache
def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that shape an explanation."""
    known = {package: installed(package) for package in REPORTED}
    found = {package: number for package, number in known.items() if number is not None}
    return {"python": platform.python_version()} | found


@functools.cache
def installed(package: str) -> str | None:
    """The version of an installed package, which is not imported for it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
