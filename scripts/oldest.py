"""Pin every dependency that users get to the oldest version pyproject.toml allows.

    python scripts/oldest.py            # prints name==minimum, one a line, for pip's -c
    python scripts/oldest.py torch=2.13 # the same, with another version in one place

What only the project's own checks need (extras test, lint, docs and the like) is left to pip.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
OURS = ("test", "slow", "lint", "fuzz", "train", "docs", "lock", "examples", "papers")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^]]*\])?\s*>=\s*(?P<version>[\w.]+)")


def wanted(project: dict) -> list[str]:
    """Requirements as written, of the package and of its extras for users."""
    extras = project["optional-dependencies"]
    return project["dependencies"] + [
        line for name, lines in extras.items() if name not in OURS for line in lines
    ]


def order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def floors(project: dict) -> dict[str, str]:
    """The oldest version of each; where two lines ask for the same, the later one."""
    found: dict[str, str] = {}
    for line in wanted(project):
        match = REQUIREMENT.match(line)
        if match is None:
            if line.startswith(f"{project['name']}["):  # an extra that takes in another
                continue
            raise SystemExit(f"pyproject.toml: {line!r} names no oldest version.")
        name, version = match["name"], match["version"]
        found[name] = max(found.get(name, version), version, key=order)
    return found


def main() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    found = floors(project)
    for change in sys.argv[1:]:
        name, _, version = change.partition("=")
        if name not in found:
            raise SystemExit(f"{name!r} is no dependency of users: {', '.join(found)}.")
        found[name] = version or found[name]
    print("\n".join(f"{name}=={version}" for name, version in found.items()))


if __name__ == "__main__":
    main()
