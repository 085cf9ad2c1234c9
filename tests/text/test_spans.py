"""Units of one's own: given by characters, or by marks in the text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import piste
from piste.errors import InputError, SettingError
from piste.options import Options
from piste.text.encoding import Encoding
from piste.text.players import split
from piste.text.spans import placed, unmarked
from piste.text.units import word_spans
from tests.planted import additive

TEXT = "The plot is thin, but the acting is superb."
OWN = [(4, 16), (22, 42)]


def model(**weights):
    return piste.from_function(additive(weights or {"good": 2.0, "bad": -3.0}))


def players(text, **settings):
    return [player.text for player in piste.explain(text, model(), "occlusion", **settings).players]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("word", ["The", "plot is thin", ",", "but", "the acting is superb", "."]),
        ("span", ["The", "plot is thin", ", but", "the acting is superb", "."]),
        ("phrase", ["The", "plot is thin", ",", "but", "the acting is superb", "."]),
        ("token", ["The", "plot is thin", ",", "but", "the acting is superb", "."]),
        ("sentence", ["The", "plot is thin", ", but", "the acting is superb", "."]),
    ],
)
def test_spans_are_units_and_the_rest_is_cut_by_unit(unit, expected):
    assert players(TEXT, spans=OWN, unit=unit) == expected


def test_a_span_has_the_scores_of_all_its_words():
    found = piste.explain("a good bad film good", model(), "occlusion", spans=[(2, 10)])
    removed = dict(zip([p.text for p in found.players], found.scores["removal"], strict=True))
    assert removed["good bad"] == pytest.approx(2.0 - 3.0)
    assert removed["good"] == pytest.approx(2.0)


def test_marks_are_taken_out_of_the_text():
    marked = "The [[plot is thin]], but [[the acting is superb]]."
    found = piste.explain(marked, model(), "occlusion", marks=True)
    assert found.text == TEXT
    assert [p.text for p in found.players] == players(TEXT, spans=OWN)
    assert found.record.options["spans"] == ((4, 16), (22, 42))
    again = piste.Explanation.from_dict(found.to_dict())
    assert piste.verify(again, model()).holds


def test_the_model_is_never_asked_about_half_a_span():
    asked = []

    def function(texts):
        asked.extend(texts)
        return np.array([float(len(text)) for text in texts])

    piste.explain(TEXT, piste.from_function(function), "kernel-shap", spans=OWN)
    assert all(("plot" in text) == ("thin" in text) for text in asked)
    assert all(("acting" in text) == ("superb" in text) for text in asked)
    assert any("plot" not in text for text in asked)


def test_pairs_have_spans_in_both_texts():
    classifier = piste.from_function(
        lambda pairs: [len(set(a.split()) & set(b.split())) for a, b in pairs]
    )
    given = piste.explain(
        "A man sleeps.", classifier, pair="A dog sleeps.", spans=[(2, 12)], pair_spans=[(0, 5)]
    )
    expected = [("A", 0), ("man sleeps", 0), (".", 0), ("A dog", 1), ("sleeps", 1), (".", 1)]
    assert [(p.text, p.segment) for p in given.players] == expected
    marked = piste.explain("A [[man sleeps]].", classifier, pair="[[A dog]] sleeps.", marks=True)
    assert [(p.text, p.segment) for p in marked.players] == expected
    assert marked.text == given.text


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"spans": [(0, 99)]}, "the text ends at 43"),
        ({"spans": [(3, 2)]}, "holds nothing"),
        ({"spans": [(-1, 2)]}, "whole number from 0"),
        ({"spans": [(0, 5), (3, 8)]}, "overlap"),
        ({"spans": [(3, 4)]}, "holds ' '"),
        ({"spans": "4-x"}, "0-12, 20-31"),
        ({"spans": 5}, "0-12, 20-31"),
        ({"spans": [(1, 2, 3)]}, "0-12, 20-31"),
        ({"spans": [("a", "b")]}, "whole number"),
        ({"unit": "span"}, "no spans are given"),
        ({"marks": "yes"}, "True or False"),
        ({"marks": True, "spans": [(0, 3)]}, "both given"),
        ({"pair_spans": [(0, 3)]}, "but only one text"),
        ({"spans": [(0, 3)], "lexicon": "words.json"}, "holds words"),
    ],
)
def test_spans_that_cannot_be_are_told(settings, says):
    with pytest.raises(SettingError, match=says):
        piste.explain(TEXT, model(), **settings)


@pytest.mark.parametrize("text", ["a ]] b", "[[a [[b]] c]]", "[[a", "a]] [[b"])
def test_marks_that_do_not_match_are_told(text):
    with pytest.raises(InputError, match="do not match"):
        piste.explain(text, model(), marks=True)


words = st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=12)


@given(words, st.randoms(use_true_random=False))
def test_marks_and_spans_are_one_thing(texts, random):
    chosen = [random.random() < 0.5 for _ in texts]
    marked = " ".join(f"[[{w}]]" if own else w for w, own in zip(texts, chosen, strict=True))
    plain, spans = unmarked(marked)
    assert plain == " ".join(texts)
    assert [plain[a:b] for a, b in spans] == [w for w, o in zip(texts, chosen, strict=True) if o]
    encoding = Encoding(
        plain, *zip(*[(i, s, i) for i, s in enumerate(word_spans(plain))], strict=True)
    )
    found = split(encoding, own=spans).items
    assert [token for player in found for token in player.ids] == [*encoding.ids]


def test_a_span_that_ends_inside_a_word_grows_and_says_so():
    found = piste.explain("a goodness film", model(), "occlusion", spans=[(0, 6)])
    assert [player.text for player in found.players] == ["a goodness", "film"]
    assert any("0-6" in note and "no unit as given" in note for note in found.notes)
    fine = piste.explain("a goodness film", model(), "occlusion", spans=[(0, 10)])
    assert fine.notes == ()


@pytest.mark.parametrize("unit", ["span", "word", "phrase", "token", "sentence"])
@pytest.mark.parametrize("span", [(5, 15), (4, 15), (5, 16)])
def test_what_grows_takes_whole_words_and_no_more(unit, span, demo):
    text = "The plot is thin, but the acting is superb."
    found = piste.explain(text, demo, "occlusion", unit=unit, spans=[span])
    assert (found.players[0].text, found.players[1].text) == ("The", "plot is thin")
    assert found.players[2].text.startswith(",")
    assert any("became 4-16" in note for note in found.notes)


def test_spans_that_grow_into_each_other_are_one(demo):
    found = piste.explain("unbelievable film", demo, "occlusion", spans=[(2, 4), (5, 8)])
    assert [player.text for player in found.players] == ["unbelievable", "film"]
    assert any("2 spans are no unit as given" in note for note in found.notes)


def test_spans_hold_in_windows():
    text = " ".join([TEXT] * 40)
    own = [(start + len(TEXT) + 1, end + len(TEXT) + 1) for start, end in OWN]
    found = piste.explain(text, spans=own, long="windows", unit="sentence", method="occlusion")
    assert [p.text for p in found.players].count("plot is thin") == 1
    assert len(found.players) == 40 - 1 + 5
    assert found.notes == ()


def test_many_texts_have_marks_of_their_own():
    found = piste.explain(["[[not good]] at all", "bad"], model(), "occlusion", marks=True)
    assert [[p.text for p in one.players] for one in found] == [["not good", "at", "all"], ["bad"]]


def test_compare_takes_marks():
    found = piste.compare("a [[good film]]", model(), ["occlusion", "lime"], marks=True)
    assert [player.text for player in found.first.players] == ["a", "good film"]


def test_what_is_written_is_what_is_given():
    assert Options(spans=" 4-16, 22-42 ").spans == Options(spans=[[22, 42], [4, 16]]).spans
    text, pair, options = placed(" a b ", None, Options(spans=[(0, 3)]))
    assert (text, pair, options.spans) == (" a b ", None, ((1, 2),))
