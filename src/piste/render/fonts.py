"""Which font draws which character in a figure, so that none is missing and none warns."""

import functools

from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

BASE = "DejaVu Sans"  # ships with matplotlib
MISSING = "\N{WHITE SQUARE}"
# For scripts that the base font lacks; only those installed are used.
_FALLBACKS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans",
    "WenQuanYi Zen Hei",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Sans Symbols 2",
    "Arial Unicode MS",
)


@functools.cache
def families() -> list[str]:
    """The base font and the fallbacks that this machine has."""
    installed = {font.name for font in fontManager.ttflist}
    return [BASE, *(name for name in _FALLBACKS if name in installed)]


def drawable(text: str) -> str:
    """`text` with a square for each character that no font here can draw."""
    known = _characters()
    return "".join(c if ord(c) in known else "" if _joins(c) else MISSING for c in text)


def _joins(character: str) -> bool:
    """Joiners and variation selectors shape their neighbours and have no look of their own."""
    return 0x200C <= ord(character) <= 0x200D or 0xFE00 <= ord(character) <= 0xFE0F


@functools.cache
def _characters() -> frozenset[int]:
    files = (findfont(FontProperties(family=name)) for name in families())
    return frozenset(code for file in files for code in get_font(file).get_charmap())
