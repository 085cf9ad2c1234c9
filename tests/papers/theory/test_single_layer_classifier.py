"""The single-layer model as a classifier: trained in a second, explained, saved and loaded."""

import numpy as np
import pytest
import torch

import piste
from papers.theory.single_layer import CLS, UNK, Shape
from papers.theory.single_layer_classifier import WordTokenizer, load_single_layer, padded, train
from papers.theory.toy import WEIGHTS, toy_reviews
from piste.arrays import Ragged
from piste.models.query import Query

TINY = Shape(width=16, key_width=8, value_width=8, heads=4, window=32)
TEXT = "the movie was superb and the plot weak"


@pytest.fixture(scope="module")
def trained():
    texts, labels = toy_reviews(np.random.default_rng(0), 800)
    return train(texts, labels, shape=TINY, epochs=5, rate=1e-2, batch=32)


def test_training_learns_the_planted_words(trained):
    texts, labels = toy_reviews(np.random.default_rng(1), 400)
    margins = trained.logits(padded(trained, texts).numpy())[:, 1]
    planted = np.array([sum(WEIGHTS[word] for word in text.split()) for text in texts])
    assert np.corrcoef(margins, planted)[0, 1] > 0.7
    assert np.mean((margins > 0) == np.array(labels)) > 0.65


def test_training_is_repeatable_and_leaves_the_random_state_alone():
    texts, labels = toy_reviews(np.random.default_rng(0), 40)
    before = torch.random.get_rng_state()
    first, second = (
        train(texts, labels, shape=TINY, epochs=1, rate=1e-2).module.last for _ in range(2)
    )
    assert torch.equal(first, second)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("texts", "labels"), [(["a", "b"], [0]), (["a", "b"], [0, 0]), ("ab", [0, 1])]
)
def test_training_refuses_what_it_cannot_use(texts, labels):
    with pytest.raises(piste.PisteError, match="for each the label 0 or 1"):
        train(texts, labels)


@pytest.mark.parametrize("method", ["slalom", "slalom-ana"])
def test_piste_explains_it(trained, method):
    explanation = piste.explain(TEXT, trained, method, target="positive")
    assert [player.text for player in explanation.players] == TEXT.split()
    value = dict(zip(TEXT.split(), explanation.scores["value"], strict=True))
    assert value["superb"] > value["weak"]


def test_encoding(trained):
    encoding = trained.encode("Superb, unheard!")
    assert encoding.frame.prefix == (CLS,)
    assert trained.show(np.array([CLS, *encoding.ids])) == "[CLS] superb [UNK] [UNK] [UNK]"
    assert encoding.spans == ((0, 6), (6, 7), (8, 15), (15, 16))
    assert "3 of 4 words are unknown" in encoding.notes[0]


def test_a_long_text_is_cut_and_said_so(trained):
    encoding = trained.encode("movie " * 40)
    assert len(encoding.ids) == 31
    assert "reads the first 31 only" in encoding.notes[0]
    rows = Ragged.of([encoding.ids])
    assert np.isfinite(Query(trained, encoding.frame).logits(rows)).all()


def test_padding_happens_inside(trained):
    short = np.array([[CLS, 5, 6]])
    padded_by_hand = np.concatenate([short, np.full((1, 29), UNK)], axis=1)
    logits = trained.logits(short)
    assert logits.shape == (1, 2)
    assert logits == pytest.approx(trained.logits(padded_by_hand))
    many = np.repeat(short, 600, axis=0)
    assert trained.logits(many) == pytest.approx(np.repeat(logits, 600, axis=0), abs=1e-5)


def test_more_than_the_window_is_refused(trained):
    with pytest.raises(piste.PisteError, match="window of 32"):
        trained.logits(np.ones((1, 33), dtype=np.int64))
    with pytest.raises(ValueError, match="do not fit"):
        trained.module(torch.ones(1, 33, dtype=torch.long))


def test_save_and_load(trained, tmp_path):
    path = trained.save(tmp_path / "model.safetensors")
    loaded = load_single_layer(path)
    ids = np.array([[CLS, 5, 6, 7]])
    assert np.array_equal(loaded.logits(ids), trained.logits(ids))
    assert (loaded.words, loaded.labels, loaded.name) == (
        trained.words, trained.labels, trained.name,
    )  # fmt: skip
    assert "single-layer attention: negative, positive" in repr(loaded)


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "nonsense"
    path.write_text("hello")
    with pytest.raises(piste.PisteError, match="save wrote"):
        load_single_layer(path)


def test_words_are_ranked_by_frequency():
    words = WordTokenizer.learn(["b a a", "C c c"], most=2)
    assert words.known == ("[UNK]", "[CLS]", "c", "a")
    assert words.encode("A b, C") == ([3, 0, 0, 2], [(0, 1), (2, 3), (3, 4), (5, 6)])
    assert len(words) == 4


def test_toy_labels_follow_the_planted_odds():
    texts, labels = toy_reviews(np.random.default_rng(0), 2000)
    odds = np.array([sum(WEIGHTS[word] for word in text.split()) for text in texts])
    for low, high in ((-3.0, -1.0), (-1.0, 1.0), (1.0, 3.0)):
        inside = (odds > low) & (odds <= high)
        expected = (1 / (1 + np.exp(-odds[inside]))).mean()
        assert np.mean(np.array(labels)[inside]) == pytest.approx(expected, abs=0.05)
