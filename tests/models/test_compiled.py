"""The compiled twin gives the same answers, or torch does the work and says so."""

import numpy as np
import pytest
import torch

import piste
from piste.errors import ModelError
from piste.files import cache_directory
from piste.models.backends import compiled, openvino_runtime
from piste.models.backends.compiled import CompiledClassifier
from tests.conftest import tiny_bert, tiny_gpt2

TEXT = "the film was good and the plot not bad at all"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path))
    return tmp_path / "compiled"


def test_auto_compiles_on_a_cpu_and_agrees_with_torch(wordpiece, cache):
    model = tiny_bert(len(wordpiece))
    auto, plain = piste.load(model, wordpiece), piste.load(model, wordpiece, backend="torch")
    assert isinstance(auto, CompiledClassifier)
    assert auto.copy.difference < 1e-3
    for shape in ((1, 1), (3, 2), (50, 7), (2, 64)):
        ids = np.random.default_rng(0).integers(5, len(wordpiece), size=shape)
        assert auto.logits(ids) == pytest.approx(plain.logits(ids), abs=1e-4)
    assert (auto.name, auto.labels, auto.outputs) == (plain.name, plain.labels, plain.outputs)
    assert auto.encode(TEXT) == plain.encode(TEXT)


def test_a_decoder_compiles_too_and_reads_the_last_token(byte_level, cache):
    model = tiny_gpt2(len(byte_level))
    fast = piste.load(model, byte_level, backend="openvino")
    plain = piste.load(model, byte_level, backend="torch")
    ids = np.array([[5, 6, 7, 0], [9, 9, 9, 9]])
    assert fast.logits(ids) == pytest.approx(plain.logits(ids), abs=1e-4)
    assert model.config.pad_token_id is None


def test_a_model_of_a_folder_is_converted_once(wordpiece, cache, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    tiny_bert(len(wordpiece)).save_pretrained(folder)
    wordpiece.save_pretrained(folder)
    piste.load(folder)
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(compiled, "_convert", lambda *_: pytest.fail("converted again"))
    assert isinstance(piste.load(folder), CompiledClassifier)


def test_a_hooked_model_does_not_answer_for_the_plain_one(wordpiece, cache, tmp_path):
    """Hooks are traced into the graph, and the weights do not show them."""
    folder = tmp_path / "model"
    model = tiny_bert(len(wordpiece))
    model.save_pretrained(folder)
    wordpiece.save_pretrained(folder)
    hook = model.bert.embeddings.register_forward_hook(lambda module, inputs, out: out.flip(-1))
    piste.load(model, wordpiece)
    hook.remove()
    ids = np.array([[2, 9, 8, 3]])
    plain = piste.load(folder, backend="torch").logits(ids)
    assert piste.load(folder).logits(ids) == pytest.approx(plain, abs=1e-4)


def test_a_cached_graph_of_another_model_is_converted_anew(wordpiece, cache, tmp_path):
    folders = [tmp_path / "one", tmp_path / "other"]
    for seed, folder in enumerate(folders):
        tiny_bert(len(wordpiece), seed=seed).save_pretrained(folder)
        wordpiece.save_pretrained(folder)
        piste.load(folder)
    one, other = cache.iterdir()
    for file in one.iterdir():
        file.write_bytes((other / file.name).read_bytes())
    ids = np.array([[2, 9, 8, 3]])
    for folder in folders:
        classifier = piste.load(folder)
        assert isinstance(classifier, CompiledClassifier)
        expected = piste.load(folder, backend="torch").logits(ids)
        assert classifier.logits(ids) == pytest.approx(expected, abs=1e-4)


def test_other_weights_or_another_configuration_have_another_key(wordpiece):
    model = tiny_bert(len(wordpiece))
    before = compiled._digest(model)
    assert compiled._digest(tiny_bert(len(wordpiece))) == before
    with torch.no_grad():
        model.classifier.bias += 1e-3
    assert compiled._digest(model) != before
    assert compiled._digest(tiny_bert(len(wordpiece), layer_norm_eps=1e-3)) != before


def test_a_cache_that_cannot_be_written_is_no_obstacle(wordpiece, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("PISTE_CACHE", str(blocked))
    assert isinstance(piste.load(tiny_bert(len(wordpiece)), wordpiece), CompiledClassifier)


def test_a_model_that_differs_stays_in_torch_with_a_notice(wordpiece, cache, monkeypatch):
    right = compiled._infer
    monkeypatch.setattr(compiled, "_infer", lambda *given: right(*given) + 0.01)
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece)
    assert not isinstance(classifier, CompiledClassifier)
    assert "differ from torch's by 1.0e-02" in piste.explain(TEXT, classifier).notes[0]
    with pytest.raises(ModelError, match="differ from torch"):
        piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="openvino")


def test_a_model_that_does_not_convert_stays_in_torch(wordpiece, cache, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no such operation")

    monkeypatch.setattr(compiled, "_convert", refuse)
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece)
    assert "no such operation" in classifier.notice


def test_without_openvino_auto_is_torch_and_insisting_names_the_extra(wordpiece, monkeypatch):
    monkeypatch.setattr(openvino_runtime, "find_spec", lambda name: None)
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece)
    assert not isinstance(classifier, CompiledClassifier)
    assert classifier.notice == ""
    with pytest.raises(ModelError, match=r"piste\[fast\]"):
        piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="openvino")


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("PISTE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "piste"
