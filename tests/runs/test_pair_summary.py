"""Pairs of words, text by text."""

import pytest

import piste
from piste.render.corpus_tables import page_tables
from piste.runs.pair_summary import PairTally
from tests.runs.planted_run import PlantedText, write_run


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


def pairs_of(effects, interaction, tmp_path):
    words = [PlantedText(["dull", "and", "bad"], [effects[0], 0.0, effects[1]],
                         pairs=[(0, 2, interaction)])] * 6  # fmt: skip
    return piste.summarise(write_run(tmp_path, words))


@pytest.mark.parametrize(
    ("effects", "interaction", "how"),
    [
        ((-2.0, -1.0), 1.04, "overlap"),
        ((-2.0, -1.0), -1.04, "reinforce"),
        ((2.0, 1.0), 1.04, "reinforce"),
        ((2.0, 1.0), -1.04, "overlap"),
        ((-2.0, 1.0), -1.04, "dull weakens bad"),
        ((-2.0, 1.0), 1.04, "bad weakens dull"),
        ((0.0, 1.0), 1.04, ""),
    ],
)
def test_a_pair_says_what_its_words_do_to_each_other(effects, interaction, how, tmp_path):
    """The interaction alone does not tell it: of two words against the label, above 0 is less."""
    summary = pairs_of(effects, interaction, tmp_path)
    (row,) = next(table.rows for table in page_tables(summary, 9, 1.0) if table.key == "pairs")
    assert row.cells["how"].text == how
    assert how in str(summary)
    assert ("how:" in str(summary)) == bool(how)
    assert "below 0 they say less" not in str(summary) + summary.to_html()


def test_capitals_make_no_other_word(tmp_path):
    texts = [PlantedText(["Not", "good"], [-1.0, 2.0], pairs=[(0, 1, -2.0)])] * 3
    texts += [PlantedText(["not", "Good"], [-3.0, 2.0], pairs=[(0, 1, -2.0)])] * 3
    summary = piste.summarise(write_run(tmp_path, texts))
    mean, error = summary.mean_effect("NOT", "positive")
    assert mean == pytest.approx(-2.0)
    assert 0 < error < 0.01
    assert summary.mean_effect("nothing", "positive") is None
    assert "not weakens good" in str(summary).lower()


def test_a_word_that_acts_with_another_one_in_every_text_is_found(tmp_path):
    """No pair occurs twice; *not* is in all of them."""
    others = ["good", "funny", "bad", "dull"]
    texts = [
        PlantedText(["Not" if n == 3 else "not", "so", word], [0.0, 0.0, 1.0], pairs=[(0, 2, -2.0)])
        for n, word in enumerate(others)
    ]
    once = PlantedText(["the", "end", "."], [0.0, 0.0, 0.0], pairs=[(1, 2, 3.0)])
    summary = piste.summarise(write_run(tmp_path, [*texts, once]))
    assert [(one.word, one.texts, one.size) for one in summary.acting(2)] == [("not", 4, 2.0)]
    (joiner, *rest) = summary.acting(1)
    assert sorted(joiner.partners) == [(word, 1) for word in sorted(others)]
    assert {one.word for one in rest} == set(others)  # not “end”: punctuation is no company
    assert "Words that act with others" in str(summary)
    (table,) = (one for one in page_tables(summary, 9, 1.0) if one.key == "joiners")
    assert table.rows[0].cells["in texts"].text == "4"
    assert "not" in table.rows[0].head


def test_an_unsure_interaction_makes_no_company():
    tally = PairTally()
    pair = {"first": 0, "second": 1, "first_word": "not", "second_word": "good"}
    tally.add([pair | {"effect": 1.0, "error": 0.9}], 0, "positive", 1.0)
    assert tally.joiners() == []
    tally.add([pair | {"effect": -1.0, "error": 0.1}], 1, "positive", 1.0)
    assert [(one.word, one.texts, one.size) for one in tally.joiners()] == [
        ("not", 1, 1.0),
        ("good", 1, 1.0),
    ]
