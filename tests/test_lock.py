"""requirements.lock holds the pinned versions with their digests, and names no package index."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.test_dependencies import normal

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY = re.compile(r"^([\w.-]+)==([\w.+!-]+)(.*?)(?=^\S|\Z)", re.M | re.S)
RELOCK = "run `make lock`"


def versions() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version, _ in ENTRY.findall(TEXT):
        found.setdefault(normal(name), set()).add(version)
    return found


def test_it_names_no_place():
    assert "://" not in TEXT
    assert "-index" not in TEXT


def test_it_locks_what_the_project_asks_for():
    asked = [*PROJECT["dependencies"]]
    for lines in PROJECT["optional-dependencies"].values():
        asked += lines
    names = {normal(Requirement(line).name) for line in asked} - {"piste"}
    assert names <= set(versions()), RELOCK


@pytest.mark.parametrize("name", ["torch", "numpy", "transformers", "mcp", "ruff", "mypy"])
def test_the_versions_are_those_of_the_constraints(name):
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    assert pins[name] in versions()[name], RELOCK


def test_every_pin_of_a_locked_package_is_locked():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    pins = {normal(name): version for name, version in (line.split("==") for line in lines)}
    other = {
        name: (version, versions()[name])
        for name, version in pins.items()
        if name in versions() and version not in versions()[name]
    }
    assert other == {}, RELOCK


def test_every_version_has_digests():
    entries = ENTRY.findall(TEXT)
    assert len(entries) > 50
    assert [name for name, _, rest in entries if "--hash=sha256:" not in rest] == []
