"""piste's own explainers, through their door, against the closed forms of the single layer."""

import math

import numpy as np
import pytest
import torch
from lime.lime_text import LimeTextExplainer

import piste
from papers.theory import closed_forms
from papers.theory.lime_by_subsets import LIME_BANDWIDTH, Removal, kept_means
from papers.theory.single_layer import CLS, UNK, Shape
from papers.theory.single_layer_classifier import SingleLayerClassifier, padded, train
from papers.theory.toy import toy_reviews
from piste.models.protocol import WithAttention, WithGradients, WithTokens

TEXT = "the movie was superb and a plot weak but music warm"
SHAPE = Shape(width=16, key_width=8, value_width=8, heads=4, window=20)


@pytest.fixture(scope="module")
def classifier():
    texts, labels = toy_reviews(np.random.default_rng(0), 400)
    trained = train(texts, labels, shape=SHAPE, epochs=3, rate=1e-2, batch=32)
    return SingleLayerClassifier(trained.module.double(), trained.words)


@pytest.fixture(scope="module")
def ids(classifier):
    return np.array([CLS, *classifier.encode(TEXT).ids])


def by_reading(scores, ids):
    """Scores of the distinct words, in the order of the text."""
    return scores[np.searchsorted(np.unique(ids[1:]), ids[1:])]


def test_it_has_every_capability(classifier):
    for protocol in (WithTokens, WithGradients, WithAttention):
        assert isinstance(classifier, protocol)
    assert classifier.token_id("unk") == UNK
    assert classifier.token_id("mask") is None


@pytest.mark.parametrize("index", [0, 1])
def test_gradients_are_the_closed_form(classifier, ids, index):
    embedded = classifier.embed(ids[None])
    margins, slopes = classifier.gradients(embedded, index)
    sign = 2 * index - 1
    logits = classifier.logits(ids[None])
    assert margins == pytest.approx(sign * (logits[:, 1] - logits[:, 0]))
    expected = sign * closed_forms.gradient(classifier.module, ids)[: len(ids)]
    assert slopes[0] == pytest.approx(expected, abs=1e-12)
    assert embedded[0] == pytest.approx(closed_forms.embed(classifier.module, ids)[: len(ids)])


def test_the_gradient_method_gives_the_paper_s_four(classifier, ids):
    found = piste.explain(TEXT, classifier, "gradients", target="positive", repeats="separate")
    slope = closed_forms.gradient(classifier.module, ids)[1 : len(ids)]
    embedded = closed_forms.embed(classifier.module, ids)[1 : len(ids)]
    assert found.scores["grad-avg"] == pytest.approx(slope.mean(axis=1))
    assert found.scores["grad-l1"] == pytest.approx(np.abs(slope).sum(axis=1))
    assert found.scores["grad-l2"] == pytest.approx(np.linalg.norm(slope, axis=1))
    assert found.scores["grad-input"] == pytest.approx((slope * embedded).sum(axis=1))


def test_attentions_are_the_one_query_s(classifier, ids):
    weights, position = classifier.attentions(ids[None])
    assert position == 0
    assert weights.shape == (1, 1, 4, len(ids), len(ids))
    alpha = closed_forms.attention(classifier.module, ids)[:, : len(ids)]
    assert weights[0, 0, :, 0] == pytest.approx(alpha)
    assert not weights[0, 0, :, 1:].any()
    assert (weights[0, 0, :, 0].sum(axis=-1) < 1).all()  # the padding has the rest


def test_the_attention_method_gives_the_paper_s_two(classifier, ids):
    found = piste.explain(TEXT, classifier, "attention", repeats="separate")
    words = slice(1, len(ids))
    for name, form in (
        ("alpha-avg", closed_forms.alpha_avg),
        ("alpha-max", closed_forms.alpha_max),
    ):
        assert found.scores[name] == pytest.approx(form(classifier.module, ids)[words])


def test_lime_tends_to_its_closed_form(classifier, ids):
    lime = pytest.importorskip("piste.methods.lime").Lime
    reading = closed_forms.read_text(classifier.module, ids)
    limit = by_reading(closed_forms.lime_integral(reading), ids)
    errors = []
    for samples in (300, 10_000):
        method = lime(samples=samples, width=1e6, ridge=0.0, removal="unk")
        found = piste.explain(TEXT, classifier, method, target="positive")
        errors.append(np.linalg.norm(found.scores["weight"] - limit) / np.linalg.norm(limit))
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.03


def test_removal_is_the_same_game(classifier, ids):
    """The theory's own game and the classifier answer alike."""
    game = Removal(classifier.module, ids)
    kept = np.random.default_rng(0).random((5, len(game))) < 0.5
    rows = np.where(np.column_stack([kept, np.ones(5, dtype=bool)])[:, game.owner], ids, UNK)
    with torch.no_grad():
        assert game(kept) == pytest.approx(classifier.logits(rows)[:, 1])


@pytest.mark.parametrize("bandwidth", [math.inf, LIME_BANDWIDTH])
def test_the_lime_package_tends_to_the_closed_form_too(classifier, ids, bandwidth):
    """Its masks are unknown words to the model: [UNK], in place."""
    explainer = LimeTextExplainer(
        kernel_width=100 * min(bandwidth, 1e6), bow=False, random_state=0, feature_selection="none"
    )
    explanation = explainer.explain_instance(
        TEXT,
        lambda texts: classifier.logits(padded(classifier, texts).numpy()),
        labels=(1,),
        num_features=len(ids) - 1,
        num_samples=4000,
    )
    weights = dict(explanation.as_map()[1])
    found = np.array([weights[position] for position in range(len(ids) - 1)])
    game = Removal(classifier.module, ids)
    limit = by_reading(closed_forms.lime_limit(kept_means(game, len(game)), bandwidth), ids)
    assert np.linalg.norm(found - limit) < 0.06 * np.linalg.norm(limit)
