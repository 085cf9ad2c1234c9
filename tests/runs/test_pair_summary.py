"""Pairs of words, text by text."""

import pytest

from piste.runs.pair_summary import PairTally


def test_pairs_that_differ_by_capitals_are_one():
    tally = PairTally()
    spelt = [
        ("Great", "fun"),
        ("great", "fun"),
        ("great", "fun"),
        ("great", "Fun"),
        ("fun", "great"),
    ]
    for text, (first, second) in enumerate(spelt):
        pair = {"first": 0, "second": 1, "first_word": first, "second_word": second}
        tally.add([pair | {"effect": 1.0 + text, "error": 0.1}], text, "positive", 1.0)
    for words in [*spelt, ("GREAT", "and", "fun")]:
        tally.meet(words, "positive")
    both, turned = sorted(tally.pairs(), key=lambda pair: -pair.listed)
    assert [(pair.first, pair.second) for pair in (both, turned)] == [
        ("great", "fun"),
        ("fun", "great"),
    ]
    assert (both.texts, both.listed, turned.texts) == (5, 4, 1)
    assert both.effect == pytest.approx((1 + 2 + 3 + 4) / 5)
    assert [place.text for place in tally.places(both)] == [3, 2, 1]
