"""Where the tokens and words that another library scored stand in the text.

Tokenizers mark, lower-case and split; libraries drop punctuation. So a text and a token are
compared in small letters without accents, and marks such as ##, Ġ and ▁ are taken off first.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

from piste.text.units import Span, is_word_character

SPECIAL = re.compile(r"\[[A-Z]+\d*\]|<[^<>\s|]+>|<\|[^|]+\|>")  # [CLS], </s>, <|endoftext|>
UNKNOWN = frozenset({"[UNK]", "<unk>"})
MARKS = "Ġ▁Ċĉ \t\r\n"
ACCENTED = ("LATIN", "GREEK", "CYRILLIC")  # scripts whose tokenizers take accents off


def complete(tokens: Sequence[str], text: str, until: int) -> list[Span | None] | None:
    """The place of every token of a text that was cut into tokens; None where it was not.

    One after the other up to `until`, with nothing but blanks and punctuation left out. Special
    tokens have no place, unknown ones have what lies between their neighbours.
    """
    spans: list[Span | None] = []
    folded_text, position = folded(text), 0
    bare = [stripped(token) for token in bytes_read(tokens)]
    for index, piece in enumerate(bare):
        span = _here(folded_text, folded(piece), position)
        following = folded(bare[index + 1]) if index + 1 < len(bare) else ""
        if _is_frame(piece, index, span, _here(folded_text, following, position)):
            span = None
        elif span is None and piece and not SPECIAL.fullmatch(piece):
            after = _beyond(folded_text, folded(piece), position, spans, bare)
            if after is None:
                return None
            span = after
        spans.append(span)
        position = position if span is None else span[1]
    return _with_gaps(spans, bare, text, until)


def _is_frame(piece: str, index: int, span: Span | None, following: Span | None) -> bool:
    """Whether the first token is the model's own [CLS], and not one that a person typed."""
    return index == 0 and span == following and bool(SPECIAL.fullmatch(piece)) and span is not None


def _here(text: str, piece: str, position: int) -> Span | None:
    """The span of the piece if it comes next, skipping blanks and punctuation."""
    if not piece:
        return None
    for start in range(position, len(text) + 1):
        if text.startswith(piece, start):
            return start, start + len(piece)
        if start < len(text) and is_word_character(text[start]):
            return None
    return None


def _beyond(
    text: str, piece: str, position: int, spans: Sequence[Span | None], bare: Sequence[str]
) -> Span | None:
    """The piece further on, which is allowed after an unknown token only: that covers the gap."""
    if not spans or bare[len(spans) - 1] not in UNKNOWN:
        return None
    start = text.find(piece, position)
    return None if start < 0 else (start, start + len(piece))


def _with_gaps(
    spans: list[Span | None], bare: Sequence[str], text: str, until: int
) -> list[Span | None] | None:
    """Unknown tokens have the stretch between their neighbours; None where letters are left."""
    position = 0
    for index, span in enumerate(spans):
        if span is None and bare[index] in UNKNOWN:
            following = [after[0] for after in spans[index + 1 :] if after is not None]
            end = following[0] if following else until
            start = position + len(text[position:end]) - len(text[position:end].lstrip())
            stop = start + len(text[start:end].rstrip())
            spans[index] = (start, stop) if stop > start else None
        if spans[index] is not None:
            start, end = spans[index] or (0, 0)
            if any(map(is_word_character, text[position:start])):
                return None
            several = bare[index] in UNKNOWN and bare[index + 1 : index + 2] == [bare[index]]
            position = position if several else end  # they share the gap
    return None if any(map(is_word_character, text[position:until])) else spans


def words(wanted: Sequence[str], text: str) -> list[list[Span]]:
    """All places of each word in the text, whole words only.

    Words in other letters (`Good`) are the same, unless the wanted ones tell them apart.
    """
    times = Counter(map(folded, wanted))
    low = folded(text)
    return [
        _whole(low, folded(word)) if times[folded(word)] == 1 else _whole(text, word)
        for word in wanted
    ]


def _whole(text: str, word: str) -> list[Span]:
    if not word.strip():
        return []
    spans = [(m.start(), m.end()) for m in re.finditer(re.escape(word.strip()), text)]
    return [span for span in spans if _is_whole(text, *span)]


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word character of the span continues beyond it on either side."""
    before = start > 0 and is_word_character(text[start]) and is_word_character(text[start - 1])
    after = end < len(text) and is_word_character(text[end - 1]) and is_word_character(text[end])
    return not before and not after


def stripped(token: str) -> str:
    """A piece without the marks of its tokenizer: ##ing, Ġfilm, ▁film, film</w>, fil@@."""
    bare = token.strip(MARKS)
    if bare.startswith("##") and len(bare) > 2:
        bare = bare[2:]
    if bare.endswith("@@") and len(bare) > 2:
        bare = bare[:-2]
    return bare.removesuffix("</w>")


def folded(text: str) -> str:
    """The text in lower case without accents, with its length unchanged."""
    return "".join(map(_letter, text))


@cache
def _letter(character: str) -> str:
    base, *marks = list(unicodedata.normalize("NFD", character))
    accents = bool(marks) and all(unicodedata.category(mark) == "Mn" for mark in marks)
    if accents and unicodedata.name(base, "").startswith(ACCENTED):
        character = base
    low = character.lower()
    return low if len(low) == 1 else character


def bytes_read(tokens: Sequence[str]) -> list[str]:
    """Tokens of a byte-level tokenizer (GPT-2, RoBERTa) as the letters that their bytes spell.

    A letter of several bytes may be cut in two: its first token has it.
    """
    listed = [str(token) for token in tokens]
    plain = [token for token in listed if not SPECIAL.fullmatch(token)]
    alphabet = _byte_alphabet()
    spells_bytes = all(set(token) <= alphabet.keys() for token in plain)
    if not spells_bytes or not any("Ġ" in token for token in plain):
        return listed
    texts, open_bytes, owner = list(listed), b"", 0
    for index, token in enumerate(listed):
        if SPECIAL.fullmatch(token):
            continue
        owner = owner if open_bytes else index
        open_bytes += bytes(alphabet[character] for character in token)
        texts[index] = ""
        try:
            texts[owner], open_bytes = open_bytes.decode("utf-8"), b""
        except UnicodeDecodeError:
            continue
    return texts


@cache
def _byte_alphabet() -> dict[str, int]:
    """The letters that byte-level tokenizers write bytes as: visible ones stand for themselves."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {
        chr(256 + place): byte for place, byte in enumerate(hidden)
    }
