"""The command line as a person meets it: in a process of its own."""

import io
import json
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

import piste
from piste.cli import app, progress
from piste.result.facts import r2_text
from tests.systems import posix_only

TEXT = "The plot is thin but the acting is superb."


def run(
    *arguments: str, stdin: str | bytes = b"", **environment: str
) -> subprocess.CompletedProcess:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run(
        [sys.executable, "-m", "piste", *arguments],
        input=data,
        capture_output=True,
        env={**os.environ, "COLUMNS": "100", **environment},
        check=False,
    )


def test_explain_prints_writes_and_leaves_stderr_to_notices(tmp_path):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "png", "svg")}
    result = run(
        "explain", TEXT, "--json", str(files["json"]), "--html", str(files["html"]),
        "--figure", str(files["png"]),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    shown = result.stdout.decode()
    for word in ("superb", "positive", "value", "importance", "R²", "forward passes"):
        assert word in shown
    assert "\x1b" not in shown  # not a terminal: no escape codes
    explanation = piste.Explanation.from_json(files["json"])
    assert explanation.text == TEXT
    assert files["html"].read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert "Wrote" in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()


def test_json_on_standard_output_is_nothing_but_json():
    result = run("explain", "-", "--json", "-", "--target", "negative", "--unit", "token",
                 "--seed", "5", "--budget", "60", stdin=TEXT + "\n")  # fmt: skip
    data = json.loads(result.stdout)
    assert (data["text"], data["unit"], data["seed"]) == (TEXT, "token", 5)
    assert data["target"]["label"] == "negative"
    assert data["cost"]["forwards"] <= 60


def test_text_from_a_file_and_from_a_pipe_without_a_dash(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode() + b"\r\n")
    assert json.loads(run("explain", "--file", str(path), "--json", "-").stdout)["text"] == TEXT
    assert json.loads(run("explain", "--json", "-", stdin=TEXT).stdout)["text"] == TEXT


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", ""], "empty"),
        (["explain"], "There is no text"),
        (["explain", TEXT, "--device", "gpu"], "Cannot use device"),
        (["explain", TEXT, "--repeats", "once"], "shared, separate"),
        (["explain", "  "], "empty"),
        (["explain", TEXT, "--file", "x"], "Give one of them"),
        (["explain", "--file", "/no/such/file"], "Cannot read"),
        (["explain", TEXT, "--model", "./nothing"], "no directory"),
        (["explain", TEXT, "--method", "slalon"], "Did you mean 'slalom'?"),
        (["explain", TEXT, "--method", "shap"], "Did you mean 'kernel-shap'?"),
        (["explain", TEXT, "--method", "IG"], "Did you mean 'integrated-gradients'?"),
        (["explain", TEXT, "--method", "Kernel_SHAP"], "Did you mean 'kernel-shap'?"),
        (["compare", TEXT, "--methods", "context,loo"], "Did you mean 'occlusion'?"),
        (["explain", TEXT, "--unit", "words"], "Did you mean 'word'?"),
        (["explain", TEXT, "--target", "happy"], "negative, positive"),
        (["explain", TEXT, "--budget", "3"], "Give at least 11"),
        (["explain", TEXT, "--figure", "x.gif"], ".png, .svg, .pdf"),
        (["explain", TEXT, "--html", "/no/such/folder/x.html"], "Cannot write"),
        (["explain", TEXT, "--json", "/"], "Cannot write"),
        (["explain", TEXT, "--seed", "-1"], "seed"),
        (["explain", TEXT, "--html", "x", "--json", "x"], "same path"),
    ],
)
def test_mistakes_give_one_clear_line_and_exit_code_2(arguments, message):
    result = run(*arguments)
    lines = result.stderr.decode().strip().split("\n")
    assert result.returncode == 2
    assert len(lines) == 1, lines
    assert lines[0].startswith("piste: ")
    assert message in lines[0]
    assert result.stdout == b""


def test_text_that_is_not_utf8():
    result = run("explain", "-", stdin=b"caf\xe9")
    assert result.returncode == 2
    assert b"not UTF-8" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["explain", "--nonsense"], ["nonsense"], ["explain", "a", "b"]]
)
def test_usage_errors_exit_with_2_too(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert b"Traceback" not in result.stderr


def test_a_terminal_that_cannot_show_a_character():
    result = run("explain", "superb 🎉 film", PYTHONIOENCODING="latin-1")
    assert result.returncode == 0, result.stderr


def test_methods_lists_the_table():
    result = run("methods")
    assert result.returncode == 0
    for name in piste.METHODS:
        assert name in result.stdout.decode()


def test_help_and_version():
    assert "explain" in run("--help").stdout.decode()
    shown = " ".join(run("explain", "--help").stdout.decode().split())
    assert "Default: predicted" in shown
    assert run("--version").stdout.decode().strip() == f"piste {piste.__version__}"


@pytest.mark.parametrize("command", [[], ["explain"], ["run"], ["lexicon", "build"]])
def test_an_option_that_takes_no_value_has_no_type(command):
    assert "bool" not in run(*command, "--help").stdout.decode().casefold()


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['piste', '--help']\n"
        "from piste.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'scipy', 'numpy', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip().endswith("[]")


@posix_only
def test_a_reader_that_stops_early_is_no_error_and_loses_no_file(tmp_path):
    command = f"{sys.executable} -m piste explain '{TEXT}' --html {tmp_path}/x.html | head -n 1"
    result = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert b"Traceback" not in result.stderr
    assert (tmp_path / "x.html").exists()


def test_the_progress_bar_waits_a_second(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.LateBar("Asking", Console(force_terminal=True, quiet=True)) as bar:
        bar(1, 10)
        assert bar.bar is None
        clock[0] = 2.0
        bar(2, 10)
        assert bar.bar is not None
    assert bar.bar.tasks[0].completed == 2


def on_a_terminal(monkeypatch, steps):
    """What a terminal shows for `steps`: functions of the bar, ten seconds apart."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, get_time=lambda: clock[0])
    with progress.LateBar("Asking", console) as bar:
        for step in steps:
            clock[0] += 10.0
            step(bar)
        assert bar.bar is not None
        bar.bar.refresh()
    return stream.getvalue(), bar.bar.tasks[0]


def test_a_bar_never_passes_its_end(monkeypatch):
    shown, task = on_a_terminal(monkeypatch, [lambda bar: bar(150, 200), lambda bar: bar(256, 200)])
    assert (task.completed, task.total, task.percentage) == (256, 256, 100)
    assert "256/256" in shown
    assert "256/200" not in shown


def test_a_bar_tells_the_time_left(monkeypatch):
    steps = [lambda bar, done=done: bar(done, 100) for done in (10, 20, 30, 40)]
    shown, task = on_a_terminal(monkeypatch, steps)
    assert task.time_remaining == 60  # ten a step of ten seconds
    assert "0:01:00" in shown


def test_another_stage_has_a_bar_of_its_own(monkeypatch):
    def texts(bar):
        bar.stage("Texts")
        bar(3, None)

    shown, task = on_a_terminal(monkeypatch, [lambda bar: bar(900, 1000), texts])
    assert (task.description, task.completed, task.total) == ("Texts", 3, None)
    assert "3/?" in shown


def test_a_fidelity_can_be_asked_for(tmp_path):
    out = tmp_path / "out.json"
    text = "The plot is thin, but the acting is superb, and I was never bored at all."
    low = CliRunner().invoke(
        app, ["explain", text, "--json", str(out), "--effort", "quick", "--min-fidelity", "1"]
    )
    assert low.exit_code == 3
    explanation = piste.Explanation.from_json(out)  # written all the same
    assert f"The held-out R² is {r2_text(explanation.fidelity.r2, 3)}" in low.stderr
    assert "--min-fidelity asks for 1." in low.stderr
    assert "--effort thorough" in low.stderr
    fine = CliRunner().invoke(app, ["explain", text, "--min-fidelity", "-5"])
    assert fine.exit_code == 0
    unknown = CliRunner().invoke(
        app, ["explain", text, "--method", "attention", "--min-fidelity", "0"]
    )
    assert unknown.exit_code == 3
    assert "unknown" in unknown.stderr


@pytest.mark.parametrize("r2", ["nan", "1.5"])
def test_a_fidelity_that_cannot_be_is_refused(r2):
    found = CliRunner().invoke(app, ["explain", TEXT, "--min-fidelity", r2])
    assert isinstance(found.exception, piste.PisteError)
    assert "--min-fidelity" in str(found.exception)


def test_a_text_that_was_asked_in_full_is_faithful():
    assert CliRunner().invoke(app, ["explain", "superb", "--min-fidelity", "1"]).exit_code == 0


def test_the_effort_is_contexts():
    found = CliRunner().invoke(app, ["explain", TEXT, "--effort", "quick", "--json", "-"])
    assert json.loads(found.stdout)["settings"]["effort"] == "quick"
    refused = CliRunner().invoke(app, ["explain", TEXT, "--effort", "quik"])
    assert isinstance(refused.exception, piste.PisteError)
    assert "Did you mean 'quick'" in str(refused.exception)


def test_a_terminal_of_few_letters_keeps_the_signs():
    command = [sys.executable, "-m", "piste", "explain", "The plot is thin."]
    plain = {"PYTHONIOENCODING": "cp1252"}
    found = subprocess.run(command, env=os.environ | plain, capture_output=True, check=True)
    said = found.stdout.decode("cp1252")
    assert re.search(r"is +-\d", said), said
    assert "?" not in said


@pytest.mark.parametrize("command", ["explain", "compare"])
def test_a_text_without_quotes(command):
    found = CliRunner().invoke(app, [command, "The", "plot", "is", "thin"])
    assert isinstance(found.exception, piste.PisteError)
    assert 'Put it in quotes: "The plot is thin"' in str(found.exception)


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        ("explain", "lime", "For a method: --method lime"),
        ("explain", "shap", "For a method: --method kernel-shap"),
        ("compare", "lime", "For a method: --methods lime"),
        ("explain", "my-org/my-model", "For a model: --model my-org/my-model"),
        ("explain", "A bad film.", 'For a second text: --pair "A bad film."'),
        ("explain", "\x1b[2J", "else name its option: --method"),
        ("explain", "", "else name its option: --method"),
    ],
)
def test_a_second_argument_wants_an_option(command, more, said):
    found = CliRunner().invoke(app, [command, "A good film.", more])
    assert isinstance(found.exception, piste.PisteError)
    assert said in str(found.exception)
    assert ("in quotes" in str(found.exception)) == ("else" in said)
    assert str(found.exception).isprintable()


def test_a_remedy_is_that_of_the_command_line(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"review": "good"}\n')
    found = run("run", str(path), "--out", str(tmp_path / "out"))
    assert found.returncode == 2
    assert b"--text-column review" in found.stderr
    assert b"Columns(" not in found.stderr


def test_units_of_ones_own_on_the_command_line(tmp_path):
    marked = "The [[plot is thin]], but [[the acting is superb]]."
    given = {
        "marks": ("explain", marked, "--marks", "--unit", "span"),
        "spans": (
            "explain",
            "The plot is thin, but the acting is superb.",
            "--spans",
            "4-16,22-42",
            "--unit",
            "span",
        ),
    }
    for name, arguments in given.items():
        out = tmp_path / f"{name}.json"
        result = run(*arguments, "--method", "occlusion", "--json", str(out), "--quiet")
        assert result.returncode == 0, result.stderr
        players = [player["text"] for player in json.loads(out.read_text())["players"]]
        assert players[1::2] == ["plot is thin", "the acting is superb"]
    overlapping = run("explain", TEXT, "--spans", "0-9,4-12")
    assert overlapping.returncode == 2
    assert b"which overlap" in overlapping.stderr
