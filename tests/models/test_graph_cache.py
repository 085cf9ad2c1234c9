"""Converted models on disk: what is no longer what was written is never used."""

import os

import numpy as np
import pytest
import torch
from transformers import LongformerConfig, LongformerForSequenceClassification

import piste
from piste.models.backends import compiled, graph_cache, openvino_runtime
from piste.models.backends.compiled import CompiledClassifier
from tests.conftest import tiny_bert

TEXT = "the film was good and the plot not bad at all"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path))
    return tmp_path / "compiled"


@pytest.fixture
def model(wordpiece):
    return tiny_bert(len(wordpiece))


def stored(cache):
    (folder,) = cache.iterdir()
    return folder


@pytest.fixture
def saved(model, wordpiece, tmp_path):
    """Only a model that piste reads from files is kept."""
    model.save_pretrained(tmp_path / "model")
    wordpiece.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def answers(folder, tokenizer, backend="openvino"):
    classifier = piste.load(folder, backend=backend)
    ids = np.arange(4, len(tokenizer))[:, None]  # every token: a damaged row would show
    return classifier.logits(np.hstack([np.full_like(ids, 2), ids, np.full_like(ids, 3)]))


@pytest.mark.parametrize("damage", ["graph", "weights", "one row", "cut", "no digest"])
def test_a_damaged_file_is_converted_anew(damage, model, saved, wordpiece, cache):
    expected = answers(saved, wordpiece, "torch")
    answers(saved, wordpiece)
    folder = stored(cache)
    weights = folder / graph_cache.WEIGHTS
    if damage == "graph":
        (folder / graph_cache.GRAPH).write_text("<not a model")
    elif damage == "weights":
        weights.write_bytes(b"\0" * weights.stat().st_size)
    elif damage == "one row":  # of a token that the comparison with torch does not ask about
        data = bytearray(weights.read_bytes())
        row = model.get_input_embeddings().weight[len(wordpiece) - 1].detach().numpy().tobytes()
        place = bytes(data).index(row)
        data[place : place + len(row)] = b"\0" * len(row)
        weights.write_bytes(data)
    elif damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-100])
    else:
        (folder / graph_cache.DIGEST).unlink()
    assert answers(saved, wordpiece) == pytest.approx(expected, abs=1e-4)
    assert graph_cache.read(stored(cache)) is not None  # mended


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_folder_that_others_can_write_is_not_used(saved, cache, caplog):
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    assert isinstance(piste.load(saved), CompiledClassifier)
    assert list(cache.iterdir()) == []
    assert "can be written by other users" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_our_folder_is_private(saved, cache):
    piste.load(saved)
    assert cache.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("write")])
def test_a_full_disk_is_no_obstacle(error, saved, cache, monkeypatch, caplog):
    def full(*_, **__):
        raise error

    monkeypatch.setattr(openvino_runtime.library(), "save_model", full)
    assert isinstance(piste.load(saved), CompiledClassifier)
    assert "Cannot keep the converted model" in caplog.text
    assert list(cache.iterdir()) == []


def test_a_graph_with_a_number_of_rows_baked_in_stays_in_torch(
    model, wordpiece, cache, monkeypatch
):
    right = compiled._infer

    def for_two_rows_only(network, ids, *mask):
        if len(ids) != 2:
            raise RuntimeError("shape mismatch")
        return right(network, ids, *mask)

    monkeypatch.setattr(compiled, "_infer", for_two_rows_only)
    classifier = piste.load(model, wordpiece)
    assert not isinstance(classifier, CompiledClassifier)
    assert "shape mismatch" in classifier.notice


def test_longformer_stays_in_torch(wordpiece, cache):
    """Its graph has the batch size of the example baked in."""
    torch.manual_seed(0)
    config = LongformerConfig(
        vocab_size=len(wordpiece), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=80, attention_window=8, pad_token_id=0,
        bos_token_id=2, eos_token_id=3, sep_token_id=3,
    )  # fmt: skip
    model = LongformerForSequenceClassification(config).eval()
    explanation = piste.explain(TEXT, piste.load(model, wordpiece), "occlusion")
    expected = piste.explain(TEXT, piste.load(model, wordpiece, backend="torch"), "occlusion")
    np.testing.assert_allclose(explanation.scores["removal"], expected.scores["removal"], atol=1e-4)


def test_a_graph_that_fails_later_hands_over_to_torch(model, wordpiece, cache, monkeypatch):
    classifier = piste.load(model, wordpiece)
    right = compiled._infer

    def fails_on_many(network, ids, *mask):
        if len(ids) > 3:
            raise RuntimeError("Exception from node.cpp:1\ncannot broadcast")
        return right(network, ids, *mask)

    monkeypatch.setattr(compiled, "_infer", fails_on_many)
    explanation = piste.explain(TEXT, classifier, "occlusion")
    expected = piste.explain(TEXT, piste.load(model, wordpiece, backend="torch"), "occlusion")
    np.testing.assert_allclose(explanation.scores["removal"], expected.scores["removal"], atol=1e-4)
    assert any("runs in torch" in note and "broadcast" in note for note in explanation.notes)
    assert explanation.backend.startswith("torch")


def test_memory_that_runs_out_is_not_a_reason_to_leave(model, wordpiece, cache, monkeypatch):
    classifier = piste.load(model, wordpiece)
    right = compiled._infer

    def small_batches_only(network, ids, *mask):
        if len(ids) > 2:
            raise RuntimeError("Cannot allocate memory")
        return right(network, ids, *mask)

    monkeypatch.setattr(compiled, "_infer", small_batches_only)
    explanation = piste.explain(TEXT, classifier, "occlusion")
    assert explanation.backend.startswith("openvino")
