"""Phrases: short runs of words that belong together, without a parser; or spaCy's noun chunks.

A phrase is a run of function words and the content words that follow: "but the acting", "is not
good", "How many people". It ends at punctuation, and where a function word follows a content word.
The function words are English. In other languages a phrase is a few words in a row.
"""

from __future__ import annotations

import functools
from typing import Any

from piste.errors import SettingError
from piste.extras import require
from piste.text.units import Span, is_word_character, word_spans

CONTENT = 3  # words other than function words in a phrase, at most
LONGEST = 6  # words in a phrase, at most
SPACY_MODEL = "en_core_web_sm"
_WORDS = """
    a an the this that these those each every either neither some any no all both half such
    my your his her its our their whose
    i you he she it we they me him us them myself yourself himself herself itself ourselves
    themselves who whom which what someone anyone everyone something anything everything nothing
    and or but nor so yet if because although though while whereas unless until since when where
    why how whether than as
    of in on at by for with without from to into onto over under above below between among through
    during before after about against across along around behind beside beyond near off out up down
    upon within toward towards per via like despite except
    am is are was were be been being do does did done has have had having
    can could will would shall should may might must ought
    not never hardly barely scarcely too very much more most less least rather quite just only also
    even still there here then
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
CLOSING = frozenset(("it", "him", "them", "me", "us"))  # after a verb, they belong to it
CONTRACTED = ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")


def phrase_spans(text: str) -> list[Span]:
    """Phrases, and every other visible character by itself."""
    words = word_spans(text)
    spans: list[Span] = []
    size = content = 0  # words in the last phrase, and those of them that are no function words
    for place, (start, end) in enumerate(words):
        word = text[start:end]
        if not is_word_character(word[0]):
            spans.append((start, end))
            size = content = 0
            continue
        is_function = _is_function(word) and not _closes(text, words, place, content)
        begins = size == 0 or size == LONGEST or content == CONTENT or (is_function and content > 0)
        if begins:
            spans.append((start, end))
            size = content = 0
        spans[-1] = (spans[-1][0], end)
        size, content = size + 1, content + (not is_function)
    return spans


def _is_function(word: str) -> bool:
    plain = word.lower().replace("’", "'")
    if plain.endswith("n't"):
        return True
    stem = next((plain.removesuffix(end) for end in CONTRACTED if plain.endswith(end)), plain)
    return stem in FUNCTION_WORDS


def _closes(text: str, words: list[Span], place: int, content: int) -> bool:
    """Whether the word is an object that ends a phrase: "loved it", before anything but content."""
    start, end = words[place]
    if not content or text[start:end].lower() not in CLOSING:
        return False
    following = words[place + 1 : place + 2]
    if not following:
        return True
    word = text[following[0][0] : following[0][1]]
    return not is_word_character(word[0]) or _is_function(word)


def noun_chunk_spans(text: str) -> list[Span]:
    """The noun chunks that spaCy finds, and every other word by itself."""
    spans: list[Span] = []
    place = 0
    for chunk in _parser()(text).noun_chunks:
        start, end = int(chunk.start_char), int(chunk.end_char)
        spans += [(place + a, place + b) for a, b in word_spans(text[place:start])]
        spans.append((start, end))
        place = end
    return spans + [(place + a, place + b) for a, b in word_spans(text[place:])]


@functools.cache
def _parser() -> Any:
    spacy = require("spacy", 'unit="noun-chunk"')
    try:
        return spacy.load(SPACY_MODEL)
    except OSError as error:
        raise SettingError(
            f'unit="noun-chunk" needs the spaCy model {SPACY_MODEL}, which is not installed.',
            f'Install it: python -m spacy download {SPACY_MODEL}. Or use unit="phrase", or give'
            " the chunks of any parser as spans=[(start, end), ...].",
        ) from error
