"""Names of outputs: each belongs to the output of its number, however the number is written."""

import numpy as np
import pytest

import piste
from piste.errors import ModelError
from tests.conftest import tiny_bert


def test_more_than_ten_labels_with_numbers_as_text(wordpiece):
    model = tiny_bert(len(wordpiece), num_labels=12)
    model.config.id2label = {str(index): f"L{index}" for index in range(12)}
    classifier = piste.load(model, wordpiece, backend="torch")
    assert classifier.labels == tuple(f"L{index}" for index in range(12))
    explanation = piste.explain("the film was good", classifier, "occlusion", target="L2")
    assert explanation.target.index == 2


def test_the_order_in_which_they_are_written_does_not_matter(wordpiece):
    model = tiny_bert(len(wordpiece), num_labels=3)
    model.config.id2label = {2: "c", "0": "a", 1: "b"}
    assert piste.load(model, wordpiece, backend="torch").labels == ("a", "b", "c")


@pytest.mark.parametrize(
    "names", [{1: "one", 2: "two"}, {"0": "a", "2": "c"}, {"x": "a", "y": "b"}]
)
def test_gaps_are_refused(names, wordpiece, tmp_path):
    model = tiny_bert(len(wordpiece))
    model.config.id2label = names
    with pytest.raises(ModelError, match=r"id2label has no name for output .* from 0 to 1"):
        piste.load(model, wordpiece)


def test_labels_of_a_folder_with_numbers_as_text(wordpiece, tmp_path):
    tiny_bert(len(wordpiece), num_labels=11).save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    classifier = piste.load(tmp_path, backend="torch")
    assert classifier.labels == tuple(f"LABEL_{index}" for index in range(11))
    assert len(classifier.logits(np.array([[2, 9, 3]]))[0]) == 11


def test_a_configuration_with_fewer_layers_than_the_weights_is_told(wordpiece, tmp_path):
    tiny_bert(len(wordpiece)).save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    config = tmp_path / "config.json"
    config.write_text(
        config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 1')
    )
    for backend in ("torch", "openvino"):
        explanation = piste.explain(
            "the film was good", piste.load(tmp_path, backend=backend), "occlusion"
        )
        assert any("bert.encoder.layer.1" in note for note in explanation.notes)
