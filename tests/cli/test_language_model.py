"""`piste explain --labels --prompt` without an endpoint: a language model that runs here."""

import json

import pytest

from tests.cli.test_cli import run
from tests.models.test_language_model import tiny_causal


@pytest.fixture(scope="module")
def folder(tmp_path_factory, byte_level):
    folder = tmp_path_factory.mktemp("model")
    tiny_causal(len(byte_level)).save_pretrained(folder)
    byte_level.save_pretrained(folder)
    (folder / "prompt.txt").write_text("the film: {text}\nit is:\n")
    return folder


def test_a_folder_a_prompt_and_labels_make_a_classifier(folder):
    found = run(
        "explain", "the plot was not bad", "--model", str(folder), "--labels", "good,bad",
        "--prompt", str(folder / "prompt.txt"), "--json", "-", "--budget", "60",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["target"]["labels"] == ["good", "bad"]
    assert [player["text"] for player in told["players"]] == ["the", "plot", "was", "not", "bad"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--labels", "good,bad"], "needs label words and a prompt"),
        (["--prompt", "prompt.txt"], "needs label words and a prompt"),
        (["--endpoint", "http://localhost/v1"], "needs label words and a prompt"),
        (["--labels", "good,bad", "--prompt", "prompt.txt"], "embedded model cannot"),
    ],
)
def test_half_a_question_is_refused(options, message):
    found = run("explain", "the plot", *options)
    assert found.returncode == 2
    assert message in found.stderr.decode()
