"""The model's plain answers are those that it is explained by."""

import numpy as np
import pytest

import piste

TEXTS = ["The acting is superb.", "", "A dull film. " * 400]


def test_the_answers_are_those_of_the_explanation(demo):
    found = piste.explain(TEXTS[0], demo, "occlusion")
    answers = piste.predict(TEXTS[:1], demo)
    assert answers[0, found.target.index] == pytest.approx(found.target.probability)
    assert answers.sum(axis=1) == pytest.approx(1)
    odds = piste.predict(TEXTS[:1], demo, "log-odds")
    assert odds[0, found.target.index] == pytest.approx(found.target.score)


def test_empty_and_long_texts_are_answered(demo):
    answers = piste.predict(TEXTS, demo)
    assert answers.shape == (3, 2)
    assert np.isfinite(answers).all()


def test_functions_and_raw_numbers():
    lengths = piste.from_function(lambda texts: [[float(len(t))] for t in texts], outputs="raw")
    assert piste.predict(["one two", "three"], lengths).tolist() == [[7.0], [5.0]]


def test_a_text_instead_of_a_list_is_refused(demo):
    with pytest.raises(piste.PisteError, match="list"):
        piste.predict("A text.", demo)
    with pytest.raises(piste.PisteError, match="list"):
        piste.predict([], demo)
    with pytest.raises(piste.PisteError, match="scale"):
        piste.predict(["A text."], demo, "odds")


def test_nothing_that_a_model_cannot_read_is_undecided(byte_level):
    model = piste.from_function(lambda ids: 1.0 + ids[:, 0], tokenizer=byte_level)
    answers = piste.predict(["", "a film"], model, "log-odds")
    assert answers[0].tolist() == [0, 0]
    assert answers[1, 1] > 0
    assert piste.predict(iter(["a film"]), model).shape == (1, 2)
    assert piste.predict([""], model).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("texts", [None, 3, ["a", None], ["\ud800"]])
def test_what_is_no_text_is_refused(texts, demo):
    with pytest.raises(piste.PisteError):
        piste.predict(texts, demo)
