"""The figure: headless, literal, readable, the same each time."""

import dataclasses
import itertools
import logging
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from piste.errors import FileError, SettingError
from piste.render import answer, fonts, waterfall
from piste.render.figure import draw
from piste.render.figure_plots import LABELS
from piste.result.explanation import Explanation, Target
from piste.result.facts import Agreement, Fidelity
from tests.render.samples import in_context, many, sample, weighted


def names(figure: Figure) -> list[Annotation]:
    found = figure.axes[0].findobj(Annotation)
    return [item for item in found if isinstance(item, Annotation) and item.get_text()]


def texts(figure: Figure) -> str:
    return " ".join(item.get_text() for item in figure.findobj(matplotlib.text.Text))


@pytest.mark.parametrize("explanation", [sample(), many(2000)], ids=["review", "many"])
def test_labels_do_not_overlap(explanation: Explanation) -> None:
    figure = draw(explanation, kind="plane")
    figure.canvas.draw()
    boxes = [name.get_window_extent() for name in names(figure)]
    assert 10 <= len(boxes) <= LABELS
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(figure.bbox.count_contains(box.corners()) == 4 for box in boxes)


def test_footnotes_stay_inside_the_figure() -> None:
    checks = {"short": Agreement(0.97, 0.1, 20), "deletions": Agreement(-0.04, 0.3, 8)}
    long = "The text has 15,000 tokens, more than the model reads: only the first 510 were used."
    figure = draw(sample(fidelity=Fidelity(checks), notes=(long, long)))
    figure.canvas.draw()
    below = [text for text in figure.texts if text.get_fontsize() == 8.5]
    assert len(below) >= 3
    shown = " ".join(text.get_text() for text in below)
    assert "R² −0.04" in shown
    assert "15,000" in shown
    for text in below:
        assert figure.bbox.count_contains(text.get_window_extent().corners()) == 4


def test_the_figure_tells_the_story() -> None:
    shown = texts(draw(sample()))
    assert answer.sentence(sample()) in shown
    assert "positive, probability 98 %, log-odds +3.90" in shown
    assert "good (R² 0.81 on new short sequences)" in shown
    assert "brilliant" in shown


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")]
)
def test_files_are_the_same_each_time(tmp_path: Path, suffix: str, start: bytes) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    draw(sample(), first)
    draw(sample(), second)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.html"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError) as caught:
        draw(sample(), tmp_path / name)
    assert ".png, .svg, .pdf" in caught.value.remedy
    assert not list(tmp_path.iterdir())


def test_an_unwritable_path_is_a_file_error(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        draw(sample(), tmp_path / "missing" / "a.png")
    assert "Cannot write" in caught.value.cause


@pytest.mark.parametrize(
    "text",
    [
        "costs $5 and $x_1$ \\frac {",
        "日本語 很好 🎉👩‍🚀 great",
        "nul\x00 esc\x1b[31m bidi\u202e lone\ud800",
        "שלום עולם",
        "x" * 2000,
        "word\n\n\n\nword\t\tword",
        "...",
    ],
)
def test_any_text_is_literal_and_silent(tmp_path: Path, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target = Target(0, text[:20], "log-odds", 1.0, 0.7, ("a", "b"))
        draw(sample(text, target=target), tmp_path / "a.png")
        draw(sample(text, target=target), tmp_path / "a.svg")


def test_dollars_stay_dollars() -> None:
    assert "$x_1$" in texts(draw(sample("a $x_1$ b", [(0, 1), (2, 7)])))


def test_other_scores_one_player_zeros_and_a_raw_target() -> None:
    raw = Target(0, "toxic", "raw score", 2.0, None, ("toxic",))
    assert "weight" in texts(draw(weighted()))
    assert "toxic, raw score 2.00" in texts(draw(sample("good", target=raw)))
    assert draw(sample("good", scores={"lin": np.zeros(1)}))
    assert draw(sample(scores={"lin": np.abs(sample().scores["lin"])}))


def test_a_long_text_is_elided() -> None:
    figure = draw(many(4000))
    assert "[…]" in texts(figure)
    assert figure.get_figheight() < 12


def test_the_users_settings_are_neither_used_nor_changed(tmp_path: Path) -> None:
    draw(sample(), tmp_path / "a.svg")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        draw(sample(), tmp_path / "b.svg")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_pyplot_is_never_loaded() -> None:
    code = "import sys, piste.render.figure; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_waterfall_leads_from_the_base_to_the_score() -> None:
    explanation = in_context()
    figure = draw(explanation)
    shown = texts(figure)
    for part in ("only with", "Without “", "empty text", "whole text"):
        assert part in shown
    (axes,) = figure.axes
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    steps = waterfall.steps(explanation)
    assert bars == pytest.approx([pytest.approx((step.start, step.end)) for step in steps])
    assert bars[0][0] == pytest.approx(explanation.base)
    assert bars[-1][1] == pytest.approx(explanation.target.score, abs=1e-6)
    figure.canvas.draw()
    for text in (*figure.texts, *axes.findobj(Annotation)):
        assert figure.bbox.count_contains(text.get_window_extent().corners()) == 4


def test_the_plane_is_drawn_on_request() -> None:
    effects, plane = draw(in_context(), kind="plane").axes
    assert len(effects.patches) == 10
    widths = [bar.get_width() for bar in effects.patches]
    assert widths == [row.scores["effect"] for row in in_context().top(10)]
    colours = {tuple(colour) for colour in plane.collections[0].get_facecolors().round(2)}
    assert len(colours) == 2  # by effect, though hardly a value is below 0
    with pytest.raises(SettingError, match="waterfall"):
        draw(in_context(), kind="pie")


def test_a_font_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_characters", lambda: frozenset(range(0x590)))
    assert "□ stands for 4 characters" in texts(draw(sample("很好 or 不好")))
    assert "Noto Sans CJK" in texts(draw(sample("很好 or 不好")))
    assert "stands for" not in texts(draw(sample("plain words")))


def test_words_from_right_to_left_do_not_turn_the_sentence() -> None:
    sentence = "Without “רע” it would say good."
    assert fonts.literal("plain") == "plain"
    if fonts.SHAPES:
        assert fonts.literal(sentence) == "\u200eWithout “\u2068רע\u2069” it would say good."
    else:
        assert fonts.literal(sentence) == sentence


def test_scores_without_errors_are_drawn(tmp_path: Path) -> None:
    whole = in_context()
    draw(dataclasses.replace(whole, errors={"effect": whole.errors["effect"]}), tmp_path / "a.png")


@pytest.mark.parametrize("text", ["not $x_1$ good \\frac {", "日本語 not 很好 good", "good"])
def test_any_text_in_context_is_literal_and_silent(tmp_path: Path, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(in_context(text), tmp_path / "a.png")


def test_a_fallback_font_with_one_weight_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("matplotlib.font_manager")
    told = "findfont: Failed to find font weight %s for %s, now using 500."
    with caplog.at_level(logging.WARNING, logger=logger.name):
        logger.warning(told, "bold", "WenQuanYi Zen Hei")
        assert not caplog.records
        logger.warning(told, "bold", "A font of the user's")
        logger.warning("findfont: Font family %r not found.", "WenQuanYi Zen Hei")
    assert len(caplog.records) == 2
