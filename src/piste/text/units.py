"""Where the words and sentences of a text are. Decided by the text alone, not by a tokenizer."""

import re
import unicodedata
from functools import lru_cache

Span = tuple[int, int]  # first character, and the one after the last
JOINERS = frozenset("'’‑-·_\u200c\u200d")  # inside a word when letters stand on both sides
ZERO_WIDTH_JOINER = "\u200d"
INVISIBLE = frozenset(("Zs", "Zl", "Zp", "Cc", "Cf", "Cs"))  # separators, controls, formats
# Scripts written without spaces, whose characters each stand for themselves.
CHARACTER_SCRIPTS = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
                     (0x20000, 0x323AF))  # fmt: skip
MODIFIERS = ((0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))
ABBREVIATIONS = frozenset(
    ("mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "vs", "etc", "e.g", "i.e", "inc", "ltd",
     "co", "no", "vol", "fig", "approx", "dept", "est")
)  # fmt: skip
# Possessive, and tried once for each run of marks: what fails at its first mark fails at all of
# them, and trying each would take quadratic time.
SENTENCE_END = re.compile(
    r"(?<![.!?…。！？؟।])[.!?…。！？؟।]++[\"'”’)\]]*+(?=\s|$)|[。！？]++|\n\s*\n"
)


def word_spans(text: str) -> list[Span]:
    """Words (with inner apostrophes and hyphens), and every other visible character by itself.

    Characters that Unicode leaves to fonts (private use) or to its next version count as visible:
    they are icons and new emoji.
    """
    spans: list[Span] = []
    position = 0
    while position < len(text):
        end = _word_end(text, position)
        if end > position:
            spans.append((position, end))
        position = max(end, position + 1)
    return spans


def sentence_spans(text: str) -> list[Span]:
    """Sentences: up to closing punctuation, not after a known abbreviation or an initial."""
    spans: list[Span] = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        if not _is_abbreviation(text, match.start(), match.group()):
            spans += stripped(text, start, match.end())
            start = match.end()
    return spans + stripped(text, start, len(text))


def is_character_script(character: str) -> bool:
    """Whether words of this character's script are not separated by spaces."""
    return any(low <= ord(character) <= high for low, high in CHARACTER_SCRIPTS)


def is_word_character(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM" or character == "_"


def _word_end(text: str, start: int) -> int:
    """The end of the unit that begins at `start`; `start` itself where none begins."""
    if not _is_visible(text[start]):
        return start
    if _letter_at(text, start):
        return _letters_end(text, start)
    return _marks_end(text, start + 1)


def _letters_end(text: str, start: int) -> int:
    end = start
    while end < len(text):
        joins = text[end] in JOINERS and _letter_at(text, end + 1) and _letter_at(text, end - 1)
        if not (_letter_at(text, end) or joins):
            break
        end += 1
    return end


def _letter_at(text: str, index: int) -> bool:
    return 0 <= index < len(text) and _is_letter(text[index])


@lru_cache(maxsize=4096)
def _is_letter(character: str) -> bool:
    """Whether words are made of it, several in a row."""
    return is_word_character(character) and not is_character_script(character)


def _marks_end(text: str, end: int) -> int:
    """Past what belongs to the symbol before `end`: accents, skin tones, joined emoji."""
    while end < len(text):
        if text[end] == ZERO_WIDTH_JOINER and _symbol_at(text, end + 1):
            end += 2
        elif unicodedata.category(text[end])[0] == "M" or _is_modifier(text[end]):
            end += 1
        else:
            break
    return end


def _symbol_at(text: str, index: int) -> bool:
    """Whether a visible character stands there that is not part of a word of letters."""
    return index < len(text) and _is_visible(text[index]) and not _letter_at(text, index)


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in INVISIBLE


def _is_modifier(character: str) -> bool:
    """Whether it changes the emoji before it: a skin tone, or a tag (the flag of Wales has six)."""
    return any(low <= ord(character) <= high for low, high in MODIFIERS)


def _is_abbreviation(text: str, end: int, mark: str) -> bool:
    if mark != ".":
        return False
    word = re.split(r"[\s(\[\"“]", text[max(0, end - 20) : end])[-1].lower()
    return word in ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i")


def stripped(text: str, start: int, end: int) -> list[Span]:
    """The stretch without spaces at its ends; nothing where it holds nothing else."""
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return [(begin, start + len(piece.rstrip()))] if piece.strip() else []
