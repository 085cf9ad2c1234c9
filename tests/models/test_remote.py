"""An endpoint on loopback that speaks the API, well and badly."""

import math
import threading
import time

import numpy as np
import pytest

import piste
from piste.errors import OutputError, SettingError
from piste.models.backends.label_tokens import label_scores, top_tokens
from piste.models.backends.transport import TransientError
from tests.endpoint import Handler
from tests.models.conftest import LABELS, PROMPT


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_remote_model_is_explained(connect, server, api):
    text = "A superb film with a dull end."
    found = piste.explain(text, connect(api=api), "occlusion", target="positive")
    scores = {p.text: s for p, s in zip(found.players, found.scores["removal"], strict=True)}
    assert scores["superb"] == pytest.approx(2.0, abs=1e-6)
    assert scores["dull"] == pytest.approx(-1.5, abs=1e-6)
    assert found.backend == f"{api} endpoint"


def test_questions_go_side_by_side(connect, server):
    """The server answers only when three are there at once."""
    server.meeting = threading.Barrier(3)
    found = connect(concurrency=3, retries=0).function(["superb", "dull", "film"])
    assert found.shape == (3, 2)


def test_nothing_is_paid_twice_even_by_another_process(connect, server):
    first = piste.explain("A superb film.", connect(), "occlusion")
    asked = len(server.seen)
    assert asked == first.cost.forwards  # nor within an explanation
    again = piste.explain("A superb film.", connect(), "occlusion")
    assert len(server.seen) == asked
    assert np.array_equal(first.scores["removal"], again.scores["removal"])


def test_an_endpoint_that_stays_down_is_an_error_and_keeps_what_it_said(connect, server):
    classifier = connect(retries=1, concurrency=1)
    piste.explain("superb film", classifier, "occlusion")
    kept = len(server.seen)
    server.faults = ["500"] * 50
    with pytest.raises(OutputError, match=r"status 500 \(2 tries\)"):
        piste.explain("superb film now", classifier, "occlusion")
    server.faults = []
    piste.explain("superb film", classifier, "occlusion")
    assert len(server.seen) <= kept + 50


def test_a_refusal_is_said_at_once_and_the_key_is_never_shown(connect, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key-123")
    server.faults = ["401"]
    classifier = connect(concurrency=1)
    with pytest.raises(OutputError, match="Set OPENAI_API_KEY") as caught:
        piste.explain("superb", classifier, "occlusion")
    assert "secret" not in str(caught.value)
    found = piste.explain("superb", classifier, "occlusion")
    assert server.keys == {"Bearer secret-key-123"}
    assert "secret" not in found.to_json() + repr(classifier)
    assert b"secret" not in classifier.function.cache.path.read_bytes()


def test_the_rate_is_kept(connect, server):
    classifier = connect(rate=50.0)
    started = time.monotonic()
    classifier.function([f"superb {n}" for n in range(10)])
    assert time.monotonic() - started >= 9 / 50


def test_label_words_by_hand():
    tokens = {" Pos": math.log(0.5), "positive": math.log(0.2), "neg": math.log(0.1), "x": -5.0}
    scores, missing = label_scores(tokens, LABELS)
    assert scores == pytest.approx([math.log(0.7), math.log(0.1)])
    assert missing == 0
    scores, missing = label_scores({"pos": math.log(0.6), "x": math.log(0.3)}, LABELS)
    assert missing == 1
    assert scores[1] == pytest.approx(math.log(0.1))  # what the listed tokens leave
    _, missing = label_scores({"p": math.log(0.9)}, ("plus", "positive"))
    assert missing == 2


def test_missing_labels_are_said(connect, server, monkeypatch):
    content = [{"top_logprobs": [{"token": "pos", "logprob": -1}]}]
    answer = {"choices": [{"logprobs": {"content": content}}]}
    monkeypatch.setattr(Handler, "told", lambda self, body: answer)
    found = piste.explain("a film", connect(), "occlusion")
    assert "a label was not among the 20 likeliest" in " ".join(found.notes)


@pytest.mark.parametrize("answer", [None, [], {"choices": [{}]}, {"choices": [{"logprobs": None}]}])
def test_answers_of_another_form_may_pass(answer):
    with pytest.raises(TransientError):
        top_tokens(answer, "chat")


@pytest.mark.parametrize(
    "change", [{"url": "ftp://x"}, {"labels": ("a",)}, {"labels": ("a", "A ")}, {"api": "soap"},
               {"prompt": "no place"}, {"concurrency": 0}, {"rate": -1}, {"concurency": 2}],
)  # fmt: skip
def test_settings_that_cannot_work(change):
    settings = {"url": "http://127.0.0.1:1/v1", "labels": LABELS, "prompt": PROMPT} | change
    with pytest.raises(SettingError):
        piste.from_endpoint(**settings)


def test_the_command_line_asks_an_endpoint(server, tmp_path, monkeypatch):
    import os
    import subprocess
    import sys

    (tmp_path / "prompt.txt").write_text(PROMPT)
    command = [sys.executable, "-m", "piste", "explain", "A superb film.", "--method", "occlusion"]
    environment = os.environ | {"PISTE_CACHE": str(tmp_path), "COLUMNS": "100"}
    remote = ["--endpoint", server.url, "--labels", "positive,negative"]
    asked = [*command, *remote, "--prompt", str(tmp_path / "prompt.txt")]
    found = subprocess.run(asked, capture_output=True, env=environment, check=False)
    assert found.returncode == 0, found.stderr
    assert "+2.00" in found.stdout.decode()
    lacking = subprocess.run([*command, *remote], capture_output=True, env=environment, check=False)
    assert b"--prompt FILE" in lacking.stderr
    assert lacking.returncode == 2
