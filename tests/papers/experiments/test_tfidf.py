"""The model that is no transformer: its vectors by hand, its training, its file."""

import numpy as np
import pytest

from papers.experiments import tfidf
from papers.experiments.tfidf import NetworkPlan, TfIdf

GOOD, BAD = "a good film", "a bad film"
TINY = NetworkPlan(vocabulary=20, widths=(8, 4), epochs=60, rate=0.01, batch=4)


def test_words_keep_their_inner_marks_and_lose_their_case():
    assert tfidf.tokens("Don't WATCH it -- well-made, 10/10!") == [
        "don't", "watch", "it", "well-made", "10", "10",
    ]  # fmt: skip


def test_vectors_by_hand():
    vectors = TfIdf.learn([GOOD, BAD], most=3)  # "bad" before "good"; both in one text
    assert vectors.words == ("a", "film", "bad")
    rare = np.log(3 / 2) + 1
    assert vectors.rarity == pytest.approx([1, 1, rare])
    found = vectors.transform(["bad bad a", "good", ""]).toarray()
    length = np.hypot(2 * rare, 1)
    assert found == pytest.approx(np.array([[1 / length, 0, 2 * rare / length], [0] * 3, [0] * 3]))


def test_training_learns_and_the_seed_decides():
    texts, labels = [GOOD, BAD, "good", "bad"], [1, 0, 1, 0]
    network = tfidf.train(texts, labels, TINY)
    assert network.accuracy(texts, labels) == 1
    assert network.accuracy(texts, [0, 1, 0, 1]) == 0
    again = tfidf.train(texts, labels, TINY)
    assert network.log_odds(texts) == pytest.approx(again.log_odds(texts), abs=1e-3)


def test_the_network_has_three_layers_with_relu():
    network = tfidf.train([GOOD, BAD], [1, 0], TINY)
    first, second, third = (network.layers[i] for i in (0, 2, 4))
    vector = network.vectors.transform([GOOD]).toarray()[0]
    for layer in (first, second):
        vector = np.maximum(layer.weight.detach().numpy() @ vector + layer.bias.detach().numpy(), 0)
    by_hand = third.weight.detach().numpy() @ vector + third.bias.detach().numpy()
    assert network.log_odds([GOOD]) == pytest.approx(by_hand, abs=1e-5)


def test_the_cache_gives_back_the_same_network(tmp_path, monkeypatch):
    texts, labels = [GOOD, BAD], [1, 0]
    made = tfidf.kept(tmp_path, texts, labels, TINY)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(tfidf, "train", lambda *_: pytest.fail("trained again"))
    read = tfidf.kept(tmp_path, texts, labels, TINY)
    assert read.vectors.words == made.vectors.words
    assert np.array_equal(read.log_odds([GOOD, "bad"]), made.log_odds([GOOD, "bad"]))


def test_other_texts_are_another_network(tmp_path):
    tfidf.kept(tmp_path, [GOOD, BAD], [1, 0], TINY)
    tfidf.kept(tmp_path, [GOOD, BAD], [0, 1], TINY)
    tfidf.kept(tmp_path, [GOOD, "a dull film"], [1, 0], TINY)
    assert len(list(tmp_path.iterdir())) == 3


def test_more_texts_than_go_at_once(monkeypatch):
    network = tfidf.train([GOOD, BAD], [1, 0], TINY)
    whole = network.log_odds([GOOD, BAD, "good"])
    monkeypatch.setattr(tfidf, "ROWS", 2)
    assert network.log_odds([GOOD, BAD, "good"]) == pytest.approx(whole)
