"""A difference made visible: terminal, page and figure say the same, and nothing foreign runs."""

import io
import os
import re
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from rich.console import Console

import piste
from piste.render import diff_words as said
from piste.render.diff_figure import draw
from piste.render.diff_html import fragment, page
from piste.render.diff_rows import named, rows, steps
from piste.render.diff_terminal import as_text, show
from piste.result.difference import Diff
from piste.result.facts import Agreement, Fidelity
from tests.planted import additive
from tests.render.samples import REVIEW, feel, sample
from tests.render.test_html import HOSTILE, read

WEIGHTS = {"good": 2.0, "bad": -3.0, "fine": 1.0, "film": 0.25}


@pytest.fixture(scope="module")
def turned():
    model = piste.from_function(feel, ["no", "yes"], name="feel")
    return piste.diff("the meal was good", "the meal was not good", model)


@pytest.fixture(scope="module")
def models():
    one, other = ({**WEIGHTS, "good": good} for good in (2.0, -1.0))
    first = piste.from_function(additive(one), ["no", "yes"], name="<i>first</i>")
    second = piste.from_function(additive(other), ["no", "yes"], name="second")
    return piste.diff("a good film", classifier=first, other=second)


def hostile(text: str = HOSTILE) -> Diff:
    return Diff.of(sample(text), sample(f"{text} {text}"))


def drawn(figure: matplotlib.figure.Figure) -> str:
    return " ".join(item.get_text() for item in figure.findobj(matplotlib.text.Text))


def test_the_terminal(turned):
    text = as_text(turned)
    lines = text.splitlines()
    assert text.startswith("The decision turns from yes to no, mainly because ")
    assert any(line.startswith("  + not ") for line in lines)
    assert "“not” and “good” act together now: +5.0" in text
    assert "lead from −2.00 to +3.50" in text
    stream = io.StringIO()
    show(turned, Console(file=stream, force_terminal=True, color_system="truecolor", width=60))
    assert all(len(line) < 200 for line in stream.getvalue().splitlines())
    assert "█" not in stream.getvalue()  # narrow: numbers only


def test_the_page(turned):
    text = " ".join(unescape(re.sub(r"<[^>]*>", "", page(turned))).split())
    assert said.headline(turned) in text
    for part in ("before", "after", "What carries the change", "+ not", "act together now"):
        assert part in text


def test_the_page_says_above_the_texts_how_far_to_rely_on_both(turned):
    head = unescape(page(turned).split("</header>")[0])
    assert f"<dt>fidelity</dt><dd>{said.fidelity(turned)}" in head
    assert "exact. The model was asked about every part" in head
    short = replace(turned, after=replace(turned.after, parts=None, fidelity=None))
    assert said.fidelity(short).endswith("after: not measured")


def test_the_page_of_two_models_shows_the_text_once(models):
    document = page(models)
    assert document.count('class="text"') == 1
    assert "second says no where &lt;i&gt;first&lt;/i&gt; says yes" in document


def test_the_figure(turned, tmp_path):
    figure = draw(turned, tmp_path / "d.png")
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")
    text = drawn(figure)
    for part in ("turns from yes to no", "+ not", "act together now", "before", "after"):
        assert part in text
    for suffix in ("svg", "pdf"):
        assert turned.plot(tmp_path / f"d.{suffix}") is not None
        assert (tmp_path / f"d.{suffix}").stat().st_size > 1000


def test_steps_lead_from_one_score_to_the_other(turned, models):
    for diff in (turned, models, hostile(REVIEW)):
        way = steps(diff, most=2)
        assert way[0].start == diff.before.target.score
        assert way[-1].end == pytest.approx(diff.after.target.score)
        for one, next_one in pairwise(way):
            assert one.end == pytest.approx(next_one.start)


def test_the_same_twice_changes_nothing():
    diff = Diff.of(sample(), sample())
    assert said.headline(diff) == (
        "The texts are the same, and the decision stays positive; the log-odds of positive stay at"
        " +3.90."
    )
    for rendering in (page(diff), as_text(diff), drawn(draw(diff))):
        assert "stay at +3.90" in rendering
    for rendering in (page(diff), as_text(diff), as_text(diff, brief=True)):
        assert "No word changed what it contributes." in rendering
    assert "before  after" not in as_text(diff)


def test_hostile_text_stays_text(tmp_path):
    diff = hostile()
    found = read(page(diff))
    tags = [tag for tag, _ in found.tags]
    assert not {"img", "iframe", "object"} & set(tags)
    assert tags.count("script") == 1
    assert "\x1b" not in as_text(diff)
    assert "\u202e" not in page(diff)
    assert "<script" not in fragment(diff)
    draw(diff, tmp_path / "x.png")


def test_equal_words_share_a_row():
    one, other = sample("fine wine and fine bread"), sample("fine wine and fine cheese")
    titles = [named(Diff.of(one, other), row) for row in rows(Diff.of(one, other))]
    assert sorted(titles) == ["and", "bread → cheese", "fine 2×", "wine"]


def test_shared_errors_of_equal_words_add_up():
    twice = sample("fine fine", errors={"lin": np.array([0.3, 0.3])})
    (row,) = rows(Diff.of(twice, sample("fine fine", errors={"lin": np.zeros(2)})))
    assert row.error == pytest.approx(0.6)


def test_the_other_words_together_have_an_error(demo):
    """As all changes have a known sum, that of the shown words is a bound too."""
    text = "The plot is thin, but the acting is superb and the end is too."
    diff = piste.diff(text, text.replace("thin", "dull"), demo)
    *shown, rest = steps(diff, most=2)
    assert rest.row is None
    assert rest.error is not None
    of_shown = diff.error_of([word for step in shown for word in step.row.same])
    assert 0 < rest.error <= of_shown


def test_a_word_that_changes_sides_is_said_to():
    diff = Diff.of(sample("good film"), sample("good film"))
    word = replace(diff.words[0], score_before=-0.84, score_after=0.28)
    assert said.reason(diff, [word]) == ("“good” now speaks for positive (+0.28 instead of −0.84)")


def test_what_was_removed_is_said_at_once():
    model = piste.from_function(additive({"good": 2.0, "fine": 2.0}), ["no", "yes"])
    diff = piste.diff("a good fine meal", "a meal", model, target="yes")
    assert said.headline(diff).endswith("mainly because “good fine” was removed.") or re.search(
        "“(good|fine)” and “(good|fine)” were removed", said.headline(diff)
    )


def test_the_brief_answer_is_the_headline_and_the_words(turned):
    text = as_text(turned, brief=True)
    assert text.startswith(said.headline(turned)[:40])
    assert "+ not" in text
    assert "act together" not in text
    assert "Made by" not in text


def test_warnings_of_both_sides_stand_on_top():
    poor = sample(fidelity=Fidelity({"short": Agreement(0.05, 2.0, 90)}))
    diff = Diff.of(poor, sample())
    (warning,) = [told for told in said.warnings(diff) if told.startswith("before: ")]
    for rendering in (as_text(diff), unescape(page(diff)), drawn(draw(diff))):
        assert warning[:30] in rendering
    assert as_text(diff).startswith(f"! Warning: {warning[:30]}")
    assert page(diff).index("warning") < page(diff).index("<h1>")


def test_in_a_notebook(turned):
    assert turned._repr_html_().startswith("<iframe")
    assert repr(turned).startswith("<Diff: The decision turns from yes to no")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(width, scheme, browser, tmp_path: Path):
    if not os.environ.get("CI"):
        pytest.importorskip("playwright.sync_api")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab, complaints, requests = context.new_page(), [], []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    path = tmp_path / "page.html"
    hostile(f"{HOSTILE} {'long' * 60}").to_html(path)
    tab.goto(path.as_uri())
    assert complaints == []
    assert requests == [path.as_uri()]
    assert tab.evaluate("window.hacked") is None
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    word = tab.locator(".w.added").first
    word.hover()
    assert "on" in (word.get_attribute("class") or "").split()
    context.close()
