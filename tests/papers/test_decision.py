"""A text in front of a model: what the experiments ask of it, recomputed from the planted model."""

import numpy as np
import pytest

import piste
from papers.decision import Decision
from piste.ragged import Ragged
from tests.planted import PlantedSlalom

PLANTED = PlantedSlalom(6)
ROWS = [[0], [3, 1], [5, 4, 3, 2, 1, 0], [2, 2]]


@pytest.fixture
def decision():
    return Decision(PLANTED.text, piste.from_function(PLANTED), 1, "word", "separate")


def test_margins_are_the_answers_to_the_words_of_each_row(decision):
    texts = [" ".join(PLANTED.words[word] for word in row) for row in ROWS]
    assert decision.margins(Ragged.of(ROWS)) == pytest.approx(PLANTED(texts))
    assert decision.target.score == pytest.approx(PLANTED([PLANTED.text])[0])


def test_a_good_order_lies_between_the_extremes(decision):
    values = np.array([PLANTED.values[word] for word in PLANTED.words])
    ends = decision.extremes(5)
    falls = [decision.deletion(scores, 5) for scores in (values, -values)]
    assert ends.worst - 1e-9 <= falls[1] < falls[0] <= ends.best + 1e-9
    assert decision.insertion(values, 5) < decision.insertion(-values, 5)
