"""Attention and rollout: planted weights, the model's own by hand, the product by brute force."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import piste
from piste.errors import SettingError
from piste.methods.attention import Attention
from piste.methods.rollout import Rollout
from tests.methods.test_gradients import TEXT, Planted

LAYERS, HEADS = 3, 2
METHODS = [Attention(), Rollout()]


@dataclass
class Looking(Planted):
    """Random attention, the same for any text; the answer is read at `position`."""

    position: int = 0

    def attentions(self, ids):
        rows, tokens = ids.shape
        drawn = np.random.default_rng(8).random((LAYERS, 1, HEADS, tokens, tokens))
        weights = drawn / drawn.sum(axis=-1, keepdims=True)
        return np.tile(weights, (1, rows, 1, 1, 1)), self.position


def words(tokens):
    """Sums over the letters of "abc de f", between one token before and two after."""
    return np.add.reduceat(tokens[1:-2], [0, 3, 5])


def planted(tokens=9):
    return Looking().attentions(np.zeros((1, tokens), dtype=np.int64))[0][:, 0]


@pytest.mark.parametrize("layer", [0, 1, -1])
@pytest.mark.parametrize("position", [0, 4])
def test_planted_weights_are_summed_over_the_pieces_of_a_word(layer, position):
    found = piste.explain("abc de f", Looking(position=position), Attention(layer))
    heads = planted()[layer][:, position]
    assert found.primary == "alpha-avg"
    assert found.scores["alpha-avg"] == pytest.approx(words(heads.mean(axis=0)))
    assert found.scores["alpha-max"] == pytest.approx(words(heads.max(axis=0)))
    assert found.frame_share == pytest.approx(heads.mean(axis=0)[[0, -2, -1]].sum())
    assert found.cost.forwards == 2


@pytest.mark.parametrize("position", [0, 4])
def test_rollout_is_the_product_of_all_layers(position):
    found = piste.explain("abc de f", Looking(position=position), Rollout())
    product = np.eye(9)
    for layer in planted():
        product = (0.5 * layer.mean(axis=0) + 0.5 * np.eye(9)) @ product
    assert found.scores["rollout"] == pytest.approx(words(product[position]))
    assert found.frame_share == pytest.approx(product[position][[0, -2, -1]].sum())


def by_hand(classifier, text):
    """The weights [layers, heads, tokens, tokens] of a copy that is loaded for telling them."""
    plain = type(classifier.model)(classifier.model.config).eval()
    plain.load_state_dict(classifier.model.state_dict())
    kind = classifier.model.config._attn_implementation
    plain.set_attn_implementation("eager")
    inputs = classifier.tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        layers = plain(input_ids=inputs, output_attentions=True).attentions
    classifier.model.set_attn_implementation(kind)  # both share one configuration
    return torch.stack(layers)[:, 0].double().numpy()


@pytest.mark.parametrize("name", ["bert", "demo", "gpt2"])
def test_scores_are_those_of_the_model_by_hand(name, request):
    classifier = request.getfixturevalue(name)
    weights = by_hand(classifier, TEXT)
    position, inner = (-1, slice(None)) if name == "gpt2" else (0, slice(1, -1))
    settings = {"unit": "token", "repeats": "separate"}
    found = piste.explain(TEXT, classifier, Attention(), **settings).scores
    row = weights[-1][:, position, inner]
    assert found["alpha-avg"] == pytest.approx(row.mean(axis=0), abs=1e-5)
    assert found["alpha-max"] == pytest.approx(row.max(axis=0), abs=1e-5)
    mixed = 0.5 * weights.mean(axis=1) + 0.5 * np.eye(weights.shape[-1])
    product = np.linalg.multi_dot(mixed[::-1])[position, inner]
    found = piste.explain(TEXT, classifier, Rollout(), **settings).scores
    assert found["rollout"] == pytest.approx(product, abs=1e-5)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("name", ["bert", "demo", "compiled_demo", "gpt2", "bert_on_sentencepiece"])
@pytest.mark.parametrize("repeats", ["shared", "separate"])
def test_words_and_frame_have_all_of_the_attention(name, method, repeats, request):
    found = piste.explain(TEXT, request.getfixturevalue(name), method, repeats=repeats)
    total = found.scores[found.primary].sum() + (found.frame_share or 0.0)
    assert total == pytest.approx(1, abs=1e-5)
    assert (found.frame_share is None) == (name == "gpt2")
    assert all((scores >= 0).all() for scores in found.scores.values())
    assert "no sign" in found.notes[-1]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_attention_is_the_same_for_every_target(bert, method):
    zero, one = (piste.explain(TEXT, bert, method, target=index).scores for index in (0, 1))
    for name, scores in zero.items():
        assert (scores == one[name]).all()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_batch_size_and_backend_change_nothing(demo, compiled_demo, method):
    reference = piste.explain(TEXT, demo, method).scores
    for classifier, batch_tokens in ((demo, 1), (compiled_demo, 8192)):
        other = piste.explain(TEXT, classifier, method, batch_tokens=batch_tokens).scores
        for name, scores in reference.items():
            assert other[name] == pytest.approx(scores, abs=1e-6)


def test_a_layer_that_is_not_there(bert):
    with pytest.raises(SettingError, match="0 to 1"):
        piste.explain(TEXT, bert, Attention(2))
    with pytest.raises(SettingError, match="0 to 1"):
        piste.explain(TEXT, bert, Attention(-3))


@pytest.mark.parametrize("layer", ["last", 1.0, None, True])
def test_layers_that_make_no_sense(layer):
    with pytest.raises(SettingError, match="whole number"):
        Attention(layer)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_function_has_no_attention(method):
    classifier = piste.from_function(lambda texts: [0.0 for _ in texts])
    with pytest.raises(SettingError, match=r"attention.*piste\.load"):
        piste.explain(TEXT, classifier, method)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize("text", ["a", "good good", "🎉 é [SEP] good", "x" * 400])
def test_any_text_has_a_score_for_every_player(bert, method, text, unit):
    found = piste.explain(text, bert, method, unit=unit)
    for scores in found.scores.values():
        assert scores.shape == (len(found.players),)
        assert np.isfinite(scores).all()
    assert piste.Explanation.from_dict(found.to_dict()) == found
