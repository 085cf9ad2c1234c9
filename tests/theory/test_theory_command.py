"""`piste theory`: the table, the exit code, and nothing heavy before it is needed."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from piste.cli import app
from piste.theory import checks, checks_slalom
from piste.theory.report import OURS, Finding, Table


def run(monkeypatch, *findings: Finding, arguments: tuple[str, ...] = ()):
    monkeypatch.setattr(checks, "run_checks", lambda: iter(findings))
    return CliRunner().invoke(app, ["theory", *arguments], env={"COLUMNS": "120"})


def test_all_pass(monkeypatch):
    result = run(monkeypatch, Finding(OURS, "[UNK] counts", "5e-9", True))
    assert result.exit_code == 0
    for word in ("[UNK] counts", "5e-9", "pass", "ours", "1 of 1 claims hold"):
        assert word in result.stdout


def test_one_fails(monkeypatch):
    findings = (Finding(OURS, "one", "a", True), Finding(OURS, "two", "b", False))
    result = run(monkeypatch, *findings)
    assert result.exit_code == 1
    assert "FAIL" in result.stdout
    assert "1 of 2 claims hold" in result.stdout


@pytest.mark.parametrize("wanted", [True, False])
def test_open_questions_are_measured_when_asked_for(monkeypatch, wanted):
    table = Table("How deep?", ("layers", "found"), (("3", "0.50"),))
    monkeypatch.setattr(checks, "open_questions", lambda: iter([table]))
    result = run(monkeypatch, Finding(OURS, "c", "m", True), arguments=("--questions",) * wanted)
    assert result.exit_code == 0
    assert ("How deep?" in result.stdout) == wanted
    assert ("0.50" in result.stdout) == wanted


def test_for_real(monkeypatch):
    """The checks of one paper; each of all of them is in test_checks."""
    monkeypatch.setattr(checks, "CHECKS", checks_slalom.CHECKS)
    result = CliRunner().invoke(app, ["theory"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert f"{len(checks.CHECKS)} of {len(checks.CHECKS)} claims hold" in result.stdout


def test_torch_is_loaded_by_the_command_only():
    code = "import sys, piste.cli.theory; print('torch' in sys.modules, 'rich' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]
