"""Half characters (lone surrogates) in ids, labels and texts: no row is lost for another's sake."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

import piste
from piste.cli import app
from piste.render import corpus, evaluation
from piste.runs import shards
from piste.runs.word_summary import summarise
from tests.planted import additive

ODD = "\ud800"
SHOWN = "\\ud800"
ROWS = [
    {"id": "a", "text": "the film was good", "label": "negative"},
    {"id": f"b{ODD}", "text": "a terrible film", "label": f"bad{ODD}"},
    {"id": "c", "text": f"half a {ODD} character", "label": "positive"},
    {"id": "d", "text": "great fun", "label": "positive"},
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.mark.parametrize("lexicon", [True, False], ids=["lexicon", "plain"])
def test_a_run_escapes_ids_and_labels_and_fails_one_text(tmp_path, demo, data, lexicon):
    report = piste.run(data, demo, tmp_path / "out", lexicon=lexicon)
    assert (report.texts, report.failed) == (4, 1)
    (texts,) = shards.read(tmp_path / "out", shards.TEXTS)
    assert texts["id"] == ["a", f"b{SHOWN}", "c", "d"]
    assert texts["label"][1] == f"bad{SHOWN}"
    assert "lone surrogate" in texts["error"][2]
    assert piste.run(data, demo, tmp_path / "out", lexicon=lexicon).made == 0
    summary = summarise(tmp_path / "out")
    assert summary.strange == (f"bad{SHOWN}",)
    corpus.show(summary, Console(file=io.StringIO()))
    summary.to_html(tmp_path / "page.html")


def test_a_pair_with_half_a_character_fails_alone(tmp_path, demo, data):
    data.write_text(
        '{"text": "good", "text_pair": "a film"}\n{"text": "bad", "text_pair": "\\udfff"}\n'
    )
    report = piste.run(data, demo, tmp_path / "out", method="occlusion")
    assert (report.texts, report.failed) == (2, 1)


def test_workers_send_them_too(tmp_path, data):
    report = piste.run(data, "demo", tmp_path / "out", method="occlusion", shard=2, workers=2)
    assert (report.texts, report.failed) == (4, 1)


def test_labels_and_errors_of_a_model_may_hold_them(tmp_path, data):
    def odd(texts):
        if any("fun" in text for text in texts):
            raise ValueError(f"no {ODD} here")
        return additive({"good": 1.0, "terrible": -1.0})(texts)

    classifier = piste.from_function(odd, [f"no{ODD}", "yes"], name=f"odd{ODD}")
    report = piste.run(data, classifier, tmp_path / "out", method="occlusion")
    assert (report.texts, report.failed) == (4, 2)
    (texts,) = shards.read(tmp_path / "out", shards.TEXTS)
    assert f"no{SHOWN}" in texts["target"]
    assert f"failed (ValueError: no {SHOWN} here)" in texts["error"][3]
    assert piste.run(data, classifier, tmp_path / "out", method="occlusion").made == 0


def test_a_lexicon_leaves_such_texts_out(tmp_path, demo):
    texts = [row["text"] for row in ROWS]
    lexicon = piste.build_lexicon(texts, demo, out=tmp_path / "lexicon.json.gz")
    assert lexicon.facts["texts"] == 3


def test_an_evaluation_keeps_and_writes_them(tmp_path, demo, data):
    out = tmp_path / "out"
    for _ in range(2):
        found = piste.evaluate(data, demo, ["occlusion"], ["deletion"], out=out)
        assert [row["id"] for row in found.rows] == [row["id"] for row in ROWS]
        assert [text for text, _, _ in found.failures()] == ["c"]
        evaluation.write(found, out)
        evaluation.show(found, Console(file=io.StringIO()))
        assert str(found)
    assert len((out / "rows.jsonl").read_text(encoding="utf-8").splitlines()) == 5  # one twice


@pytest.mark.parametrize(
    "command",
    [("run", "--method", "occlusion"), ("evaluate", "--methods", "occlusion")],
    ids=["run", "evaluate"],
)
def test_commands_say_which_text_failed(tmp_path, data, command):
    arguments = [command[0], str(data), "--out", str(tmp_path / "out"), *command[1:]]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "lone surrogate" in result.output.replace("\n", " ")
