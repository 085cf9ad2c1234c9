"""An extension for the reference: lines `name: what it is` of a docstring become a list.

The code says them in prose, one below the other; Markdown would run them together.
"""

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"^(?P<names>[a-z_]+(?:, [a-z_]+)*): (?P<said>.*)$")


def listed(docstring: str, names: set[str]) -> str:
    """The docstring, with every parameter's line (and those that continue it) as an item."""
    lines: list[str] = []
    inside = False
    for line in docstring.splitlines():
        entry = _ENTRY.match(line)
        if entry and names.issuperset(entry["names"].split(", ")):
            lines += ([] if inside else [""]) + [f"* **`{entry['names']}`**: {entry['said']}"]
            inside = True
        else:
            inside = inside and bool(line.strip())
            lines.append(f"  {line}" if inside else line)
    return "\n".join(lines)


class Listed(griffe.Extension):
    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        if func.docstring:
            names = {parameter.name for parameter in func.parameters}
            func.docstring.value = listed(func.docstring.value, names)
