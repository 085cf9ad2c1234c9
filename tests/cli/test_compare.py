"""`piste compare` as a person meets it."""

import json

import pytest

from tests.cli.test_cli import TEXT, run

FEW = ("--methods", "slalom, occlusion,attention", "--budget", "60")


def test_compare_prints_and_writes(tmp_path):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "png")}
    result = run(
        "compare", TEXT, *FEW, "--measure", "--json", str(files["json"]),
        "--html", str(files["html"]), "--figure", str(files["png"]),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    shown = result.stdout.decode()
    for word in ("1 slalom", "3 attention", "superb", "sequences", "removal error", "trust"):
        assert word in shown
    assert "\x1b" not in shown
    data = json.loads(files["json"].read_text(encoding="utf-8"))
    assert list(data["explanations"]) == ["slalom", "occlusion", "attention"]
    assert files["html"].read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert result.stderr.decode().count("Wrote") == 3


def test_json_on_standard_output_is_nothing_but_json():
    result = run("compare", "-", *FEW, "--json", "-", "--target", "negative", stdin=TEXT)
    data = json.loads(result.stdout)
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
def test_mistakes_give_one_clear_line_and_exit_code_2(arguments, message):
    result = run("compare", *arguments)
    lines = result.stderr.decode().strip().split("\n")
    assert result.returncode == 2
    assert len(lines) == 1, lines
    assert lines[0].startswith("piste: ")
    assert message in lines[0]
