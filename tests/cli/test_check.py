"""`piste check` as a command: exit codes, files, and what it prints."""

import json
import sys
from xml.etree import ElementTree

import pytest

from piste import cli
from piste.runs.model_change import FidelityChange, Flip, Limits, ModelChange, Shift

CALM = ModelChange(
    baseline="baseline",
    models=("old", "new"),
    limits=Limits(0.01, 0.2, 0),
    texts=10,
    other=0,
    failed=0,
    unreliable=0,
    tested=50,
    words=(),
    pairs=(),
    flips=(),
    fidelity=FidelityChange(10, 0.95, 0.95, 1.0, False),
)
WORD = Shift(("superb",), "positive", 4, 2.4, 0.3, 0.1, 0.0, "t7")


def checked(change, arguments, monkeypatch, capsys):
    """What the command ends with, where `piste.check` finds this; output and errors."""
    asked = {}

    def check(*args, **settings):
        asked.update(settings, args=args)
        return change

    monkeypatch.setattr("piste.check", check, raising=False)
    command = ["piste", "check", "d.jsonl", "--baseline", "b", *arguments]
    monkeypatch.setattr(sys, "argv", command)
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code or 0
    return code, capsys.readouterr(), asked


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"words": (WORD,)}, 3),
        ({"flips": (Flip("t1", "a", "b", None),)}, 3),
        ({"fidelity": FidelityChange(10, 0.9, 0.5, 0.0, True)}, 3),
        ({"failed": 1}, 1),
        ({"failed": 1, "words": (WORD,)}, 3),
    ],
)
def test_the_exit_code_tells_what_was_found(changes, code, monkeypatch, capsys):
    from dataclasses import replace

    assert checked(replace(CALM, **changes), [], monkeypatch, capsys)[0] == code


def test_files_and_settings(monkeypatch, capsys, tmp_path):
    from dataclasses import replace

    files = {kind: str(tmp_path / f"f.{kind}") for kind in ("junit", "markdown", "json")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    options += ["--alpha", "0.05", "--least", "0.3", "--flips", "2"]
    options += ["--least-compared", "0.2"]
    change = replace(CALM, words=(WORD,))
    code, said, asked = checked(change, options, monkeypatch, capsys)
    assert code == 3
    assert (asked["alpha"], asked["least"], asked["flips"]) == (0.05, 0.3, 2)
    assert asked["least_compared"] == 0.2
    assert "superb" in said.out
    assert "+2.40 → +0.30 (−2.10 ±0.10)" in said.out
    assert ElementTree.parse(files["junit"]).getroot().get("failures") == "1"
    assert "superb" in (tmp_path / "f.markdown").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "f.json").read_text())["words"][0]["words"] == ["superb"]


def test_paths_are_checked_before_the_work(monkeypatch, capsys, tmp_path):
    options = ["--junit", str(tmp_path / "nowhere" / "f.xml")]
    code, said, asked = checked(CALM, options, monkeypatch, capsys)
    assert code == 2
    assert "nowhere" in said.err
    assert not asked
