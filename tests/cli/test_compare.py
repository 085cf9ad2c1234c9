"""`piste compare` as a person meets it, but in this process: the model loads once."""

import io
import json
import sys

import pytest

from piste.cli import main

TEXT = "The plot is thin but the acting is superb."
FEW = ("--methods", "slalom, occlusion,attention", "--budget", "60")


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command: exit code, standard output and standard error."""

    def call(*arguments: str, stdin: str = "") -> tuple[object, str, str]:
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "argv", ["piste", "compare", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, *capsys.readouterr()

    return call


def test_compare_prints_and_writes(run, tmp_path):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "png")}
    code, shown, notices = run(
        TEXT, *FEW, "--measure", "--json", str(files["json"]),
        "--html", str(files["html"]), "--figure", str(files["png"]),
    )  # fmt: skip
    assert code == 0, notices
    for word in ("1 slalom", "3 attention", "superb", "sequences", "removal error", "Trust"):
        assert word in shown
    assert "\x1b" not in shown
    data = json.loads(files["json"].read_text(encoding="utf-8"))
    assert list(data["explanations"]) == ["slalom", "occlusion", "attention"]
    assert files["html"].read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert notices.count("Wrote") == 3


def test_brief_and_quiet(run, tmp_path):
    code, shown, _ = run(TEXT, *FEW, "--measure", "--brief")
    assert code == 0
    assert "3 attention" in shown
    assert "Agreement" not in shown
    file = tmp_path / "out.json"
    assert run(TEXT, *FEW, "--quiet", "--json", str(file)) == (0, "", "")
    assert file.exists()


def test_json_on_standard_output_is_nothing_but_json(run):
    _, shown, _ = run("-", *FEW, "--json", "-", "--target", "negative", stdin=TEXT)
    data = json.loads(shown)
    assert {ex["target"]["label"] for ex in data["explanations"].values()} == {"negative"}
    assert data["measured"] == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([TEXT, "--methods", "slalom,lyme"], "Did you mean 'lime'?"),
        ([TEXT, "--methods", ","], "Give several"),
        ([TEXT, "--unit", "words"], "Did you mean 'word'?"),
        ([TEXT, "--figure", "x.gif"], ".png, .svg, .pdf"),
        ([TEXT, "--html", "x", "--json", "x"], "same path"),
        ([], 'piste compare "A film'),
        ([TEXT, "--target", "happy"], "negative, positive"),
    ],
)
def test_mistakes_give_one_clear_line_and_exit_code_2(run, arguments, message):
    code, shown, notices = run(*arguments)
    lines = notices.strip().split("\n")
    assert (code, shown) == (2, "")
    assert len(lines) == 1, lines
    assert lines[0].startswith("piste: ")
    assert message in lines[0]
