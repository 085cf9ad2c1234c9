"""`piste diff` and `piste verify` as a person meets them, in this process."""

import io
import json
import sys
from importlib.util import find_spec

import pytest

from piste.cli import main

BEFORE, AFTER = "A good film.", "Not a good film."


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command: exit code, standard output and standard error."""

    def call(*arguments: str) -> tuple[object, str, str]:
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "argv", ["piste", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, *capsys.readouterr()

    return call


def test_two_texts(run, tmp_path):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "png")}
    code, shown, notices = run(
        "diff", BEFORE, AFTER, "--json", str(files["json"]),
        "--html", str(files["html"]), "--figure", str(files["png"]),
    )  # fmt: skip
    assert code == 0, notices
    assert shown.startswith(
        "The decision turns from positive to negative, mainly because “Not” was"
    )
    assert "\x1b" not in shown
    data = json.loads(files["json"].read_text(encoding="utf-8"))
    assert data["decisions"] == ["positive", "negative"]
    assert files["html"].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert files["png"].read_bytes().startswith(b"\x89PNG")


def test_one_text_under_two_models(run):
    code, shown, _ = run("diff", BEFORE, "--model", "demo", "--model2", "demo", "--budget", "40")
    assert code == 0
    assert shown.startswith("The texts are the same, and the decision stays positive; the log-odds")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", BEFORE, "--budget", "abc"], "--budget is 'abc'. Give a whole number."),
        (["diff", BEFORE, AFTER, "--tolerance", "x"], "--tolerance is 'x'. Give a number."),
        (["explain", BEFORE, "--top", "0"], "--top is '0'. Give a number from 1."),
        (["lexicon", "build", "x.jsonl", "--limit", "1.5"], "--limit is '1.5'."),
    ],
)
def test_a_value_that_is_no_number_is_told_in_plain_words(run, arguments, said):
    code, shown, notices = run(*arguments)
    assert (code, shown) == (2, "")
    if find_spec("typer._coercion"):  # older ones have click say that it "is not a valid integer"
        assert said in notices
    assert "nput should be" not in notices
    assert arguments[-2] in notices


def test_two_files(run, tmp_path):
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    for text, file in zip((BEFORE, AFTER), files, strict=True):
        run("explain", text, "--json", file)
    code, shown, _ = run("diff", *files)
    assert code == 0
    assert shown.startswith("The decision turns from positive to negative")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([BEFORE], "nothing to compare"),
        ([BEFORE, AFTER, "--model2", "demo"], "Change one of them"),
        ([BEFORE, BEFORE], "The two texts are the same"),
        ([BEFORE, "saved.json"], "Give two JSON files"),
        (["a.json", "b.json"], "Cannot read a.json"),
        (["a.json", "b.json", "--seed", "2"], "compared as they are"),
        ([BEFORE, AFTER, "more"], "Put it in quotes"),
        ([BEFORE, AFTER, "--pair2", "x"], "--pair2 is given without --pair"),
        ([BEFORE, AFTER, "--method", "lyme"], "Did you mean 'lime'?"),
        ([BEFORE, AFTER, "--figure", "x.gif"], ".png, .svg, .pdf"),
    ],
)
def test_mistakes_of_a_diff(run, arguments, message):
    code, shown, told = run("diff", *arguments)
    assert code == 2
    assert shown == ""
    assert message in told


def test_an_explanation_is_verified(run, tmp_path):
    file = tmp_path / "a.json"
    run("explain", BEFORE, "--json", str(file))
    code, shown, _ = run("verify", str(file))
    assert code == 0
    assert shown.startswith("The explanation holds.")
    code, shown, _ = run("verify", str(file), "--json", "-")
    assert json.loads(shown)["holds"] is True
    data = json.loads(file.read_text(encoding="utf-8"))
    data["record"]["fingerprint"]["weights"] = "0" * 32
    file.write_text(json.dumps(data), encoding="utf-8")
    code, shown, _ = run("verify", str(file), "--json", str(tmp_path / "v.json"))
    assert code == 1
    assert shown.startswith("The explanation does not hold: model differs.")
    assert json.loads((tmp_path / "v.json").read_text(encoding="utf-8"))["holds"] is False


def test_mistakes_of_a_verification(run, tmp_path):
    code, _, told = run("verify", str(tmp_path / "nothing.json"))
    assert code == 2
    assert "Cannot read" in told
    (tmp_path / "x.json").write_text("{}")
    assert run("verify", str(tmp_path / "x.json"))[0] == 2
