"""The terminal: informative without colours, and deaf to markup and escape codes."""

import io
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from piste.render.terminal import as_text, show
from piste.result.explanation import Explanation, Target
from piste.result.facts import Agreement, Fidelity
from tests.render.samples import REVIEW, many, sample, weighted

HOSTILE = (
    "[bold]great[/bold] [link=http://x]film[/] \x1b[31mred\x1b]0;title\x07 \u202eevil :smile: \x00"
)


def coloured(explanation: Explanation, width: int = 100) -> str:
    stream = io.StringIO()
    show(
        explanation,
        Console(file=stream, width=width, force_terminal=True, color_system="truecolor"),
    )
    return stream.getvalue()


def test_plain_text_is_returned_in_a_notebook_too(monkeypatch) -> None:
    """There rich displays what it prints, and a `print(explanation)` would print nothing."""
    outside = as_text(sample())
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert Console().is_jupyter
    assert as_text(sample()) == outside


def test_plain_text_tells_the_story() -> None:
    text = as_text(sample())
    assert text.startswith("positive, probability 98 %, log-odds +3.90 (other label: negative)")
    assert "I went in expecting very little" in text
    assert "R² 0.81" in text
    assert "70 forward passes of the full text (412 sequences, 2,310 tokens), 0.4 s" in text
    assert "could not be told apart" in text
    row = next(line for line in text.splitlines() if line.strip().startswith("dull"))
    assert row.split()[1].startswith("−")
    assert "█│" in row
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_str_is_the_plain_text() -> None:
    assert str(sample()) == as_text(sample())


def test_colours_appear_only_where_there_are_colours() -> None:
    assert " against " in coloured(sample())
    assert "48;2;" in coloured(sample())
    assert "  colours " not in as_text(sample())


def test_repeated_words_are_counted_only_if_there_are_any() -> None:
    assert "times" in as_text(sample("good bad good"))
    assert "2×" in as_text(sample("good bad good"))
    assert " times " not in as_text(sample("good bad")).split("value ")[0]


def test_markup_and_escapes_are_shown_not_obeyed() -> None:
    target = Target(0, "[red]x[/red]\x1b[0m", "log-odds", 1.0, 0.7, ("a", "[b]"))
    text = as_text(sample(HOSTILE, target=target, notes=("[/] \x1b[2J",), model="[m]\x07"))
    assert "[bold]great[/bold]" in text
    assert "[red]x[/red]␛[0m" in text
    assert "[/] ␛[2J" in text
    assert ":smile:" in text
    assert "�evil" in text
    assert not set("\x1b\x07\x00\u202e") & set(text)


def test_colour_output_has_no_foreign_escapes() -> None:
    rest = re.sub(r"\x1b\[[0-9;]*m", "", coloured(sample(HOSTILE)))
    assert "\x1b" not in rest
    assert "␛]0;title␇" in rest


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=60))
def test_any_text_can_be_shown(text: str) -> None:
    shown = as_text(sample(text, [(0, len(text))]))
    assert "\x1b" not in shown
    shown.encode("utf-8")


def test_ten_thousand_words_do_not_flood() -> None:
    text = as_text(many())
    assert len(text.splitlines()) < 60
    assert "[…]" in text
    assert "word" in text


def test_many_empty_lines_do_not_flood() -> None:
    assert len(as_text(sample("good" + "\n" * 900 + "bad")).splitlines()) < 40


def test_low_fidelity_warns() -> None:
    assert "! Warning: The explanation misses" in as_text(
        sample(fidelity=Fidelity({"short": Agreement(-0.3, 2.0, 90)}))
    )


def test_other_scores_one_player_and_a_raw_target() -> None:
    target = Target(0, "toxic", "raw score", 2.0, None, ("toxic",))
    assert "weight" in as_text(weighted())
    text = as_text(sample("good", target=target))
    assert text.startswith("toxic, raw score +2.00\n")
    assert "probability" not in text
    assert as_text(sample("good", scores={"lin": np.zeros(1)}))


def test_a_narrow_terminal_works() -> None:
    assert "brilliant" in coloured(sample(REVIEW), width=50)


def test_no_players_at_all() -> None:
    assert "positive" in as_text(sample("..."))
