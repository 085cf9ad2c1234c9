"""The format of an explanation's JSON: plain data, and the schema that is shipped with piste."""

import dataclasses
import json
from importlib.resources import files
from typing import Any

import numpy as np

from piste.errors import choices
from piste.result.facts import Fidelity

PUBLISHED = ("2",)  # 0.1 wrote another, which is read and has no schema


def schema(version: int = 2) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what `Explanation.to_json` writes, by its version."""
    if str(version) not in PUBLISHED:
        raise choices("schema", version, PUBLISHED)
    file = files("piste.result") / f"explanation-{version}.schema.json"
    published: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return published


def jsonable(value: Any) -> Any:
    """What JSON has for it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fidelity):
        return {name: dataclasses.asdict(check) for name, check in value.checks.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")
