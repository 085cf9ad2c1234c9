"""A model that its owner changes after loading is explained as it is now, whatever changed it."""

import numpy as np
import pytest
import torch

import piste
from tests.conftest import tiny_bert

TEXT = "the film was good and the plot not bad at all"


def _step(model, **settings):
    """One training step that shows in the answers."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, **settings)
    model.train()
    ids = torch.arange(4, 12)[None]
    model(input_ids=ids, labels=torch.tensor([1])).loss.backward()
    optimizer.step()
    model.eval()


def _hook(model):
    def flipped(module, inputs, output):
        return output.flip(-1)

    model.classifier.register_forward_hook(flipped)


def _numpy_view(model):
    model.classifier.weight.detach().numpy()[:] *= -3


def _data_copy(model):
    model.classifier.weight.data.copy_(-3 * model.classifier.weight.data)


def _embedding_data(model):
    weights = model.get_input_embeddings().weight.data
    weights.copy_(weights.flip(0, 1))


def _in_place(model):
    with torch.no_grad():
        model.classifier.bias += torch.tensor([0.0, 5.0])


def _load_state(model):
    model.load_state_dict(tiny_bert(model.config.vocab_size, seed=9).state_dict())


def _other_head(model):
    model.classifier = torch.nn.Linear(32, 2)


def _buffer(model):
    model.bert.embeddings.register_forward_hook(lambda module, inputs, output: output.flip(-1))


CHANGES = {
    "fused AdamW": lambda model: _step(model, fused=True),
    "foreach AdamW": lambda model: _step(model, foreach=True),
    "plain AdamW": lambda model: _step(model, foreach=False),
    "forward hook": _hook,
    "hook on embeddings": _buffer,
    "numpy view": _numpy_view,
    "data.copy_": _data_copy,
    "data.copy_ of embeddings": _embedding_data,
    "in place": _in_place,
    "load_state_dict": _load_state,
    "another head": _other_head,
}


@pytest.fixture
def model(wordpiece):
    return tiny_bert(len(wordpiece))


def answer_of_torch(model, tokenizer, text=TEXT):
    with torch.inference_mode():
        logits = model.eval()(**tokenizer(text, return_tensors="pt")).logits[0].double().numpy()
    return float(logits[1] - logits[0])


@pytest.mark.parametrize("kind", CHANGES)
def test_the_model_is_explained_as_it_is_now(kind, model, wordpiece):
    classifier = piste.load(model, wordpiece, backend="openvino")
    before = piste.explain(TEXT, classifier, "occlusion", target=1)
    assert not any("changed" in note for note in before.notes)
    CHANGES[kind](model)
    now = answer_of_torch(model, wordpiece)
    assert abs(now - before.target.score) > 0.01, "the change must show"
    after = piste.explain(TEXT, classifier, "occlusion", target=1)
    assert after.target.score == pytest.approx(now, abs=1e-3)
    told = any("changed" in note or "runs in torch" in note for note in after.notes)
    # A fresh graph may share the weights' memory, and be right without being compiled anew.
    assert told or classifier.recompilations == 0
    fresh = piste.explain(
        TEXT, piste.load(model, wordpiece, backend="torch"), "occlusion", target=1
    )
    np.testing.assert_allclose(after.scores["removal"], fresh.scores["removal"], atol=1e-3)
    again = piste.explain(TEXT, classifier, "occlusion", target=1)
    assert not any("changed" in note for note in again.notes)


def test_a_model_that_keeps_changing_ends_up_in_torch(model, wordpiece):
    classifier = piste.load(model, wordpiece, backend="openvino")
    for _ in range(5):
        _data_copy(model)
        explanation = piste.explain(TEXT, classifier, "occlusion", target=1)
        now = answer_of_torch(model, wordpiece)
        assert explanation.target.score == pytest.approx(now, rel=1e-4, abs=1e-2)
    assert classifier.backend.startswith("torch")
    assert any("again and again" in note for note in explanation.notes)


def test_predictions_are_of_the_model_as_it_is(model, wordpiece):
    classifier = piste.load(model, wordpiece, backend="openvino")
    _step(model, fused=True)
    probability = piste.predict([TEXT], classifier)[0, 1]
    expected = 1 / (1 + np.exp(-answer_of_torch(model, wordpiece)))
    assert probability == pytest.approx(expected, abs=1e-3)


def test_a_lexicon_is_of_the_model_as_it_is(model, wordpiece):
    """Its first question is about one word, which the change need not touch."""
    classifier = piste.load(model, wordpiece, backend="openvino")
    word = int(wordpiece("superb", add_special_tokens=False)["input_ids"][0])
    texts = ["the film was superb", "not bad at all"]
    model.get_input_embeddings().weight.data[word].mul_(-5)
    lexicon = piste.build_lexicon(texts, classifier)
    fresh = piste.build_lexicon(texts, piste.load(model, wordpiece, backend="torch"))
    np.testing.assert_allclose(lexicon.values, fresh.values, rtol=1e-2, atol=1e-2)


def test_a_model_of_piste_is_not_compared_again(model, wordpiece, tmp_path, monkeypatch):
    model.save_pretrained(tmp_path)
    wordpiece.save_pretrained(tmp_path)
    classifier = piste.load(tmp_path, backend="openvino")
    torch_answers = []
    kind = type(classifier.origin)
    monkeypatch.setattr(kind, "logits", lambda self, ids: torch_answers.append(ids))
    piste.explain(TEXT, classifier, "occlusion")
    assert torch_answers == []
