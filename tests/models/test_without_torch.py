"""A second start imports neither torch nor transformers, and gives up nothing."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import piste
from piste.errors import ModelError
from piste.models.backends import facts, stored
from piste.models.backends.compiled import CompiledClassifier
from piste.models.backends.stored import LazyOrigin
from piste.models.fingerprint import fingerprint
from tests.conftest import tiny_bert
from tests.models.test_onnx import Export, export

TEXT = "the film was good and the plot not bad at all"
HEAVY = ("torch", "transformers")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def saved(wordpiece, tmp_path):
    folder = tmp_path / "model"
    tiny_bert(len(wordpiece)).save_pretrained(folder)
    wordpiece.save_pretrained(folder)
    return folder


def imported(program, *arguments):
    """What a fresh interpreter prints, and which heavy libraries it has imported by its end."""
    ending = f"\nimport sys, json\nprint(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    command = [sys.executable, "-c", program + ending, *map(str, arguments)]
    answer = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=True, env=os.environ
    )
    *printed, last = answer.stdout.splitlines()
    return printed, json.loads(last)


COMMAND = """
import sys
from piste.cli import app
app(["explain", sys.argv[1], "--model", sys.argv[2]], standalone_mode=False)
"""


def test_the_embedded_model_starts_without_torch_from_the_first_time(cache):
    printed, heavy = imported(COMMAND, "A superb film.", "demo")
    assert "positive" in printed[0]
    assert heavy == []


def test_a_folder_starts_without_torch_from_the_second_time(saved, cache):
    first, heavy = imported(COMMAND, TEXT, saved)
    assert heavy == list(HEAVY)
    second, heavy = imported(COMMAND, TEXT, saved)
    assert heavy == []
    assert second[0] == first[0]


PYTHON = """
import sys, piste
classifier = piste.load(sys.argv[1])
explanation = piste.explain(sys.argv[2], classifier)
assert not {"torch", "transformers"} & set(sys.modules)
assert "torch" in explanation.versions
explanation = piste.explain(sys.argv[2], classifier, "gradients")
assert "torch" in sys.modules
for method in ("integrated-gradients", "attention", "rollout", "occlusion"):
    piste.explain(sys.argv[2], classifier, method)
print(classifier.backend)
"""


@pytest.mark.parametrize("model", ["demo", "a folder"])
def test_what_needs_torch_works_afterwards_with_the_same_classifier(model, saved, cache):
    if model != "demo":
        piste.load(saved)
    printed, heavy = imported(PYTHON, saved if model != "demo" else model, TEXT)
    assert printed[-1].startswith("openvino")
    assert heavy == list(HEAVY)


OTHERS = """
import sys, piste
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
texts = ["good film", "bad film", "good plot", "bad plot"]
for model in (
    piste.from_function(lambda texts: [float(len(text)) for text in texts]),
    make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0, 1, 0]),
):
    piste.explain("a good film with a bad plot", model)
piste.from_endpoint("http://localhost:9/v1", ("a", "b"), "Which? {text}", model="m")
"""


def test_functions_estimators_and_endpoints_never_import_torch(cache):
    assert imported(OTHERS)[1] == []


RUN = """
import sys, piste
from pathlib import Path
data = Path(sys.argv[2]) / "texts.jsonl"
data.write_text('{"text": "a good film"}\\n{"text": "a bad plot"}\\n')
piste.run(data, sys.argv[1], Path(sys.argv[2]) / "out", method="occlusion")
"""


def test_a_run_with_the_embedded_model_does_not_import_torch(cache, tmp_path):
    assert imported(RUN, "demo", tmp_path)[1] == []


SERVE = """
import piste
from tests.web.servers import client
with client({"demo": piste.load()}) as api:
    assert api.get("/").status_code == 200
    asked = {"text": "A superb film.", "model": "demo"}
    assert api.post("/api/explain", json=asked).status_code == 200
"""


def test_the_page_and_the_api_do_not_import_torch(cache):
    assert imported(SERVE)[1] == []


def test_an_onnx_folder_starts_without_transformers_from_the_second_time(
    wordpiece, cache, tmp_path
):
    model = tiny_bert(len(wordpiece))
    model.config.save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    export(tmp_path / "model.onnx", Export(model))
    before = piste.load(tmp_path)
    assert imported(COMMAND, TEXT, tmp_path)[1] == []
    again = piste.load(tmp_path)
    assert again.encode(TEXT) == before.encode(TEXT)
    assert (again.labels, again.outputs) == (before.labels, before.outputs)
    assert fingerprint(again, []) == fingerprint(before, [])


def test_a_start_without_torch_gives_what_a_full_load_gives(saved, cache):
    full, lazy = piste.load(saved), piste.load(saved)
    assert isinstance(lazy.origin, LazyOrigin)
    for text, pair in ((TEXT, None), (TEXT, "the plot"), ("word " * 200, None)):
        assert lazy.encode(text, pair) == full.encode(text, pair)
    ids = np.array([[2, 9, 8, 3], [2, 8, 9, 3]])
    assert lazy.logits(ids) == pytest.approx(full.logits(ids), abs=1e-5)
    assert (lazy.name, lazy.labels, lazy.outputs) == (full.name, full.labels, full.outputs)
    assert lazy.token_id("mask") == full.token_id("mask")
    assert lazy.show(ids[0]) == full.show(ids[0])
    assert lazy.backend == full.backend
    assert fingerprint(lazy, []) == fingerprint(full, [])
    assert lazy.origin.loaded is None


def test_torch_is_loaded_where_it_was_clearly_faster(saved, cache, monkeypatch):
    piste.load(saved)
    assert isinstance(piste.load(saved).origin, LazyOrigin)
    monkeypatch.setattr("piste.models.backends.speed.CLEARLY", 0.0)
    chosen = piste.load(saved)
    assert (chosen.copy, isinstance(chosen.origin, LazyOrigin)) == (None, False)
    assert chosen.backend.startswith("torch")
    insisted = piste.load(saved, backend="openvino")
    assert isinstance(insisted.origin, LazyOrigin)
    assert insisted.copy is not None


def test_on_another_machine_both_are_measured_again(saved, cache, monkeypatch):
    piste.load(saved)
    monkeypatch.setenv("PISTE_THREADS", "1")
    assert not isinstance(piste.load(saved).origin, LazyOrigin)
    assert isinstance(piste.load(saved).origin, LazyOrigin)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_file_that_changed_is_noticed(name, saved, cache, wordpiece):
    piste.load(saved)
    lazy = piste.load(saved)
    assert isinstance(lazy.origin, LazyOrigin)
    if name == "model.safetensors":
        tiny_bert(len(wordpiece), seed=1).save_pretrained(saved)
    else:
        (saved / name).write_text((saved / name).read_text() + "\n")
    after = piste.load(saved)
    assert not isinstance(after.origin, LazyOrigin)  # loaded in full
    ids = np.array([[2, 9, 8, 3]])
    expected = piste.load(saved, backend="torch").logits(ids)
    assert after.logits(ids) == pytest.approx(expected, abs=1e-4)
    with pytest.raises(ModelError, match="changed after it was loaded"):
        piste.explain(TEXT, lazy, "gradients")  # torch would read other files than were compiled


@pytest.mark.parametrize("name", [facts.FACTS, facts.RULES])
def test_damaged_facts_are_not_used(name, saved, cache):
    piste.load(saved)
    (folder,) = (cache / facts.PLACE).iterdir()
    file = folder / name
    file.write_text(file.read_text().replace("good", "evil").replace("LABEL_0", "LABEL_9"))
    assert isinstance(piste.load(saved), CompiledClassifier)
    assert piste.load(saved).labels == ("LABEL_0", "LABEL_1")
    assert isinstance(piste.load(saved).origin, LazyOrigin)  # mended


def test_the_shipped_graph_is_of_the_embedded_model(demo, cache):
    lazy = stored.start(stored.find("demo"), choose=True)
    assert isinstance(lazy.origin, LazyOrigin)
    for text in ("A superb film.", "Dull, but not bad.", "word " * 600):
        assert lazy.encode(text) == demo.encode(text)
        encoding = demo.encode(text)
        ids = np.array([[*encoding.frame.prefix, *encoding.ids[:500], *encoding.frame.suffix]])
        assert lazy.logits(ids) == pytest.approx(demo.logits(ids), abs=1e-4)
    assert (lazy.labels, lazy.outputs) == (demo.labels, demo.outputs)
    assert lazy.origin.facts.limit == demo.limit
    assert fingerprint(lazy, [])["weights"] == fingerprint(demo, [])["weights"]


def test_a_model_of_the_hub_starts_without_torch(saved, cache, tmp_path, monkeypatch):
    commit = "0" * 40
    home = tmp_path / "hub"
    place = home / "hub" / "models--my-org--my-model"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    (place / "snapshots").mkdir()
    saved.rename(place / "snapshots" / commit)
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert imported(COMMAND, TEXT, "my-org/my-model")[1] == list(HEAVY)
    assert imported(COMMAND, TEXT, "my-org/my-model")[1] == []


class Graph:
    """Answers [rows, 1] to ids and mask: `wrong` where it sees padding, else 1."""

    inputs = ("input_ids", "attention_mask")

    def __init__(self, wrong):
        self.wrong = wrong

    def __call__(self, given):
        _, mask = given
        return np.where(mask.all(axis=1), 1.0, self.wrong)[:, None]


@pytest.mark.parametrize(
    ("wrong", "limit", "told", "serves"),
    [
        (1.0, 64, 1.0, True),
        (1.1, 64, 1.0, False),
        (1.1, 0, 1.0, True),  # it is never padded
        (1.0, 64, 1.1, False),
        (1.0, 64, np.nan, False),
    ],
)
def test_a_kept_graph_serves_only_with_the_answers_that_torch_gave(wrong, limit, told, serves):
    probes = [[[[5] * 19], [[told]]], [[[5] * 3], [[1.0]]]]
    known = {"digest": "d", "difference": 0.0, "limit": limit, "probes": probes}
    assert (stored._checked(Graph(wrong), known) is not None) == serves
