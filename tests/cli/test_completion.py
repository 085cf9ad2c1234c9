"""The shell completes commands, options and names."""

import os
import subprocess
import sys

import pytest

from piste.methods import METHODS
from piste.metrics import METRICS
from piste.options import REPEATS, UNITS


def completed(words: str) -> set[str]:
    """What bash would offer after these words."""
    asked = {
        "_PISTE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    code = "from piste.cli import app; app(prog_name='piste')"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(found.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("piste ex", {"explain"}),
        ("piste explain --meth", {"--method"}),
        ("piste explain --method ", set(METHODS)),
        ("piste explain --unit ", set(UNITS)),
        ("piste run --repeats ", set(REPEATS)),
        ("piste compare --methods lime,gr", {"lime,gradients"}),
        ("piste evaluate --metrics ", set(METRICS)),
    ],
)
def test_what_is_offered(words, offered):
    assert completed(words) == offered


def test_python_m_piste_is_the_command():
    found = subprocess.run(
        [sys.executable, "-m", "piste", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("piste ")
