import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import piste
from piste.errors import OutputError, SettingError

TEXT = "  Not good, not bad:\tjust (odd).  "


def spy(seen: list[str]):
    def function(texts):
        seen.extend(texts)
        return np.zeros(len(texts))

    return function


def test_the_whole_text_is_sent_as_it_was_written():
    seen: list[str] = []
    piste.explain(TEXT, piste.from_function(spy(seen)))
    assert seen[0] == TEXT.strip()


@given(st.text(max_size=40))
def test_encoding_and_showing_gives_the_text_back(text):
    classifier = piste.from_function(len)
    shown = classifier.show(np.array(classifier.encode(text).ids, dtype=np.int64))
    start = next((span[0] for span in classifier.encode(text).spans), 0)
    end = max((span[1] for span in classifier.encode(text).spans), default=0)
    assert shown == text[start:end]


def test_words_that_meet_stay_apart():
    classifier = piste.from_function(len)
    ids = classifier.encode("(good) 我爱 bad").ids
    shown = classifier.show(np.array([ids[5], ids[1], ids[3], ids[4]]))
    assert shown == "bad good 我爱"


def test_words_are_shared_whatever_stands_before_them():
    seen: list[str] = []
    explanation = piste.explain("good  good\ngood bad", piste.from_function(spy(seen)))
    assert [player.group for player in explanation.players] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.arange(n),
        lambda n: np.arange(n)[:, None],
        lambda n: [float(i) for i in range(n)],
        lambda n: torch.arange(n, requires_grad=False),
        lambda n: torch.arange(float(n)).requires_grad_(),
    ],
)
def test_margins_in_many_clothes(answer):
    classifier = piste.from_function(lambda texts: answer(len(texts)))
    ids = np.array([classifier.encode(word).ids for word in ("a", "b", "c")])
    assert classifier.logits(ids).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert classifier.labels == ("negative", "positive")


def test_probabilities_become_log_odds():
    classifier = piste.from_function(lambda t: [[0.2, 0.8]] * len(t), outputs="probabilities")
    assert piste.explain("a b c", classifier).target.score == pytest.approx(np.log(4))
    one = piste.from_function(lambda t: [0.8] * len(t), outputs="probabilities")
    assert piste.explain("a b c", one).target.score == pytest.approx(np.log(4))
    sure = piste.from_function(lambda t: [[0.0, 1.0]] * len(t), outputs="probabilities")
    assert piste.explain("a b c", sure).target.label == "class 1"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: [[0.2, 0.8]] * len(t), "probabilities"),
        (lambda t: np.zeros((len(t) + 1, 2)), "returned shape"),
        (lambda t: np.zeros((len(t), 2, 2)), "returned shape"),
        (lambda t: 3.0, "returned shape"),
        (lambda t: ["good"] * len(t), "not numbers"),
        (lambda t: None, "not finite|not numbers|returned shape"),
        (lambda t: [np.nan] * len(t), "not finite"),
        (lambda t: [np.inf] * len(t), "not finite"),
    ],
)
def test_wrong_answers_are_told_apart(function, message):
    with pytest.raises(OutputError, match=message):
        piste.explain("some words here", piste.from_function(function))


def test_counts_are_not_taken_for_probabilities():
    def counts(texts):
        return [[text.count("bad"), text.count("good")] for text in texts]

    assert piste.explain("a good film", piste.from_function(counts)).target.label == "class 1"


@pytest.mark.parametrize("widths", [(2, 3), (1, 3), (3, 1)])
def test_a_width_that_changes_is_refused(widths):
    calls = iter(widths)
    last = [0]

    def function(texts):
        last[0] = next(calls, last[0])
        return np.arange(len(texts) * last[0]).reshape(len(texts), last[0])

    with pytest.raises(OutputError, match="outputs a text before"):
        piste.explain("some words here", piste.from_function(function))


def test_probabilities_outside_their_range():
    classifier = piste.from_function(lambda t: [1.2] * len(t), outputs="probabilities")
    with pytest.raises(OutputError, match="leave 0"):
        piste.explain("a b", classifier)


def test_the_functions_own_errors_come_through():
    def broken(texts):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        piste.explain("a b", piste.from_function(broken))


def test_labels_must_fit():
    with pytest.raises(OutputError, match="2 outputs but has 3 labels"):
        piste.explain("a b", piste.from_function(lambda t: np.zeros(len(t)), ["a", "b", "c"]))
    with pytest.raises(SettingError, match="one string"):
        piste.from_function(len, "positive")
    with pytest.raises(SettingError, match="not a function"):
        piste.from_function("len")
    with pytest.raises(SettingError, match="kind of output"):
        piste.from_function(len, outputs="odds")
