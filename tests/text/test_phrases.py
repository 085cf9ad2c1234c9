"""Phrases: what belongs together without a parser."""

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import piste
from piste.errors import SettingError
from piste.text import phrases
from piste.text.phrases import CONTENT, LONGEST, noun_chunk_spans, phrase_spans
from piste.text.units import word_spans


def cut(text, spans):
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The plot is thin, but the acting is superb.",
            ["The plot", "is thin", ",", "but the acting", "is superb", "."],
        ),
        ("It is not good", ["It is not good"]),
        ("How many people live in the city?", ["How many people live", "in the city", "?"]),
        ("They didn’t like it.", ["They didn’t like it", "."]),
        ("I loved it because it works", ["I loved it", "because it works"]),
        ("said it works", ["said", "it works"]),
        ("rot gelb grün blau weiß", ["rot gelb grün", "blau weiß"]),
        ("good (bad) film", ["good", "(", "bad", ")", "film"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_phrases_are_function_words_and_what_follows(text, expected):
    assert cut(text, phrase_spans(text)) == expected


@given(st.text(st.sampled_from("ab thenotgood.,'’\n漢字🙂é-"), max_size=80))
def test_every_word_is_in_one_phrase_and_none_is_too_long(text):
    spans, words = phrase_spans(text), word_spans(text)
    owners = [[s for s in spans if s[0] <= start and end <= s[1]] for start, end in words]
    assert all(len(owner) == 1 for owner in owners)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    for start, end in spans:
        inside = [one for one in words if start <= one[0] and one[1] <= end]
        assert 1 <= len(inside) <= LONGEST
        content = [one for one in inside if not phrases._is_function(text[one[0] : one[1]])]
        assert len(content) <= CONTENT + 1


def test_an_explanation_by_phrase_adds_up():
    found = piste.explain("The plot is thin, but the acting is superb.", unit="phrase")
    assert [player.text for player in found.players][3] == "but the acting"
    assert found.base + found.scores["effect"].sum() == pytest.approx(found.target.score, abs=1e-6)


def chunk(start, end):
    return SimpleNamespace(start_char=start, end_char=end)


def test_noun_chunks_are_those_of_spacy(monkeypatch):
    """A stand-in for the library, which the test environment does not hold."""
    text = "The old man reads a book."
    parser = lambda given: SimpleNamespace(noun_chunks=[chunk(0, 11), chunk(18, 24)])  # noqa: E731
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=lambda name: parser))
    phrases._parser.cache_clear()
    try:
        assert cut(text, noun_chunk_spans(text)) == ["The old man", "reads", "a book", "."]
    finally:
        phrases._parser.cache_clear()


def test_a_missing_model_of_spacy_is_told(monkeypatch):
    def load(name):
        raise OSError(f"Can't find model {name!r}")

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    with pytest.raises(SettingError, match="python -m spacy download en_core_web_sm"):
        noun_chunk_spans("A text.")
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(SettingError, match=r"piste\[spacy\]"):
        noun_chunk_spans("A text.")
