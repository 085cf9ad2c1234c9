"""Edits of a document: chosen by made-up explanations, tried on a planted model."""

import numpy as np
import pytest

import piste
from papers.experiments import case_study as case
from papers.experiments import edits as editing
from piste.models import Classifier

WEIGHTS = {"good": 2.0, "fine": 1.0, "dull": -1.0}


def additive(texts):
    """Log-odds: the sum of the words' weights, less a half."""
    scores = [sum(WEIGHTS.get(word, 0.0) for word in text.split()) - 0.5 for text in texts]
    return np.stack([np.zeros(len(scores)), np.array(scores)], axis=1)


@pytest.fixture(scope="module")
def model() -> Classifier:
    return piste.from_function(additive, labels=["negative", "positive"])


@pytest.fixture(scope="module")
def document(model):
    return case.passages(["good film and good plot", "fine film", "dull but fine"], model)


@pytest.fixture(scope="module")
def explained(document, model):
    return [
        piste.explain(passage.text, model, "context", target="positive") for passage in document
    ]


def test_passages_are_cut_and_end_with_the_words():
    settings = case.CaseStudySettings(words=7, passage=3, edits=1)
    texts = ["a b c d", "e f g", "h"]
    assert case.cut(texts, settings) == ["a b c", "d", "e f g"]


def test_a_document_is_the_mean_of_its_passages_by_words(document):
    assert [passage.share for passage in document] == pytest.approx([0.5, 0.2, 0.3])
    start = 0.5 * 3.5 + 0.2 * 0.5 - 0.3 * 0.5
    good, fine = editing.Edit(0, (0, 3)), editing.Edit(1, (0,))
    falls = editing.curve(document, [good, fine])
    assert falls == pytest.approx([start, start - 2.0, start - 2.2])


def test_a_word_is_taken_out_wherever_it_stands(document):
    assert editing.words_of(document[0])[0] == (0, 3)
    assert len(editing.words_of(document[0])) == 4


def test_the_steps_follow_the_predicted_falls(document, explained):
    edits = editing.step_by_step(document, explained, 3)
    words = [document[e.passage].decision.players.items[e.players[0]].text for e in edits]
    assert words[0] == "good"
    assert sorted(words[1:]) == ["fine", "fine"]
    assert [edit.passage for edit in edits] == [0, 2, 1]  # 0.3 of a word's 1.0 before 0.2
    everything = editing.step_by_step(document, explained, 100)
    assert len(everything) == sum(len(editing.words_of(passage)) for passage in document)


def test_sets_that_turn_a_passage_come_whole(document, explained):
    edits = editing.turning_sets(document, explained, 10)
    # The third is not decided for the target, so nothing can turn it away from it.
    assert [(edit.passage, edit.players) for edit in edits] == [(0, (0, 3)), (1, (0,))]
    assert editing.curve(document, edits)[-1] < 0


def test_where_the_decision_turns():
    edited = editing.Edited((), np.array([1.0, 0.2, -0.1, 0.3]))
    assert edited.turned == 2
    assert editing.Edited((), np.array([1.0, 0.2])).turned is None
    few = {"a": [1, None, 3]}
    passages, said, _ = case.findings({"a": edited}, np.array([1.0, 0.9]), few, 100)
    assert "a: 2 of 3" in passages
    assert "a: 2 words" in said
    assert "1 words at random leave +0.90" in said


def test_the_words_that_turn_a_passage_are_counted(document, explained):
    few = case.turned_passages(document, {"SLALOM": explained, "context": explained})
    # Only "good" turns the first passage and "fine" the second; the third is not positive.
    assert few["context, highest effect first"] == [1, 1]
    assert few["context, sets that turn a passage"] == [1, 1]
