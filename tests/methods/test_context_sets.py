"""Sets of words that turn a decision, or keep it: verified on the model."""

import numpy as np
import pytest

import piste
from piste.decision import Decision
from piste.options import Options
from tests.conftest import tiny_bert
from tests.methods.test_context import explain
from tests.test_explain import REVIEW


@pytest.mark.parametrize("target", ["predicted", "runner-up"])
@pytest.mark.parametrize("text", [REVIEW, "a dull film, but superb acting", "what a waste of time"])
def test_sets_that_turn_or_keep_the_decision_do_so(demo, text, target):
    found = piste.explain(text, demo, target=target)
    decision = Decision.on(text, demo, Options(target=target))
    everyone = set(range(len(found.players)))
    _, whole = decision.without(set())
    for chosen, removed, turns in (
        (found.flip, set(found.flip.players), True),
        (found.core, everyone - set(found.core.players), False),
    ):
        score, label = decision.without(removed)
        assert (label != whole) == turns
        assert chosen.score == pytest.approx(score, abs=1e-5)
        assert chosen.label == label
        assert 0 < len(chosen.players) <= 8
        told = found.predict(everyone - removed)
        assert (chosen.predicted, chosen.error) == pytest.approx((told.score, told.error))


def test_where_no_word_matters_no_set_turns_it():
    found = explain("a b c d e f", lambda texts: np.full(len(texts), 2.0))
    assert found.flip is None
    assert found.core is None  # the empty text would be enough, as far as can be told
    assert "No removal of up to 5 words" in " ".join(found.notes)
    assert "same answer to any of these words" in " ".join(found.notes)
    assert found.fidelity.r2 is None


def test_where_the_empty_text_is_decided_so_a_word_that_adds_nothing_keeps_nothing():

    def bad(texts):
        return np.array([0.5 + 2.0 * ("bad" in text.split()) for text in texts])

    assert explain("a b c d e f", lambda texts: np.full(len(texts), 0.5)).core is None
    found = explain("a b c bad e f", bad)
    assert [found.players[index].text for index in found.core.players] == ["bad"]


def test_one_word_is_not_several():
    found = explain("a b", lambda texts: np.full(len(texts), 2.0))
    assert "No removal of one word was found" in " ".join(found.notes)


def test_of_many_classes_the_sets_are_told_on_the_scale_that_is_explained(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece), num_labels=5), wordpiece, backend="torch")
    text = "the film was good, the plot not bad"
    for target in ("all", "predicted"):
        found = piste.explain(text, classifier, target=target)
        everyone = set(range(len(found.players)))
        # The tokenizer, and so the model, vary by process: one of the sets may not exist.
        sets = [
            (chosen, everyone - set(chosen.players) if chosen is found.flip else chosen.players)
            for chosen in (found.flip, found.core)
            if chosen is not None
        ]
        assert sets
        for chosen, left in sets:
            told = found.predict(left)
            assert chosen.score == pytest.approx(told.score, abs=4 * told.error + 1e-6)


def test_a_number_is_not_turned(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece), num_labels=1), wordpiece, backend="torch")
    found = piste.explain("the film was not good", classifier)
    assert found.target.scale == "raw score"
    assert (found.flip, found.core) == (None, None)
    assert not [note for note in found.notes if "turns" in note]


@pytest.mark.parametrize(
    "text",
    [
        "A film that is not bad at all, and not boring either.",
        "A wonderful cast, a beautiful score, and yet the best scenes are simply too short.",
    ],
)
def test_no_word_of_a_set_is_superfluous(demo, text):
    found = piste.explain(text, demo)
    decision = Decision.on(text, demo)
    _, whole = decision.without(set())
    removed = set(found.flip.players)
    for player in removed:
        if len(removed) > 1:
            assert decision.without(removed - {player})[1] == whole


@pytest.mark.parametrize(("target", "others"), [("B", "apple"), ("A", "bread")])
def test_of_labels_that_do_not_exclude_each_other_the_core_is_of_the_target(target, others):
    """Which of them is the likeliest means nothing."""

    def scores(texts):
        words = [set(text.split()) for text in texts]
        return [[-3.0 + 6 * ("apple" in w), -3.0 + 4 * ("bread" in w)] for w in words]

    model = piste.from_function(scores, ["A", "B"], outputs="label-logits")
    found = piste.explain("apple bread tea", model, target=target)
    (core,) = [found.players[index].text for index in found.core.players]
    assert core != others
    assert (core, found.core.label) in {("apple", "A"), ("bread", "B")}


def test_what_is_not_predicted_would_have_to_become_the_target():
    def scores(texts):
        return [[3.0 * ("apple" in text), 1.0, -2.0] for text in texts]

    model = piste.from_function(scores, ["X", "Y", "Z"])
    found = piste.explain("apple bread tea now", model, target="Z")
    assert found.flip is None  # without “apple” it says Y, not Z
    assert "No removal of up to 3 words was found to make it Z." in found.notes
