"""Hidden and controlling characters are shown, everything else is left alone."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piste.render.clean import one_line, shorten, visible

ANY = st.text(alphabet=st.characters(exclude_categories=()))


@pytest.mark.parametrize("text", ["plain words", "two\nlines\tand a tab", "naïve 日本語 שלום 👩‍🚀"])
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert visible(text) == text


def test_escape_and_nul_become_pictures() -> None:
    assert visible("\x1b[31m\x00\x7f") == "␛[31m␀␡"


def test_bidi_overrides_and_hidden_characters_become_replacement_signs() -> None:
    assert visible("a\u202eb\u2066c\u200bd\ue000") == "a�b�c�d\ue000"


def test_windows_line_ends_are_line_ends() -> None:
    assert visible("a\r\nb\rc") == "a\nb␍c"


@settings(deadline=None)
@given(ANY)
def test_nothing_controlling_is_left(text: str) -> None:
    shown = visible(text)
    assert not {c for c in shown if unicodedata.category(c) in ("Cc", "Cs")} - {"\n", "\t"}
    shown.encode("utf-8")


@settings(deadline=None)
@given(ANY, st.integers(4, 60))
def test_a_label_is_short_and_on_one_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert line
    assert "\n" not in line
    assert "\t" not in line
    assert len(line) <= max(limit, len("(empty)"))


def test_a_blank_label_can_be_seen() -> None:
    assert one_line("  ") == "␣␣"
    assert one_line("\n") == "␊"
    assert one_line("") == "(empty)"


def test_shortening_keeps_both_ends() -> None:
    assert shorten("abcdefghij", 7) == "abcd…ij"
