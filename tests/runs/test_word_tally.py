"""When a word's side is said to change with the text."""

import numpy as np
import pytest

from piste.runs.word_tally import NUMBERS, WordTally


def sided(effects, error=0.1):
    """A word with these effects, one a text."""
    tally = WordTally()
    numbers = np.zeros(len(NUMBERS))
    for effect in effects:
        numbers[5:] = effect, error
        tally.add(numbers, numbers**2, in_context=True)
        tally.texts += 1
    return tally.word(f"{effects}", "positive", None)


@pytest.mark.parametrize(
    ("effects", "turns"),
    [
        ([1.0, 1.0, 1.0, -1.0, -1.0], True),
        ([-1.0, -1.0, -1.0, 1.0, 1.0], True),
        ([1.0, 1.0, -1.0, -1.0], False),  # four texts
        ([1.0, -1.0, *[0.01] * 56], False),  # noise: two of 58 are on a side
        ([1.0, 1.0, 1.0, 1.0, -1.0], False),  # one may be chance
        ([1.0] * 18 + [-1.0] * 2, True),
        ([1.0] * 19 + [-1.0] * 2, False),  # less than a tenth
    ],
)
def test_a_word_turns_where_enough_occurrences_surely_do(effects, turns):
    word = sided(effects)
    assert word.turns is turns
    sure = [effect for effect in effects if abs(effect) > 0.2]
    positive = sum(effect > 0 for effect in sure) / len(sure)
    assert word.sided == len(sure)
    assert word.flips == pytest.approx(min(positive, 1 - positive))


def test_the_size_of_the_effects_on_the_smaller_side():
    assert sided([2.0, 1.0, -0.5, -0.7, 0.01]).lesser == pytest.approx(0.6)
    assert sided([0.3, 0.5, -2.0]).lesser == pytest.approx(0.4)
    assert sided([1.0, 1.0]).lesser is None  # one side
