"""Text that is safe to show: what hides or reorders characters becomes a visible sign."""

import re

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
# Joiners U+200C and U+200D stay: emoji and Persian need them.
_INVISIBLE = (
    0x200B,
    *range(0x2060, 0x2065),
    *range(0x206A, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *(0xFFFE, 0xFFFF),  # no characters, and not allowed in XML
)
_TAGS = range(0xE0000, 0xE0080)
_SURROGATES = range(0xD800, 0xE000)
_KEPT = {ord("\n"), ord("\t")}

_SIGNS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(32) if code not in _KEPT},
    0x7F: "\N{SYMBOL FOR DELETE}",
    0x2028: "\N{SYMBOL FOR NEWLINE}",
    0x2029: "\N{SYMBOL FOR NEWLINE}",
    **dict.fromkeys((*range(0x80, 0xA0), *_BIDI, *_INVISIBLE, *_TAGS, *_SURROGATES), _REPLACEMENT),
}
_ONE_LINE = {
    ord("\n"): "\N{SYMBOL FOR LINE FEED}",
    ord("\t"): "\N{SYMBOL FOR HORIZONTAL TABULATION}",
}

# Letters of scripts that run from right to left, and what stands between them.
_LETTERS = r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+"
RIGHT_TO_LEFT = re.compile(rf"{_LETTERS}(?:[ \u200c\u200d]+{_LETTERS})*")


def visible(text: str) -> str:
    """`text` with newlines and tabs kept and every other control or hidden character shown."""
    return text.replace("\r\n", "\n").translate(_SIGNS)


def one_line(text: str, limit: int = 40) -> str:
    """`text` as a label: one line, never blank, at most `limit` characters."""
    line = visible(text).translate(_ONE_LINE)
    if not line.strip():
        return "\N{OPEN BOX}" * len(line) or "(empty)"
    return shorten(line.strip(), limit)


def shorten(text: str, limit: int) -> str:
    """`text`, cut in the middle when it is longer than `limit`."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1].rstrip()}…{text[len(text) - tail :].lstrip()}"
