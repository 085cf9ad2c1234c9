"""The types that piste promises, as mypy sees them from somebody else's project."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "outside" / "uses_piste.py"
WRONG = """import piste

piste.explain("A text.", budget="many")
piste.explain(["A text."]).top(3)
piste.load("x").no_such_thing
"""
pytestmark = [
    pytest.mark.slow,  # mypy reads torch and numpy anew; `make types` checks the project inside
    pytest.mark.skipif(find_spec("mypy") is None, reason="needs piste[lint]"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder outside the repository, with both programs."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copy(PROJECT, folder / "right.py")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    return folder


def test_code_that_uses_piste_rightly_and_wrongly(project):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "right.py", "wrong.py"]
    found = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    errors = [line for line in found.stdout.splitlines() if ": error:" in line]
    places = dict.fromkeys(":".join(line.split(":")[:2]) for line in errors)
    assert [*places] == ["wrong.py:3", "wrong.py:4", "wrong.py:5"], found.stdout + found.stderr
