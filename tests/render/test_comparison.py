"""A comparison made visible: complete, literal, and with an answer to what one may trust."""

import io
import re
from html import unescape

import matplotlib
import numpy as np
import pytest
from rich.console import Console

from piste.compare import Comparison, Figures, Protocol
from piste.metrics.agreement import agreement
from piste.render import comparison_words as said
from piste.render.comparison_figure import draw
from piste.render.comparison_html import page
from piste.render.comparison_terminal import as_text, show
from tests.render.samples import REVIEW, sample
from tests.render.test_html import HOSTILE, read

FIGURES = {
    "slalom": Figures(0.61, 0.02, 0.31),
    "lime": Figures(0.60, 0.01, 0.55),
    "attention": Figures(0.10, 0.30, None),
}


def comparison(text: str = REVIEW, measured: dict[str, Figures] | None = None, **changes):
    base = sample(text)
    found = {
        "slalom": base,
        "lime": sample(text, scores={"weight": base.scores["value"]}, primary="weight"),
        "attention": sample(
            text, scores={"alpha-avg": np.abs(base.scores["value"])}, primary="alpha-avg"
        ),
    }
    fields = {
        "explanations": found,
        "failed": {},
        "agreement": agreement(list(found.values())),
        "measured": measured or {},
        "protocol": Protocol(25, 60, 5, 123) if measured else None,
    }
    return Comparison(**{**fields, **changes})


def colours(text: str) -> str:
    stream = io.StringIO()
    show(
        comparison(text, FIGURES),
        Console(file=stream, force_terminal=True, color_system="truecolor", width=100),
    )
    return stream.getvalue()


def drawn(figure: matplotlib.figure.Figure) -> str:
    return " ".join(item.get_text() for item in figure.findobj(matplotlib.text.Text))


def test_one_method_best_at_both_is_named():
    assert "Trust slalom most" in said.verdict(comparison(measured=FIGURES))


def test_the_best_ranking_and_the_best_prediction_may_differ():
    figures = {**FIGURES, "lime": Figures(0.7, 0.01, 0.55)}
    told = said.verdict(comparison(measured=figures))
    assert "Trust lime on which words decide" in told
    assert "Trust slalom on what removing words does" in told


def test_figures_of_one_text_that_hardly_differ_name_no_other_winner():
    figures = {**FIGURES, "lime": Figures(FIGURES["slalom"].deletion + 0.01, 0.01, 0.55)}
    assert said.verdict(comparison(measured=figures)).startswith("Trust slalom most here")


def test_each_method_has_its_own_figure_best_first():
    near = FIGURES["slalom"].deletion + 0.01
    figures = {**FIGURES, "lime": Figures(near, 0.01, FIGURES["slalom"].removal_error)}
    told = said.verdict(comparison(measured=figures))
    assert told.startswith("Trust lime and slalom most here")
    assert f"(deletion {near:.2f} and {near - 0.01:.2f})" in told
    assert f"(removal error {FIGURES['slalom'].removal_error:.2f} each)" in told


def test_the_star_is_explained_below_its_table():
    shown = as_text(comparison(measured=FIGURES))
    assert "* the best of its column" in shown
    assert "*" not in as_text(comparison())


def test_a_prediction_that_is_hardly_better_than_none_is_called_so():
    figures = {**FIGURES, "slalom": Figures(0.7, 0.01, 0.85), "lime": Figures(0.1, 0.01, 1.2)}
    told = said.verdict(comparison(measured=figures))
    assert "(removal error 0.85, hardly better than predicting no change)" in told


def test_the_headline_says_whether_the_methods_agree():
    both = {name: sample() for name in ("slalom", "lime")}
    alike = comparison(explanations=both, agreement=np.ones((2, 2)))
    word = sample().top(1)[0].player.text
    assert said.headline(alike) == (
        f"positive (98 %). Both methods put “{word}” first; they rank the words alike"
        " (correlation at least 1.00)."
    )
    apart = comparison(explanations=both, agreement=np.array([[1.0, -0.2], [-0.2, 1.0]]))
    assert "; slalom and lime rank the words differently (correlation −0.20)." in said.headline(
        apart
    )
    unknown = comparison(explanations=both, agreement=np.full((2, 2), np.nan))
    assert "cannot be compared" in said.headline(unknown)


def test_the_answer_stands_first_and_brief_leaves_the_rest_out():
    measured = comparison(measured=FIGURES)
    for shown in (as_text(measured), as_text(measured, brief=True)):
        assert shown.startswith("positive (98 %). ")
        assert shown.index("Trust slalom") < shown.index("1 slalom")
    assert "Tested on the model" not in as_text(measured, brief=True)
    assert "--measure" not in as_text(comparison(), brief=True)


def test_what_reads_the_same_is_equally_good():
    figures = {"a": Figures(0.611, 0, 0.3), "b": Figures(0.609, 0, 0.302)}
    told = comparison(measured=figures)
    assert said.columns(told)[0].best == {"a", "b"}
    assert "a and b" in said.verdict(told)


def test_nothing_to_trust_is_said():
    figures = {"slalom": Figures(-0.1, 0.0, 1.3), "attention": Figures(None, None, None)}
    told = said.verdict(comparison(measured=figures))
    assert "do not read the highlights as reasons" in told
    assert "No method predicts" in told
    assert "--measure" in said.verdict(comparison())


def test_the_terminal_tells_the_story():
    shown = as_text(comparison(measured=FIGURES, failed={"gradients": "It needs gradients."}))
    for part in ("1 slalom", "−dull", "0.61*", "0.31*", "–", "70 passes", "It needs gradients"):
        assert part in shown
    assert "Trust slalom most" in re.sub(r"\s+", " ", shown)


def test_colours_show_the_text_once_for_each_method():
    shown = re.sub(r"\x1b\[[0-9;]*m", "", colours("good film with a bad end"))
    assert shown.count("good film with a bad end") == 3
    assert "without a side" in shown


def test_the_terminal_lets_no_control_character_through():
    shown = re.sub(r"\x1b\[[0-9;]*m", "", colours(HOSTILE))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", shown)
    assert "\x1b" not in as_text(comparison(HOSTILE))


def test_the_page_tells_the_story():
    document = unescape(page(comparison(measured=FIGURES, failed={"gradients": "Why <not>."})))
    for part in ("positive", "slalom", "70 passes", "removal error", "Trust slalom most",
                 "Why <not>.", "123 sequences", "put “superb” first"):  # fmt: skip
        assert part in document
    assert document.count('class="star"') == 3
    assert "Tested on the model" not in page(comparison())


def test_hostile_text_stays_text():
    names = {"<b>x</b>": sample(HOSTILE), "lime": sample(HOSTILE)}
    hostile = comparison(explanations=names, agreement=np.ones((2, 2)), failed={"<i>": "<s>"})
    tags = read(page(hostile)).tags
    assert {tag for tag, _ in tags} & {"img", "b", "i", "s"} <= {"b", "i"}  # the key's own
    assert sum(tag == "script" for tag, _ in tags) == 1
    assert not any(name.startswith("on") or name == "style" for _, given in tags for name in given)


def test_the_page_is_self_contained():
    document = page(comparison(measured=FIGURES))
    assert "default-src 'none'" in unescape(document)
    assert not re.search(r"(src|href)=|url\(|@import|https?://", document)


def test_words_without_a_side_have_the_third_colour():
    tags = read(page(comparison("good bad"))).tags
    hues = [given["data-hue"] for tag, given in tags if tag == "span" and "data-p" in given]
    assert set(hues[:4]) <= {"f", "a"}
    assert set(hues[4:]) == {"w"}


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_figure_is_written(tmp_path, suffix):
    path = tmp_path / f"c.{suffix}"
    shown = drawn(draw(comparison(measured=FIGURES), path))
    assert path.stat().st_size > 5000
    assert "dull" in shown
    assert "rank agreement" in shown


def test_nothing_leaves_the_figure_and_no_name_meets_the_text():
    found = {f"integrated-gradients {i}": sample() for i in range(12)}
    many = comparison(
        explanations=found, agreement=np.full((12, 12), -0.93),
        measured=dict.fromkeys(found, FIGURES["slalom"]),
    )  # fmt: skip
    figure = draw(many)
    figure.canvas.draw()
    boxes = [(item.get_text(), item.get_window_extent()) for item in figure.findobj(
        matplotlib.text.Text) if item.get_text()]  # fmt: skip
    for text, box in boxes:
        assert figure.bbox.count_contains(box.corners()) == 4, text


def test_the_figure_takes_text_literally():
    figure = draw(comparison("pay $x^2$ and $\\frac{$ \x1b now"))
    figure.canvas.draw()  # mathematics that is none would raise here
    shown = drawn(figure)
    assert "$" in shown
    assert "\x1b" not in shown


def test_a_single_method_needs_no_matrix():
    one = comparison(explanations={"slalom": sample()}, agreement=np.ones((1, 1)))
    assert "rank agreement" not in drawn(draw(one))
    assert as_text(one).startswith("positive (98 %).\n")
    assert "Agreement" not in as_text(one)
    assert "Agreement" not in page(one)


def test_a_notebook_does_not_take_the_figure_for_an_empty_one():
    """IPython shows no figure that has neither axes nor lines."""
    assert draw(comparison()).axes
