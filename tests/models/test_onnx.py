"""Folders with an ONNX graph in place of weights, exported here from a tiny BERT."""

import inspect
import shutil
import sys
import warnings

import numpy as np
import pytest
import torch

import piste
from piste.errors import ModelError, SettingError
from piste.models.backends import openvino_runtime
from piste.models.backends.onnx import onnx_file
from tests.conftest import tiny_bert

TEXT = "the film was good, the acting superb"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Export(torch.nn.Module):
    def __init__(self, model, shape=lambda logits: logits):
        super().__init__()
        self.model, self.shape = model, shape

    def forward(self, input_ids, attention_mask, token_type_ids):
        kinds = {"token_type_ids": token_type_ids}
        answer = self.model(input_ids=input_ids, attention_mask=attention_mask, **kinds)
        return self.shape(answer.logits)


def export(path, module, inputs=INPUTS, output="logits"):
    pytest.importorskip("onnx")
    ids = torch.ones((2, 5), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in inputs}
    knows = "dynamo" in inspect.signature(torch.onnx.export).parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing warns of every branch
        torch.onnx.export(
            module, (ids,) * len(inputs), str(path), input_names=list(inputs),
            output_names=[output], dynamic_axes=axes, **({"dynamo": False} if knows else {}),
        )  # fmt: skip


@pytest.fixture(scope="module")
def model(wordpiece):
    names = {0: "no", 1: "yes", 2: "maybe"}
    return tiny_bert(len(wordpiece), id2label=names, label2id={v: k for k, v in names.items()})


@pytest.fixture(scope="module")
def exported(tmp_path_factory, model, wordpiece):
    folder = tmp_path_factory.mktemp("exported")
    model.config.save_pretrained(folder)
    wordpiece.save_pretrained(folder)
    export(folder / "model.onnx", Export(model))
    return folder


@pytest.fixture(scope="module")
def classifier(exported):
    return piste.load(exported)


def framed(classifier, text):
    encoding = classifier.encode(text)
    return np.array([[*encoding.frame.prefix, *encoding.ids, *encoding.frame.suffix]])


def test_logits_are_those_of_the_torch_model(classifier, model, wordpiece):
    in_torch = piste.load(model, wordpiece, backend="torch")
    for text in ("good", TEXT, "bad plot " * 20):
        ids = framed(in_torch, text)
        assert (ids == framed(classifier, text)).all()
        assert classifier.logits(ids) == pytest.approx(in_torch.logits(ids), abs=1e-4)
    batch = np.random.default_rng(0).integers(5, 60, (7, 9))
    batch[:, 5:] += 2**32  # the second text of a pair
    assert classifier.logits(batch) == pytest.approx(in_torch.logits(batch), abs=1e-4)
    assert classifier.labels == in_torch.labels == ("no", "yes", "maybe")
    assert classifier.reader.limit == in_torch.limit == 64
    assert classifier.token_id("mask") == in_torch.token_id("mask")
    assert classifier.outputs == "classes"


def test_a_folder_is_explained_like_any_model(classifier, model, wordpiece):
    found = piste.explain(TEXT, classifier, "occlusion", target="yes")
    same = piste.explain(
        TEXT, piste.load(model, wordpiece, backend="torch"), "occlusion", target="yes"
    )
    assert found.scores["removal"] == pytest.approx(same.scores["removal"], abs=1e-4)
    assert "openvino" in found.backend
    with pytest.raises(SettingError, match="gradients"):
        piste.explain(TEXT, classifier, "gradients")


@pytest.mark.parametrize("place", ["onnx/model.onnx", "other.onnx"])
def test_the_file_may_have_another_place(place, exported, tmp_path):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / "model.onnx").rename(tmp_path / place)
    assert onnx_file(tmp_path) == tmp_path / place
    assert piste.load(tmp_path).labels == ("no", "yes", "maybe")


def test_which_of_several_files_is_not_guessed(exported, tmp_path):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    shutil.copy(tmp_path / "model.onnx", tmp_path / "model_int8.onnx")
    assert onnx_file(tmp_path) == tmp_path / "model.onnx"
    (tmp_path / "model.onnx").rename(tmp_path / "model_fp16.onnx")
    with pytest.raises(ModelError, match="2 ONNX files"):
        piste.load(tmp_path)


def test_torch_weights_go_first(exported, model, tmp_path):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    model.save_pretrained(tmp_path)
    assert onnx_file(tmp_path) is None
    assert "torch" in piste.load(tmp_path, backend="torch").backend


def test_a_folder_without_a_configuration_has_numbered_labels(exported, tmp_path):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    (tmp_path / "config.json").unlink()
    found = piste.explain(TEXT, piste.load(tmp_path), "occlusion")
    assert found.target.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert any("config.json" in note for note in found.notes)


def test_what_does_not_run_is_said(exported, tmp_path, monkeypatch):
    for settings in ({"backend": "torch"}, {"device": "cuda"}):
        with pytest.raises(ModelError, match="OpenVINO on the CPU"):
            piste.load(exported, **settings)
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    (tmp_path / "model.onnx").write_bytes((exported / "model.onnx").read_bytes()[:2000])
    with pytest.raises(ModelError, match="OpenVINO cannot use"):
        piste.load(tmp_path)
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.setattr(openvino_runtime, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="not installed") as error:
        piste.load(exported)
    assert "piste[fast]" in str(error.value)


@pytest.mark.parametrize(
    ("inputs", "shape", "labels", "message"),
    [
        (("input_ids", "attention_mask", "bbox"), lambda x: x, 3, "'bbox'"),
        (INPUTS, lambda x: x[:, None, :].expand(-1, 4, -1), 3, "shape"),
        (INPUTS, lambda x: x, 5, "3 outputs, its config.json 5 labels"),
    ],
)
def test_what_is_no_text_classifier_is_refused(
    inputs, shape, labels, message, exported, model, tmp_path
):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    export(tmp_path / "model.onnx", Export(model, shape), inputs)
    if labels != 3:
        tiny_bert(120, num_labels=labels).config.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=message):
        piste.load(tmp_path)


def test_the_only_table_is_taken_for_the_logits(exported, model, classifier, tmp_path):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    export(tmp_path / "model.onnx", Export(model), output="scores")
    ids = framed(classifier, TEXT)
    assert piste.load(tmp_path).logits(ids) == pytest.approx(classifier.logits(ids), abs=1e-5)
