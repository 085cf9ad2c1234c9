"""The format of an explanation's JSON, as a JSON Schema that is shipped with piste."""

import json
from importlib.resources import files
from typing import Any

from piste.errors import choices

PUBLISHED = ("2",)  # 0.1 wrote another, which is read and has no schema


def schema(version: int = 2) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what `Explanation.to_json` writes, by its version."""
    if str(version) not in PUBLISHED:
        raise choices("schema", version, PUBLISHED)
    file = files("piste.result") / f"explanation-{version}.schema.json"
    published: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return published
