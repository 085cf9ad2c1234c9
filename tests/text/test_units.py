import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piste.text.units import ABBREVIATIONS, sentence_spans, word_spans


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
        (
            "new \U0001fffd\U0001fffd, icon \ue000",
            ["new", "\U0001fffd", "\U0001fffd", ",", "icon", "\ue000"],
        ),
        ("👍\u200dfilm 👍\u200d ok", ["👍", "film", "👍", "ok"]),
        ("🏴\U000e0067\U000e0062\U000e007f!", ["🏴\U000e0067\U000e0062\U000e007f", "!"]),
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


ODD = {  # texts in which every further character once had all those before or after it read again
    "dots": lambda n: "." * n + "x",
    "dots and quotes": lambda n: "." * n + '"' * n + "x",
    "full stops of two scripts": lambda n: "。." * n + "x",
    "blank lines": lambda n: "\n " * n + "x",
    "a line end and blanks": lambda n: "\n" + " " * n + "x",
    "joined emoji": lambda n: "👍\u200d" * n,
    "accents": lambda n: "❤" + "\u0301" * n,
    "hyphens": lambda n: "a-" * n,
    "abbreviations": lambda n: "Dr. " * n,
}


def seconds(function, *arguments) -> float:
    """Of this thread alone, the least of three: other processes do not count."""
    times = []
    for _ in range(3):
        start = time.thread_time()
        function(*arguments)
        times.append(time.thread_time() - start)
    return min(times)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("split", [word_spans, sentence_spans])
def test_time_grows_with_the_length_of_odd_texts_and_not_with_its_square(split, name):
    """Sixteen times the text: linear work takes 16 times as long, quadratic work 256 times."""
    short, long = (seconds(split, ODD[name](n)) for n in (1_000, 16_000))
    assert long < 80 * short


def by_plain_search(text: str) -> list[str]:
    """Sentences by the rule itself: every mark is tried, and every ending after it."""
    marks, closing, wide = ".!?…。！？؟।", "\"'”’)]", "。！？"
    ends, at = [], 0
    while at < len(text):
        found = _end_at(text, at, marks, closing) or _run(text, at, wide) or _blank_line(text, at)
        if found and not (text[at:found] == "." and _is_short(text[:at])):
            ends.append(found)
        at = found or at + 1
    cuts = [0, *ends, len(text)]
    return [piece.strip() for a, b in pairwise(cuts) if (piece := text[a:b]).strip()]


def _run(text: str, at: int, characters: str) -> int:
    end = at
    while end < len(text) and text[end] in characters:
        end += 1
    return end if end > at else 0


def _end_at(text: str, at: int, marks: str, closing: str) -> int:
    end = _run(text, at, marks)
    end = end and (_run(text, end, closing) or end)
    return end if end and (end == len(text) or text[end].isspace()) else 0


def _blank_line(text: str, at: int) -> int:
    end = at
    while end < len(text) and text[end].isspace():
        end += 1
    return (
        0 if text[at] != "\n" or "\n" not in text[at + 1 : end] else text.rindex("\n", at, end) + 1
    )


def _is_short(before: str) -> bool:
    word = re.split(r"[\s(\[\"“]", before[-20:])[-1].lower()
    return word in ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i")


@given(st.text(st.sampled_from(list(".!?…。！؟\"')] \n\txI.Dr")), max_size=20))
@settings(max_examples=500)
def test_sentences_are_those_of_a_plain_search(text):
    assert sentences(text) == by_plain_search(text)


@given(st.text(max_size=60))
def test_spans_are_ordered_apart_and_hold_every_letter(text):
    for spans in (word_spans(text), sentence_spans(text)):
        flat = [edge for span in spans for edge in span]
        assert flat == sorted(flat)
        assert all(start < end for start, end in spans)
    covered = {i for start, end in word_spans(text) for i in range(start, end)}
    assert all(i in covered for i, char in enumerate(text) if char.isalnum())
