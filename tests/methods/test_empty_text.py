"""The base: what no words are worth, also where the model cannot read an empty text."""

import json
import socket

import numpy as np
import pytest

import piste
from piste.decision import Decision
from piste.errors import OutputError, PassingError, is_passing
from piste.methods.game import Game

NOTE = "cannot read an empty text"
WORTH = {"good": 3.0, "bad": -2.0, "film": 0.5}
TEXTS = ["one two three", " ".join(f"w{index}" for index in range(20))]


def length(texts):
    return np.array([float(len(text.split())) for text in texts])


def length_of_some(texts):
    """The same, for texts that have a first word."""
    return np.array([float(len(text.split())) for text in texts if text.split()[0]])


def mean(texts):
    """Not a number where there is no word."""
    each = [[WORTH.get(word, 0.0) for word in text.split()] for text in texts]
    return np.array([sum(worth) / len(worth) if worth else np.nan for worth in each])


def explain(text, function, **options):
    options = {"target": "positive"} | options
    return piste.explain(text, piste.from_function(function), **options)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("function", [length, length_of_some])
def test_words_that_add_up_have_no_interactions(function, text):
    found = explain(text, function)
    assert found.base == pytest.approx(0.0, abs=1e-4)
    assert found.scores["effect"] == pytest.approx(np.ones(len(found.players)), abs=0.02)
    assert max(abs(pair.effect) for pair in found.pairs()) < 0.01
    assert "  together\n" not in str(found)
    assert max(found.errors["effect"]) < 0.05
    assert found.base + found.scores["effect"].sum() == pytest.approx(found.target.score)


def test_a_single_word_is_counted_from_0():
    found = explain("good", lambda texts: np.array([4.0 if text else 1 / 0 for text in texts]))
    assert (found.base, found.scores["effect"].tolist()) == (0.0, [4.0])
    assert "counted from 0 (undecided)" in " ".join(found.notes)


@pytest.mark.parametrize(("text", "hides"), [("good film", True), ("one two three four", False)])
def test_of_a_text_too_short_to_tell_it_is_said(text, hides):
    notes = " ".join(explain(text, length_of_some).notes)
    assert NOTE in notes
    assert ("hides what they do together" in notes) is hides


def test_words_that_are_averaged_are_counted_from_their_mean():
    found = explain("good film bad", mean)
    assert found.base == pytest.approx(0.5, abs=0.2)
    assert found.predict([]).error == 0.0


def test_a_function_that_reads_nothing_is_asked_about_it():
    asked = []

    def constant_but_for_no_text(texts):
        asked.extend(texts)
        return np.array([2.0 if text else -7.0 for text in texts])

    found = explain("good film", constant_but_for_no_text)
    assert found.base == -7.0
    assert asked.count("") == 1
    assert NOTE not in " ".join(found.notes)
    assert (
        piste.predict([""], piste.from_function(constant_but_for_no_text), "log-odds")[0, 1] == -7
    )


@pytest.mark.parametrize("function", [length_of_some, mean])
def test_one_that_does_not_is_asked_once_and_the_text_says_so(function):
    asked = []

    def counting(texts):
        asked.extend(texts)
        return function(texts)

    classifier = piste.from_function(counting)
    for text in ("good film", "bad film"):
        found = piste.explain(text, classifier, target="positive")
        assert NOTE in " ".join(found.notes)
        assert "exact" in str(found)
        assert not any(found.errors["effect"])
    assert asked.count("") == 1
    game = Game(Decision.on("good film", classifier))
    assert game.play(np.zeros((1, 2), dtype=bool)) == 0  # undecided
    assert piste.predict(["", "good"], classifier, "log-odds")[0].tolist() == [0, 0]


def test_of_two_texts_that_cannot_be_empty_the_words_add_up_too():
    def words_of_both(pairs):
        return np.array(
            [
                float(len(one.split()) + len(two.split()) if one + two else 1 / 0)
                for one, two in pairs
            ]
        )

    found = explain("one two", words_of_both, pair="three")
    assert found.base == pytest.approx(0.0, abs=1e-4)
    assert NOTE in " ".join(found.notes)


@pytest.mark.parametrize(
    "raised", [TimeoutError("late"), ConnectionResetError("gone"), PassingError("Late.", "Wait.")]
)
def test_a_failure_that_may_pass_says_nothing_of_what_can_be_read(raised):
    failures = [raised]

    def moody(texts):
        if "" in texts and failures:
            raise failures.pop()
        return length(texts)

    classifier = piste.from_function(moody)
    assert NOTE in " ".join(piste.explain("good film", classifier).notes)
    found = piste.explain("good film", classifier, target="positive")
    assert found.base == 0.0
    assert NOTE not in " ".join(found.notes)


def test_an_endpoint_that_does_not_answer_may_answer_later():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # where nobody answers once it is closed
    url = f"http://127.0.0.1:{port}/v1"
    classifier = piste.from_endpoint(url, ["a", "b"], "{text}", retries=0, timeout=5)
    with pytest.raises(OutputError, match="did not answer") as told:
        classifier.function([""])
    assert is_passing(told.value)
    assert not is_passing(OutputError("It refuses.", "Check the key."))


def test_a_budget_counts_the_question():
    for budget in (11, 30):
        found = explain(TEXTS[1], length, budget=budget)
        assert found.cost.forwards <= budget


def test_what_stands_for_no_answer_is_no_answer_to_verify():
    classifier = piste.from_function(length_of_some, name="length")
    found = piste.explain("one two three", classifier, target="positive")
    stored = piste.Explanation.from_dict(json.loads(found.to_json()))
    report = piste.verify(stored, classifier)
    (answers,) = [check for check in report.checks if check.name == "answers"]
    assert answers.outcome == "holds"
    assert answers.found.startswith("7 recorded answers")
