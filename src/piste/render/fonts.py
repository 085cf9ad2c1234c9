"""Which font draws which character in a figure, so that none is missing and none warns."""

import functools
import logging
import unicodedata

from matplotlib import ft2font
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

from piste.errors import several
from piste.render.clean import RIGHT_TO_LEFT, visible

BASE = "DejaVu Sans"  # ships with matplotlib
MISSING = "\N{WHITE SQUARE}"
# For scripts that the base font lacks; only those installed are used.
_FALLBACKS = (
    *(f"Noto Sans CJK {region}" for region in ("SC", "JP", "TC", "KR")),
    *(f"Noto Serif CJK {region}" for region in ("SC", "JP")),
    "Source Han Sans SC",
    "Microsoft YaHei",
    "SimHei",
    "SimSun",
    "PingFang SC",
    "Hiragino Sans",
    "Yu Gothic",
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Thai",
    "Nirmala UI",
    "Leelawadee UI",
    "Noto Sans Symbols 2",
    "Segoe UI Symbol",
    "Arial Unicode MS",
)
_SCRIPTS = {  # how the names of characters begin, and what to install
    "CJK": "Chinese, Japanese and Korean (Noto Sans CJK)",
    "HIRAGANA": "Chinese, Japanese and Korean (Noto Sans CJK)",
    "KATAKANA": "Chinese, Japanese and Korean (Noto Sans CJK)",
    "HANGUL": "Chinese, Japanese and Korean (Noto Sans CJK)",
}
# Since 3.11, matplotlib shapes letters and orders them as they are read.
SHAPES = hasattr(ft2font, "__libraqm_version__")
_ISOLATE, _POP, _MARK = "\u2068", "\u2069", "\u200e"


def _matters(record: logging.LogRecord) -> bool:
    """Whether matplotlib's word on a font is for the user: not that a fallback has one weight."""
    told = record.getMessage()
    return "Failed to find font weight" not in told or not any(name in told for name in _FALLBACKS)


logging.getLogger("matplotlib.font_manager").addFilter(_matters)


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


def literal(text: str) -> str:
    """Text that can be drawn as it is; every string of an explanation passes here.

    Words that run from right to left are isolated, so that a sentence keeps its order.
    """
    shown = drawable(visible(text))
    if not SHAPES or shown.isascii():
        return shown
    apart = RIGHT_TO_LEFT.sub(rf"{_ISOLATE}\g<0>{_POP}", shown)
    return shown if apart == shown else f"{_MARK}{apart}"


def undrawn(text: str) -> str | None:
    """What is missing on this machine to draw the text as it is written; None if nothing is."""
    known = _characters()
    missing = [c for c in text if ord(c) not in known and not _joins(c) and not c.isspace()]
    if missing:
        kinds = dict.fromkeys(map(_script, missing))
        fonts = " and ".join([*kinds][:3])
        needs = "it needs" if len(missing) == 1 else "they need"
        return f"□ stands for {several(len(missing), 'character')}; {needs} a font for {fonts}."
    if not SHAPES and RIGHT_TO_LEFT.search(text):
        return "The letters are not joined and ordered properly: matplotlib 3.11 does that."
    return None


def _script(character: str) -> str:
    kind = unicodedata.name(character, "other characters").split()[0].split("-")[0]
    return _SCRIPTS.get(kind, f"{kind.capitalize()} (Noto Sans)")
