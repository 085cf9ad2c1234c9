"""Anchors: rules that are known because we planted them."""

import numpy as np
import pytest

import piste
from piste.errors import SettingError
from piste.methods.anchors import Anchors, _kl_bound

TEXT = "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9"


def anchor(function, text=TEXT, **options):
    settings = options.pop("settings", {})
    found = piste.explain(text, piste.from_function(function), Anchors(**settings), **options)
    names = [player.text for player in found.players]
    return {names[i] for i in np.flatnonzero(found.scores["anchor"])}, found


def needs(*words: str):
    return lambda texts: np.array(
        [1.0 if set(words) <= set(text.split()) else -1.0 for text in texts]
    )


@pytest.mark.parametrize("words", [("w3",), ("w1", "w8"), ("w0", "w4", "w9")])
def test_the_words_that_decide_are_the_anchor(words):
    found, explanation = anchor(needs(*words), target="positive")
    assert found == set(words)
    assert "the decision stays in 100%" in explanation.notes[0].replace(" %", "%")


def test_one_of_several_sufficient_words_is_enough():
    def either(texts: list[str]) -> np.ndarray:
        return np.array([1.0 if {"w2", "w6"} & set(text.split()) else -1.0 for text in texts])

    found, _ = anchor(either, target="positive")
    assert len(found) == 1
    assert found < {"w2", "w6"}


def test_a_decision_against_has_an_anchor_too():
    found, explanation = anchor(lambda texts: -needs("w5")(texts))
    assert explanation.target.label == "negative"
    assert found == {"w5"}


def test_a_model_that_never_changes_its_mind_needs_no_word():
    found, explanation = anchor(lambda texts: np.ones(len(texts)))
    assert found == set()
    assert "no single word is needed" in explanation.notes[0]


def test_a_late_word_has_the_same_chance_as_an_early_one():
    text = " ".join(f"v{index}" for index in range(120)) + " magic"
    found, _ = anchor(needs("magic"), text, settings={"samples": 4000})
    assert found == {"magic"}


def test_a_decision_by_majority_has_no_small_anchor():
    def majority(texts: list[str]) -> np.ndarray:
        return np.array([float(len(text.split())) - 8.5 for text in texts])

    found, explanation = anchor(majority, settings={"largest": 2}, target="positive")
    assert "No rule of up to 2 words" in explanation.notes[0]
    assert len(found) <= 2


def test_the_argmax_decides_where_there_are_several_classes():
    """0.4 against 0.3 and 0.3 is a decision, although it is no majority."""

    def three(texts: list[str]) -> np.ndarray:
        return np.array(
            [[1.0, 0.7, 0.7] if "w4" in text.split() else [0.0, 1.0, 0.0] for text in texts]
        )

    classifier = piste.from_function(three, labels=("a", "b", "c"))
    explanation = piste.explain(TEXT, classifier, Anchors())
    names = [player.text for player in explanation.players]
    assert [names[i] for i in np.flatnonzero(explanation.scores["anchor"])] == ["w4"]


def test_a_rule_that_is_not_quite_good_enough_is_seldom_claimed():
    """w0 keeps the decision in 15 of 16 copies, 93.75 %: at 95 % confidence, claimed 1 in 20."""

    def nearly(texts: list[str]) -> np.ndarray:
        words = [set(text.split()) for text in texts]
        yes = [("w0" in w) and bool(w & {"w1", "w2", "w3", "w4"}) for w in words]
        return np.where(yes, 1.0, -1.0)

    settings = {"largest": 1, "samples": 2000}
    claimed = [
        "whatever else" in anchor(nearly, settings=settings, seed=seed)[1].notes[0]
        for seed in range(40)
    ]
    assert sum(claimed) <= 4
    found, _ = anchor(nearly, settings={"largest": 2}, target="positive")
    assert "w0" in found
    assert len(found) == 2


def test_the_first_words_share_their_copies():
    """A text of 120 words needs no batch for each of them."""
    text = " ".join(f"v{index}" for index in range(120)) + " magic"
    found, explanation = anchor(needs("magic"), text)
    assert found == {"magic"}
    assert explanation.cost.forwards < 1000


def test_a_label_of_several_is_decided_by_itself():
    def two_labels(texts: list[str]) -> np.ndarray:
        return np.array([[3.0, 2.0 if "w3" in text.split() else -2.0] for text in texts])

    classifier = piste.from_function(two_labels, labels=("A", "B"), outputs="label-logits")
    explanation = piste.explain(TEXT, classifier, Anchors(), target="B")
    names = [player.text for player in explanation.players]
    assert [names[i] for i in np.flatnonzero(explanation.scores["anchor"])] == ["w3"]
    classifier = piste.from_function(two_labels, labels=("A", "B"), outputs="raw")
    with pytest.raises(SettingError, match="not a decision"):
        piste.explain(TEXT, classifier, Anchors(), target="B")


def test_the_budget_is_kept():
    _, explanation = anchor(needs("w1", "w2"), budget=150)
    assert explanation.cost.forwards <= 150


def test_bounds_are_the_kullback_leibler_ones():
    low, high = _kl_bound(0.9, np.log(20) / 100, 0.0), _kl_bound(0.9, np.log(20) / 100, 1.0)
    assert low < 0.9 < high < 1
    for bound in (low, high):
        divergence = 0.9 * np.log(0.9 / bound) + 0.1 * np.log(0.1 / (1 - bound))
        assert divergence == pytest.approx(np.log(20) / 100, abs=1e-4)
    assert _kl_bound(1.0, 0.01, 1.0) == pytest.approx(1.0)


@pytest.mark.parametrize("settings", [{"precision": 1.5}, {"beam": 0}, {"removal": "hide"}])
def test_settings_that_make_no_sense(settings):
    with pytest.raises(SettingError):
        Anchors(**settings)
