"""`python -m papers`: what it prints and writes, its exit codes, and the commands it replaced."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from papers.__main__ import app, claims
from papers.experiments import EXPERIMENTS
from papers.tables import OURS, Finding, Table
from papers.theory import checks, checks_slalom
from piste import cli


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


def test_the_list_names_every_experiment():
    shown = invoke("list")
    assert shown.exit_code == 0
    for name, experiment in EXPERIMENTS.items():
        (line,) = (line for line in shown.stdout.splitlines() if line.split()[:1] == [name])
        assert experiment.what in line
        assert experiment.source in line


def test_an_experiment_is_written_and_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path / "cache"))
    shown = invoke("run", "fig3", "--out", str(tmp_path), "--scale", "tiny", "--seed", "3")
    assert shown.exit_code == 0, shown.output
    result = json.loads((tmp_path / "fig3" / "result.json").read_text())
    assert (result["scale"], result["seed"]) == ("tiny", 3)
    for sentence in result["findings"]:
        assert sentence[:60] in shown.stdout
    page = (tmp_path / "fig3" / "result.md").read_text()
    assert "![fig3](fig3.png)" in page
    assert "| linear truth |" in page
    assert (tmp_path / "fig3" / "fig3.png").stat().st_size > 5_000
    assert list((tmp_path / "cache" / "experiments").iterdir())  # trained models are kept


def in_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "papers", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_mistakes_are_told_in_one_line(tmp_path):
    shown = in_process("run", "tabel6", "--out", str(tmp_path))
    assert shown.returncode == 2
    assert shown.stderr.startswith("papers: There is no experiment 'tabel6'. Did you mean 'table6'")
    assert len(shown.stderr.splitlines()) == 1


def test_claims_that_fail_are_marked():
    table = claims([Finding(OURS, "[UNK] counts", "5e-9", True), Finding(OURS, "two", "b", False)])
    assert table.rows == (
        ("[UNK] counts", "5e-9", "pass", "ours"),
        ("two", "b", "FAIL", "ours"),
    )


@pytest.mark.parametrize("passed", [True, False])
def test_the_exit_code_says_whether_all_claims_hold(monkeypatch, passed):
    findings = [Finding(OURS, "[one]", "a", True), Finding(OURS, "two", "b", passed)]
    monkeypatch.setattr(checks, "run_checks", lambda: iter(findings))
    shown = invoke("theory")
    assert shown.exit_code == (0 if passed else 1)
    assert "[one]" in shown.stdout
    assert f"{1 + passed} of 2 claims hold" in shown.stdout


@pytest.mark.parametrize("wanted", [True, False])
def test_open_questions_are_measured_on_request(monkeypatch, wanted):
    table = Table("How deep?", ("layers", "found"), (("3", "0.50"),))
    monkeypatch.setattr(checks, "run_checks", lambda: iter(()))
    monkeypatch.setattr(checks, "open_questions", lambda: iter([table]))
    shown = invoke("theory", *["--questions"] * wanted)
    assert shown.exit_code == 0
    assert ("How deep?" in shown.stdout) == wanted
    assert ("0.50" in shown.stdout) == wanted


def test_real_claims_hold(monkeypatch):
    """The checks of one paper; each of all of them is in test_checks."""
    run_checks = checks.run_checks
    monkeypatch.setattr(checks, "run_checks", lambda: run_checks(checks_slalom.CHECKS))
    shown = invoke("theory")
    assert shown.exit_code == 0, shown.output
    count = len(checks_slalom.CHECKS)
    assert f"{count} of {count} claims hold" in shown.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["theory", "--questions"], "python -m papers theory"),
        (["reproduce", "fig3", "--out", "x"], "python -m papers run NAME --out DIR"),
        (["reproduce", "--list"], "python -m papers run NAME --out DIR"),
    ],
)
def test_the_commands_that_moved_say_where_to(monkeypatch, capsys, old, new):
    monkeypatch.setattr(sys, "argv", ["piste", *old])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert new in line
    assert old[0] not in CliRunner().invoke(cli.app, ["--help"]).stdout
