"""The terminal: informative without colours, and deaf to markup and escape codes."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from piste.render.terminal import USUAL, View, as_text, show
from piste.render.words import signed
from piste.result.explanation import Explanation, Target
from piste.result.facts import Agreement, Fidelity
from tests.render.samples import REVIEW, in_context, many, sample, weighted

HOSTILE = (
    "[bold]great[/bold] [link=http://x]film[/] \x1b[31mred\x1b]0;title\x07 \u202eevil :smile: \x00"
)


def coloured(explanation: Explanation, width: int = 100, view: View = USUAL) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system="truecolor")
    show(explanation, console, view)
    return stream.getvalue()


def test_plain_text_is_returned_in_a_notebook_too(monkeypatch) -> None:
    """There rich displays what it prints, and a `print(explanation)` would print nothing."""
    outside = as_text(sample())
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert Console().is_jupyter
    assert as_text(sample()) == outside


def test_plain_text_tells_the_story() -> None:
    text = as_text(sample())
    *answer, facts = text.split("\n\n")[0].splitlines()
    assert answer[0].startswith("positive (98 %); it rests on many words: the strongest is “bri")
    assert facts == "log-odds +3.90; other label: negative"
    assert "I went in expecting very little" in text
    assert "R² 0.81" in text
    assert "· Cost: 70 forward passes of the full text, 0.4 s (slalom, seed 0, model" in text
    assert "could not be told apart" in text
    row = next(line for line in text.splitlines() if line.strip().startswith("dull"))
    assert row.split()[1].startswith("−")
    assert "█│" in row
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_str_is_the_plain_text() -> None:
    assert str(sample()) == as_text(sample())


def test_colours_appear_only_where_there_are_colours() -> None:
    legend = View(legend=True)
    assert "colours" in coloured(sample(), view=legend)
    assert "48;2;" in coloured(sample())
    assert "colours" not in as_text(sample(), legend)


def test_repeated_words_are_counted_only_if_there_are_any() -> None:
    assert "  good 2×  " in as_text(sample("good bad good"))
    assert "×" not in as_text(sample("good bad"))


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
    text = as_text(sample(fidelity=Fidelity({"short": Agreement(-0.3, 2.0, 90)})))
    assert text.startswith("! Warning: These scores don't hold even for short sequences")
    assert "(98 %); according to these scores it rests on many words: the strongest is" in text


def test_other_scores_one_player_and_a_raw_target() -> None:
    target = Target(0, "toxic", "raw score", 2.0, None, ("toxic",))
    assert "weight" in as_text(weighted())
    text = as_text(sample("good", target=target))
    assert text.startswith("toxic 2.00, raised mainly by “good”.\n\n")
    assert "probability" not in text
    assert as_text(sample("good", scores={"lin": np.zeros(1)}))


def test_a_narrow_terminal_works() -> None:
    assert "brilliant" in coloured(sample(REVIEW), width=50)


def test_no_players_at_all() -> None:
    assert "positive" in as_text(sample("..."))


def rows_of(text: str) -> list[str]:
    """The lines of the table, from its title to the empty line."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("  word"))
    return lines[start + 1 : lines.index("", start)]


def test_the_table_leads_from_the_base_to_the_score() -> None:
    explanation = in_context()
    first, *words, last = rows_of(as_text(explanation, View(top=50)))
    assert first.split()[:3] == ["(empty", "text)", signed(explanation.base, 1.0)]
    assert last.split()[:3] == ["=", "score", signed(explanation.target.score)]
    *named, others = words  # those that do nothing share a row
    assert len(named) + int(others.split()[0]) == len(explanation.players)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_numbers_and_what_tells_words_apart_are_never_cut(width: int, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    long = in_context(
        "the meal was not good Donaudampfschifffahrtsgesellschaft", pair="good indeed"
    )
    for row in rows_of(as_text(long)):
        assert "(text " in row or "(empty texts)" in row or "= score" in row or "other" in row
        assert "……" not in row
        assert re.search(r"[+−]?\d(\.\d+)?( ±\d+\.\d+)? ", row), row


def test_each_bar_starts_where_the_last_one_ended() -> None:
    def bar(line: str) -> tuple[int, int]:
        drawn = [place for place, sign in enumerate(line) if sign in "█▒▏"]
        return drawn[0], drawn[-1] + 1

    first, *words, last = rows_of(as_text(in_context(), View(top=50)))
    here = first.index("▌")
    for line in words:
        low, high = bar(line)
        if "▏" in line:
            assert abs(low - here) <= 1
        elif "█" in line:
            assert low == here
            here = high
        else:
            assert high == here
            here = low
    assert abs(last.index("▌") - here) <= 1


def test_only_so_many_words_are_shown_and_the_others_counted() -> None:
    explanation = in_context()
    rows = rows_of(as_text(explanation, View(top=3)))
    assert len(rows) == 3 + 3  # base, others and score
    assert rows[4].startswith(f"  {len(explanation.players) - 3} other words  ")
    assert "word, 3 of " in as_text(sample(), View(top=3))


def test_brief_is_the_answer_and_the_words() -> None:
    text = as_text(in_context(), View(brief=True))
    assert text.splitlines()[0].startswith("yes (")
    assert "= score" in text
    for part in ("Fidelity", "Cost", "only with", "\n  the meal was"):
        assert part in as_text(in_context())
        assert part not in text
    poor = sample(fidelity=Fidelity({"short": Agreement(-0.3, 2.0, 90)}))
    assert as_text(poor, View(brief=True)).startswith("! Warning")


def test_the_legend_comes_when_asked_for() -> None:
    assert "Shapley value" not in as_text(in_context())
    legend = as_text(in_context(), View(legend=True))
    assert "Shapley value" in legend
    assert "Stopped " in legend
    assert "sequences" in legend


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    pair = in_context("the meal was not", pair="good indeed")
    chinese = sample(
        "这部电影不是很好 但是演员非常出色而且非常非常非常非常非常非常非常出色 good film"
    )
    for explanation in (sample(), in_context(), weighted(), many(300), pair, chinese):
        for view in (USUAL, View(legend=True)):
            assert max(map(cell_len, as_text(explanation, view).splitlines())) <= width


@pytest.mark.parametrize(("asked", "width"), [("", 100), ("x", 100), ("0", 100), ("7", 40)])
def test_odd_widths_are_not_obeyed(asked: str, width: int, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", asked)
    assert width - 30 < max(map(cell_len, as_text(sample()).splitlines())) <= width


def test_long_texts_are_shown_in_whole_sentences() -> None:
    spare = "We saw it on a Monday with two friends and a dog. " * 20
    told = "The second act is superb."
    explanation = sample(f"{spare}{told} {spare}")
    shown = re.sub(r"\s+", " ", as_text(explanation).split("negative", 1)[1].split("word,")[0])
    for sentence in re.split(r"(?<=\.) ", shown.replace("[…]", "").strip()):
        assert sentence.strip() in (told, spare[:49].strip())
    assert told in shown


def test_rounding_is_not_shown_beside_real_effects() -> None:
    text = as_text(in_context())
    assert "e−" not in text
    explanation = in_context()
    effects = np.where(np.arange(len(explanation.players)) < 4, -4.2e-8, 2.0)
    errors = {"effect": np.full(len(effects), 7e-5)}
    tiny = replace(explanation, scores={"effect": effects}, errors=errors)
    shown = as_text(tiny)
    assert "e−" not in shown
    assert "+2.00 ±0.00" in shown
