import pytest
from hypothesis import given
from hypothesis import strategies as st

from piste.text.units import sentence_spans, word_spans


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The plot is thin.", ["The", "plot", "is", "thin", "."]),
        ("I don't like state-of-the-art", ["I", "don't", "like", "state-of-the-art"]),
        ("rock 'n' roll - wow", ["rock", "'", "n", "'", "roll", "-", "wow"]),
        ("naïve cafe\u0301s", ["naïve", "cafe\u0301s"]),
        ("3.14 snake_case", ["3", ".", "14", "snake_case"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("我爱电影", ["我", "爱", "电", "影"]),
        ("so 👍🏽👨‍👩‍👧!", ["so", "👍🏽", "👨‍👩‍👧", "!"]),
        ("a\x00b\tc\u200bd", ["a", "b", "c", "d"]),
        ("<b>hi</b>", ["<", "b", ">", "hi", "<", "/", "b", ">"]),
        (" \n\t", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Who met J. Smith. They spoke.", ["Dr. Who met J. Smith.", "They spoke."]),
        ('He said "no." Then left...', ['He said "no."', "Then left..."]),
        ("v1.2 is out. Ok", ["v1.2 is out.", "Ok"]),
        ("line one\n\nline two", ["line one", "line two"]),
        ("好看。不好看！", ["好看。", "不好看！"]),
        ("no end", ["no end"]),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


@given(st.text(max_size=60))
def test_spans_are_ordered_apart_and_hold_every_letter(text):
    for spans in (word_spans(text), sentence_spans(text)):
        flat = [edge for span in spans for edge in span]
        assert flat == sorted(flat)
        assert all(start < end for start, end in spans)
    covered = {i for start, end in word_spans(text) for i in range(start, end)}
    assert all(i in covered for i, char in enumerate(text) if char.isalnum())
