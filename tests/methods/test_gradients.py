"""Gradients against planted ones, torch by hand, and captum."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, Saliency

import piste
from piste.errors import SettingError
from piste.methods.gradients import Gradients
from piste.text.encoding import Encoding, Frame
from tests.conftest import tiny_bert

TEXT = "the film was good and the plot not bad at all"
FRAME = Frame((1,), (2, 3))
WIDTH = 4


@dataclass
class Planted:
    """Letters are tokens. The margin of class 1 is f(embeddings), whose gradient is known.

    `power` 1: f = sum over tokens t of W_t·e_t. More: f = sum of W_t·e_t^power.
    """

    power: int = 1
    offset: float = 0.0  # of the answer to embeddings against the answer to ids
    name: str = "planted"
    labels: tuple[str, ...] = ("no", "yes")
    outputs: str = "classes"
    backend: str = "numpy"

    def encode(self, text):
        where = [i for i, letter in enumerate(text) if letter != " "]
        ids = tuple(ord(text[i]) for i in where)
        return Encoding(text, ids, tuple((i, i + 1) for i in where), ids, FRAME)

    def embed(self, ids):
        table = np.random.default_rng(5).normal(size=(200, WIDTH))
        return table[ids]

    def weights(self, tokens):
        """Every position has its own [tokens, width]."""
        return np.random.default_rng(6).normal(size=(100, WIDTH))[:tokens]

    def margin(self, embeddings):
        return (self.weights(embeddings.shape[1]) * embeddings**self.power).sum(axis=(1, 2))

    def gradients(self, embeddings, index):
        weights = self.weights(embeddings.shape[1])
        found = weights * self.power * embeddings ** (self.power - 1)
        sign = 1 if index == 1 else -1
        return sign * (self.margin(embeddings) + self.offset), sign * found

    def logits(self, ids):
        margin = self.margin(self.embed(ids))
        return np.stack([np.zeros_like(margin), margin], axis=1)

    def token_id(self, name):
        return {"pad": 4, "unk": 5}.get(name)

    def show(self, ids):
        return "".join(f"<{i}>" if i < 10 else chr(i) for i in ids.tolist())


def planted_tokens(classifier, text):
    """Embeddings and weights of the text's own tokens, by hand: the frame is cut off."""
    ids = np.array([[1, *map(ord, text.replace(" ", "")), 2, 3]])
    embeddings = classifier.embed(ids)[0]
    return embeddings[1:-2], classifier.weights(len(embeddings))[1:-2]


def test_planted_gradients_are_summed_over_the_pieces_of_a_word():
    classifier = Planted()
    found = piste.explain("abc de f", classifier, Gradients(), target="yes")
    embeddings, weights = planted_tokens(classifier, "abc de f")
    tokens = {
        "grad-input": (weights * embeddings).sum(axis=1),
        "grad-avg": weights.mean(axis=1),
        "grad-l1": np.abs(weights).sum(axis=1),
        "grad-l2": np.sqrt((weights**2).sum(axis=1)),
    }
    assert found.primary == "grad-input"
    assert list(found.scores) == list(tokens)
    for name, scores in tokens.items():
        expected = [scores[:3].sum(), scores[3:5].sum(), scores[5]]
        assert found.scores[name] == pytest.approx(expected), name
    assert found.cost.forwards == 2  # the prediction and one gradient
    assert found.notes == ()


def test_repeats_share_their_mean_or_keep_their_own():
    text = "ab c ab"
    embeddings, weights = planted_tokens(Planted(), text)
    own = np.add.reduceat((weights * embeddings).sum(axis=1), [0, 2, 3])
    separate = piste.explain(text, Planted(), Gradients(), target="yes", repeats="separate")
    assert separate.scores["grad-input"] == pytest.approx(own)
    shared = piste.explain(text, Planted(), Gradients(), target="yes")
    mean = (own[0] + own[2]) / 2
    assert shared.scores["grad-input"] == pytest.approx([mean, own[1], mean])


@pytest.mark.parametrize("name", ["bert", "gpt2", "demo"])
def test_the_other_target_turns_signs_and_keeps_norms(name, request):
    classifier = request.getfixturevalue(name)
    zero, one = (piste.explain(TEXT, classifier, Gradients(), target=i).scores for i in (0, 1))
    assert zero["grad-input"] == pytest.approx(-one["grad-input"], rel=1e-4, abs=1e-6)
    assert zero["grad-l2"] == pytest.approx(one["grad-l2"], rel=1e-4)
    assert np.abs(one["grad-input"]).max() > 1e-3


def by_hand(classifier, text, index):
    """Embeddings and gradients [tokens, width] of log(p / (1 - p)), frame cut off."""
    inputs = classifier.tokenizer(text, return_tensors="pt")
    embedding = classifier.model.get_input_embeddings()
    given = embedding(inputs["input_ids"]).detach().requires_grad_()
    logits = classifier.model(inputs_embeds=given).logits
    p = logits.double().softmax(dim=1)[0, index]
    torch.log(p / (1 - p)).backward()
    classifier.model.zero_grad()
    start, size = len(classifier.encode(text).frame.prefix), len(classifier.encode(text).ids)
    return (
        array.double().detach().numpy()[0, start : start + size] for array in (given, given.grad)
    )


@pytest.mark.parametrize("name", ["bert", "gpt2", "three"])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_scores_are_those_of_torch_by_hand(name, index, wordpiece, request):
    if name == "three":
        model = tiny_bert(len(wordpiece), num_labels=3)
        classifier = piste.load(model, wordpiece, backend="torch")
    else:
        classifier, index = request.getfixturevalue(name), min(index, 1)
    embeddings, gradients = by_hand(classifier, TEXT, index)
    found = piste.explain(
        TEXT, classifier, Gradients(), target=index, unit="token", repeats="separate"
    ).scores
    size = np.abs(gradients).max()
    expected = (gradients * embeddings).sum(axis=1)
    assert found["grad-input"] == pytest.approx(expected, rel=1e-3, abs=1e-3 * size)
    assert found["grad-l1"] == pytest.approx(np.abs(gradients).sum(axis=1), rel=1e-3)
    assert found["grad-l2"] == pytest.approx(np.linalg.norm(gradients, axis=1), rel=1e-3)


@pytest.mark.parametrize("name", ["bert", "demo"])
def test_scores_are_those_of_captum(name, request):
    classifier = request.getfixturevalue(name)
    inputs = classifier.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    given = classifier.model.get_input_embeddings()(inputs).detach().requires_grad_()

    def margin(embeddings):
        logits = classifier.model(inputs_embeds=embeddings).logits
        return logits[:, 1] - logits[:, 0]

    found = piste.explain(
        TEXT, classifier, Gradients(), target=1, unit="token", repeats="separate"
    ).scores
    product = InputXGradient(margin).attribute(given).sum(dim=2)[0, 1:-1].detach().double().numpy()
    assert found["grad-input"] == pytest.approx(product, rel=1e-3, abs=1e-4)
    saliency = Saliency(margin).attribute(given).sum(dim=2)[0, 1:-1].detach().double().numpy()
    assert found["grad-l1"] == pytest.approx(saliency, rel=1e-3)


@pytest.mark.parametrize("name", ["bert", "gpt2", "demo"])
def test_behind_a_layer_norm_the_mean_gradient_is_nothing_and_told_so(name, request):
    found = piste.explain(TEXT, request.getfixturevalue(name), Gradients())
    assert (found.scores["grad-avg"] == 0).all()
    assert "layer norm" in found.notes[-1]


def test_a_model_that_reads_embeddings_otherwise_is_told():
    found = piste.explain("abc de", Planted(offset=0.5), Gradients())
    assert "instead of tokens" in found.notes[0]


def test_a_function_has_no_gradients():
    classifier = piste.from_function(lambda texts: [0.0 for _ in texts])
    with pytest.raises(SettingError, match=r"gradients.*piste\.load"):
        piste.explain(TEXT, classifier, Gradients())


@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize("text", ["a", "good", "good good", "🎉 é [SEP] good", "x" * 400])
def test_any_text_has_a_score_for_every_player(bert, text, unit):
    found = piste.explain(text, bert, Gradients(), unit=unit)
    for scores in found.scores.values():
        assert scores.shape == (len(found.players),)
        assert np.isfinite(scores).all()
