"""How much `piste explain` shows: the options, and what a terminal sees the first time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from piste.cli import app, common
from piste.errors import SettingError
from tests.systems import posix_only

TEXT = "The plot is thin but the acting is superb."
LEGEND = "Shapley value"


def shown(*options: str) -> str:
    found = CliRunner().invoke(app, ["explain", TEXT, *options])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_the_answer_comes_first():
    assert shown().splitlines()[0].startswith("positive (")


def test_brief_and_top():
    lines = shown("--brief", "--top", "2").splitlines()
    assert sum("±" in line for line in lines) == 2
    assert not any(line.startswith("·") for line in lines)


def test_scores_are_explained_when_asked_for():
    assert LEGEND not in shown()
    assert LEGEND in shown("--help-scores")
    assert LEGEND in shown("--help-scores", "--brief")


def noticed(text: str) -> str:
    """What stands beside the explanation of this text, on standard error."""
    found = CliRunner().invoke(app, ["explain", text, "--json", "-"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["text"] == text
    return found.stderr


@pytest.mark.parametrize("name", ["nothere.txt", "data/Reviews.JSONL", "a.csv", "old.txt.gz"])
def test_a_word_that_looks_like_a_file_is_told(name):
    assert f"{name!r}, and there is no file of that name" in noticed(name)


@pytest.mark.parametrize("text", ["superb", "It ends.", "Read review.txt", "e.g.", "3.5"])
def test_other_texts_are_no_files(text):
    assert "file" not in noticed(text)


def test_a_word_that_is_a_file_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "review.txt").write_text("good")
    assert "For the file's content: --file review.txt" in noticed("review.txt")


def test_quiet_writes_files_and_says_nothing(tmp_path):
    out = tmp_path / "out.json"
    found = CliRunner().invoke(app, ["explain", TEXT, "--quiet", "--json", str(out)])
    assert (found.exit_code, found.output) == (0, "")
    assert json.loads(out.read_text())["text"] == TEXT
    options = ["--quiet", "--effort", "quick", "--min-fidelity", "1"]
    low = CliRunner().invoke(app, ["explain", f"{TEXT} I was never bored at all.", *options])
    assert (low.exit_code, low.output) == (3, "")
    assert CliRunner().invoke(app, ["explain", TEXT, "--quiet", "--json", "-"]).stdout[0] == "{"


@pytest.mark.parametrize("top", ["0", "-1", "two"])
def test_a_number_of_words_that_cannot_be(top):
    found = CliRunner().invoke(app, ["explain", TEXT, "--top", top])
    assert isinstance(found.exception, SettingError) or found.exit_code == 2  # of older typers


@pytest.mark.parametrize("columns", ["60", "120"])
def test_the_environment_sets_the_width_of_a_pipe(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    widest = max(map(len, shown("--help-scores").splitlines()))
    assert int(columns) - 30 < widest <= int(columns)


def test_the_first_time_is_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path / "new" / "cache"))
    assert [common.first_time("scores") for _ in range(3)] == [True, False, False]
    assert common.first_time("another")


def test_where_nothing_can_be_remembered_it_is_always_the_first_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path / "file" / "below"))
    assert [common.first_time("scores") for _ in range(2)] == [True, True]


def on_a_terminal(cache: Path, *options: str) -> str:
    """What the command shows where its output is a terminal."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "piste", "explain", TEXT, *options]
    environment = os.environ | {"PISTE_CACHE": str(cache), "TERM": "xterm", "COLUMNS": "90"}
    process = subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment, close_fds=True
    )
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(ours)
    assert process.wait() == 0
    return b"".join(pieces).decode()


@posix_only
def test_a_terminal_explains_the_scores_once(tmp_path):
    brief = on_a_terminal(tmp_path, "--brief")
    assert LEGEND not in brief  # and does not count as the first time
    assert "\x1b[" in brief
    assert LEGEND in on_a_terminal(tmp_path)
    assert LEGEND not in on_a_terminal(tmp_path)
