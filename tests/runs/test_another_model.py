"""Another model under the same name is refused, however alike the two answer one sentence."""

import json

import numpy as np
import pytest
import torch

import piste
from piste.errors import SettingError
from piste.lexicon import Lexicon
from piste.runs.commits import COMMITS
from piste.runs.evaluate_text import PROBE
from tests.conftest import tiny_bert
from tests.models.test_onnx import Export, export
from tests.planted import additive
from tests.runs.test_resumed import TEXTS, tables, written

QUICK = {"methods": ["occlusion"], "metrics": ["deletion"]}


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data.jsonl")


def saved(folder, model, tokenizer):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def used(verb, data, classifier, out):
    if verb == "run":
        return piste.run(data, classifier, out, method="occlusion")
    return piste.evaluate(data, classifier, out=out, limit=3, **QUICK)


@pytest.mark.parametrize("verb", ["run", "evaluate"])
@pytest.mark.parametrize("change", ["weights", "tokenizer"])
def test_a_model_that_answers_the_probe_alike(tmp_path, data, wordpiece, verb, change):
    """A weight that one sentence does not touch, or a rule of the tokenizer, is changed."""
    model, out = tiny_bert(len(wordpiece)), tmp_path / "out"
    name = saved(tmp_path / "model", model, wordpiece)
    before = piste.load(name, backend="torch")
    used(verb, data, before, out)
    if change == "tokenizer":
        rules = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
        rules["normalizer"]["strip_accents"] = True
        (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(rules))
    else:
        word = next(i for i in range(len(wordpiece)) if i not in wordpiece(PROBE)["input_ids"])
        with torch.no_grad():
            model.bert.embeddings.word_embeddings.weight[word] += 1
        model.save_pretrained(name)
    after = piste.load(name, backend="torch")
    ids = np.array([wordpiece(PROBE)["input_ids"]])
    assert before.logits(ids) == pytest.approx(after.logits(ids))
    with pytest.raises(SettingError, match=rf"another model called .*: {change} "):
        used(verb, data, after, out)


@pytest.mark.parametrize("verb", ["run", "evaluate"])
def test_the_same_model_loaded_again_goes_on(tmp_path, data, wordpiece, verb):
    name = saved(tmp_path / "model", tiny_bert(len(wordpiece)), wordpiece)
    for backend in ("torch", "openvino", "torch"):
        used(verb, data, piste.load(name, backend=backend), tmp_path / "out")


@pytest.mark.parametrize("verb", ["run", "evaluate"])
def test_a_function_that_answers_the_probe_alike(tmp_path, data, verb):
    def made(weights):
        return piste.from_function(additive(weights), name="same")

    used(verb, data, made({"good": 1.0, "terrible": -1.0}), tmp_path / "out")
    used(verb, data, made({"good": 1.0, "terrible": -1.0}), tmp_path / "out")
    with pytest.raises(SettingError, match="another model called 'same': a text was answered"):
        used(verb, data, made({"good": 1.0, "terrible": -1.01}), tmp_path / "out")


def test_functions_are_known_by_the_texts_that_are_left(tmp_path, data):
    classifier = piste.from_function(additive({"good": 1.0}), name="same")
    other = piste.from_function(additive({"good": 1.0, "plot": 1.0}), name="same")
    used("run", data, classifier, tmp_path / "out")
    written(data, ["something else", *TEXTS[1:]])
    with pytest.raises(SettingError, match="another model"):
        used("run", data, other, tmp_path / "out")
    assert used("run", data, classifier, tmp_path / "out").failed == 0


def test_an_exported_model_is_known_by_its_graph(tmp_path, data, wordpiece):
    folder = tmp_path / "model"
    for seed in (0, 1):
        model = tiny_bert(len(wordpiece), seed)
        folder.mkdir(exist_ok=True)
        model.config.save_pretrained(folder)
        wordpiece.save_pretrained(folder)
        export(folder / "model.onnx", Export(model))
        loaded = piste.load(str(folder))
        if seed == 0:
            used("run", data, loaded, tmp_path / "out")
            used("run", data, piste.load(str(folder)), tmp_path / "out")
    with pytest.raises(SettingError, match=r"another model called .*weights"):
        used("run", data, loaded, tmp_path / "out")


def test_a_lexicon_of_another_model_is_refused_before_anything_is_made(tmp_path, data, wordpiece):
    one, other = (
        piste.load(tiny_bert(len(wordpiece), seed), wordpiece, backend="torch") for seed in (0, 1)
    )
    piste.build_lexicon(TEXTS, one, out=tmp_path / "lexicon.json")
    with pytest.raises(SettingError, match="another model"):
        piste.run(data, other, tmp_path / "out", lexicon=tmp_path / "lexicon.json", refine=0)
    assert not (tmp_path / "out").exists()


def test_a_lexicon_that_another_model_left_behind_is_not_used(tmp_path, data, wordpiece):
    """Killed after its lexicon was built, the folder is taken over by another model."""
    one, other = (
        piste.load(tiny_bert(len(wordpiece), seed), wordpiece, backend="torch") for seed in (0, 1)
    )
    piste.run(data, one, tmp_path / "out", lexicon=True, refine=0)
    for path in (tmp_path / "out").glob("*/*.parquet"):
        path.unlink()
    (tmp_path / "out" / COMMITS).write_text("")
    piste.run(data, other, tmp_path / "out", lexicon=True, refine=0)
    piste.run(data, other, tmp_path / "fresh", lexicon=True, refine=0)
    assert tables(tmp_path / "out") == tables(tmp_path / "fresh")


def test_answers_of_a_stopped_build_are_not_given_to_another_model(tmp_path, monkeypatch):
    def made(weights):
        return piste.from_function(additive(weights), name="same")

    one, other = made({"good": 1.0, "plot": -1.0}), made({"good": 1.0, "plot": -1.005})
    with monkeypatch.context() as patch:
        patch.setattr("piste.runs.lexicon.fitted", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            piste.build_lexicon(TEXTS, one, out=tmp_path / "lexicon.json")
    assert (tmp_path / "lexicon.json.answers").exists()
    built = piste.build_lexicon(TEXTS, other, out=tmp_path / "lexicon.json")
    assert (built.values == piste.build_lexicon(TEXTS, other).values).all()
    assert Lexicon.load(tmp_path / "lexicon.json").fingerprint == built.fingerprint


def test_an_older_lexicon_is_to_be_built_again(tmp_path, demo):
    piste.build_lexicon(TEXTS, demo, out=tmp_path / "lexicon.json")
    told = json.loads((tmp_path / "lexicon.json").read_text())
    del told["fingerprint"]
    (tmp_path / "lexicon.json").write_text(json.dumps(told | {"schema": 1, "answer": [0.0]}))
    with pytest.raises(piste.PisteError, match="build it again"):
        Lexicon.load(tmp_path / "lexicon.json")
