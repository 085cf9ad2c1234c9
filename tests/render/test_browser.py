"""The page in a real browser: linked words and points, keyboard, sorting, and nothing foreign."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import piste
from piste.render import together
from piste.render.html import fragment, page
from piste.render.shades import ends
from piste.render.words import signed
from piste.result.explanation import Explanation
from tests.browser import Opened
from tests.render.samples import MEAL, in_context, many, sample, weighted
from tests.render.test_arcs import LONG
from tests.test_hostile import TOKENS, compared, made_from

if not os.environ.get("CI"):
    pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

HOSTILE = (
    "<script>window.hacked=1</script> </script><script>window.hacked=2</script> good "
    "<img src=http://evil.invalid/x onerror=window.hacked=3> {{7*7}} \u202e \x1b[31m"
)


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    yield context.new_page()
    context.close()


def open_page(tab: Page, document: str, folder: Path) -> Opened:
    opened = Opened(tab)
    tab.on("request", lambda request: opened.requests.append(request.url))
    tab.on("console", lambda message: opened.complaints.append(message.text))
    tab.on("pageerror", lambda error: opened.complaints.append(str(error)))
    path = folder / "page.html"
    path.write_text(document, encoding="utf-8")
    tab.goto(path.as_uri())
    return opened


def open_explanation(tab: Page, explanation: Explanation, folder: Path) -> Opened:
    return open_page(tab, page(explanation), folder)


def test_the_page_follows_the_chosen_class(tab: Page, tmp_path: Path) -> None:
    """Sentence, steps, table and colours are those of the class, and come back."""
    weights = {"how": (3.0, 0.0, -1.0), "many": (2.0, 0.5, 0.0), "live": (0.0, 2.0, 0.25)}
    model = piste.from_function(
        lambda texts: np.array(
            [
                sum((np.array(weights.get(w, (0, 0, 0))) for w in t.split()), np.zeros(3))
                for t in texts
            ]
        ),
        ["NUM", "LOC", "HUM"],
    )
    explanation = piste.explain("how many people live there today", model, target="all")
    opened = open_explanation(tab, explanation, tmp_path)
    row = tab.locator("tbody tr").first
    expect(tab.locator("h1:visible")).to_contain_text("NUM (")
    tab.locator("summary", has_text="All words").click()
    before = row.get_attribute("data-p")
    tab.locator("[data-score]", has_text="LOC").click()
    expect(tab.locator("h1:visible")).to_contain_text("LOC (")
    expect(tab.locator("h1:visible")).to_have_count(1)
    expect(tab.locator("[data-score][aria-pressed=true]")).to_have_text("LOC")
    bars = tab.locator(".falls.wide:visible .mark")
    assert "live: +" in (bars.first.get_attribute("aria-label") or "")
    expect(row).to_contain_text("live")
    expect(tab.locator("#key-label")).to_have_text("LOC")
    assert opened.word("how").get_attribute("data-hue") == "a"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.locator("[data-score]", has_text="NUM").click()
    expect(tab.locator("h1:visible")).to_contain_text("NUM (")
    assert row.get_attribute("data-p") == before
    assert opened.complaints == []


def test_a_word_lights_its_point_and_its_row(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, sample(), tmp_path)
    opened.word("brilliant").hover()
    assert opened.lit(".w") == ["brilliant"]
    assert all(text.startswith("brilliant: value +2.60") for text in opened.lit(".wide .mark"))
    assert len(opened.lit(".wide.bars .mark")) == len(opened.lit(".wide.plane .mark")) == 1
    assert len(opened.lit("tr")) == 1
    expect(tab.locator("#tip")).to_contain_text("importance")
    tab.locator("h1").hover()
    assert opened.lit("") == []
    expect(tab.locator("#tip")).to_be_hidden()


def test_a_word_shows_what_acts_together_with_it(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, in_context(), tmp_path)
    opened.word("good").hover()
    assert opened.lit("#text .w") == ["good"]
    assert "not" in tab.locator("#text .with").all_text_contents()
    expect(opened.word("not")).to_have_attribute("data-side", "a")
    assert tab.locator(".bows.some .on").count() >= 1
    expect(tab.locator("#tip")).to_contain_text("with not")
    tab.locator("h1").hover()
    assert tab.locator("#text .with").count() == 0
    assert tab.locator(".bows.some, .bows .on").count() == 0
    assert opened.complaints == []


def test_the_list_of_pairs_lights_both_words(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, in_context(), tmp_path)
    tab.locator(".pair", has_text="how").first.hover()
    assert opened.lit("#text .w") == ["how", "many"]
    assert tab.locator(".bows .on").count() == 1
    tab.locator("h1").hover()
    tab.locator(".pair").first.focus()  # by keyboard too
    assert opened.lit("#text .w") == ["not", "good"]
    tab.keyboard.press("ArrowDown")
    assert opened.lit("#text .w") == ["how", "many"]
    assert opened.complaints == []


def test_of_equal_words_only_the_one_that_acts_is_lit(tab: Page, tmp_path: Path) -> None:
    explanation = in_context("good meal , not good wine , fine and great")
    opened = open_explanation(tab, explanation, tmp_path)
    first = tab.locator(".pair").first
    first.hover()
    assert len(opened.lit("#text .w")) == 2
    assert opened.complaints == []


def test_a_point_lights_all_occurrences_of_its_word(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, sample("good film, good actors, bad end"), tmp_path)
    tab.locator(".wide.bars .mark[aria-label^='good']").hover()
    assert opened.lit(".w") == ["good", "good"]
    expect(tab.locator("#tip")).to_contain_text("good (2 times)")


def test_an_unlabelled_point_is_named_while_lit(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, sample(), tmp_path)
    opened.word("minutes").hover()
    expect(tab.locator(".wide .now")).to_have_text("minutes")


def test_the_keyboard_walks_through_words_and_points(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, sample("good film with a bad end"), tmp_path)
    tab.locator("#score").focus()
    tab.keyboard.press("Tab")
    assert opened.lit(".w") == ["good"]
    tab.keyboard.press("ArrowRight")
    assert opened.lit(".w") == ["film"]
    tab.keyboard.press("End")
    assert opened.lit(".w") == ["end"]
    assert len(opened.lit(".wide.bars .mark")) == 1
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.matches('.wide .mark')")
    first = opened.lit(".w")
    tab.keyboard.press("ArrowRight")
    assert opened.lit(".w") != first
    tab.keyboard.press("Escape")
    assert opened.lit("") == []


def test_arrows_follow_the_direction_of_the_text(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, sample("שלום עולם יפה"), tmp_path)
    opened.word("שלום").focus()
    tab.keyboard.press("ArrowLeft")
    assert opened.lit(".w") == ["עולם"]


def test_colouring_by_another_score(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, sample(), tmp_path)
    expect(opened.word("dull")).to_have_attribute("data-hue", "a")
    tab.locator("#score").select_option(label="importance")
    expect(opened.word("dull")).to_have_attribute("data-hue", "w")
    expect(tab.locator("#key-weight")).to_be_visible()
    expect(tab.locator("#key-sides")).to_be_hidden()
    tab.locator("#score").select_option(label="value")
    expect(opened.word("superb")).to_have_attribute("data-k", "10")


def test_the_table_sorts_both_ways(tab: Page, tmp_path: Path) -> None:
    open_explanation(tab, sample(), tmp_path)
    tab.locator("#list summary").click()
    first = tab.locator("tbody tr").first
    head = tab.locator("thead button", has_text="value")
    head.click()
    expect(first).to_contain_text("superb")
    expect(tab.locator("thead th[aria-sort=descending]")).to_contain_text("value")
    head.click()
    expect(first).to_contain_text("dull")
    tab.locator("thead button", has_text="word").click()
    expect(first.locator("th")).to_have_text("a")


def test_hostile_text_runs_nothing_and_asks_for_nothing(tab: Page, tmp_path: Path) -> None:
    hostile = sample(HOSTILE, notes=(HOSTILE,), model=HOSTILE)
    opened = open_explanation(tab, hostile, tmp_path)
    opened.word("good").hover()
    for fold in tab.locator("summary").all():
        fold.click()
    assert tab.evaluate("window.hacked") is None
    assert "{{7*7}}" in (tab.locator("#text").text_content() or "")
    assert len(opened.requests) == 1
    assert opened.complaints == []


def test_many_hostile_tokens_everywhere_run_nothing(tab: Page, tmp_path: Path) -> None:
    """As text, label, model, notes and settings; in the page, a notebook cell and a comparison."""
    text = " good ".join(token for token in TOKENS if not 0xD800 <= ord(token[0]) < 0xE000)
    text += (
        " <img src=http://evil.invalid/x onerror=window.hacked=1><script>window.hacked=2</script>"
    )
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    documents = (page(made_from(text)), fragment(made_from(text)), compared(text).to_html())
    for document in documents:
        opened = open_page(tab, f"<!doctype html><meta charset=utf-8>{document}", tmp_path)
        frame = tab.frames[-1]
        frame.locator(".w", has_text="good").first.hover()
        for fold in frame.locator("summary").all():
            fold.click()
        assert frame.evaluate("window.hacked") is None
        assert frame.locator("img, iframe, object, embed, link, base, form").count() == 0
        assert "{{7*7}}" in (frame.locator(".text").first.text_content() or "")
        assert [url for url in opened.requests if not url.startswith(("file:", "about:"))] == []
        assert opened.complaints == []
    assert dialogs == []


def test_the_policy_stops_a_foreign_script(tab: Page, tmp_path: Path) -> None:
    open_page(
        tab, page(sample()).replace("</main>", "</main><script>window.x=1</script>"), tmp_path
    )
    assert tab.evaluate("window.x") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [340, 768, 1400])
def test_no_width_needs_sideways_scrolling(
    browser: Browser, tmp_path: Path, scheme: str, width: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    for explanation in (sample("x" * 300 + " good film"), in_context("not " + "x" * 300 + " good")):
        opened = open_explanation(page, explanation, tmp_path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.locator(".chart:visible").count() == 1
    assert opened.complaints == []
    context.close()


def test_labels_of_the_scatter_do_not_overlap(tab: Page, tmp_path: Path) -> None:
    open_explanation(tab, sample(), tmp_path)
    tab.locator("summary", has_text="Value and importance").click()
    boxes = tab.eval_on_selector_all(
        ".wide.plane .name",
        "all => all.map(e => e.getBBox())"
        ".map(b => [b.x, b.y + 2, b.x + b.width, b.y + b.height - 2])",
    )
    assert len(boxes) >= 10
    for index, (left, top, right, bottom) in enumerate(boxes):
        for x0, y0, x1, y1 in boxes[:index]:
            assert not (left < x1 and x0 < right and top < y1 and y0 < bottom)


def test_ten_thousand_players_open(tab: Page, tmp_path: Path) -> None:
    opened = open_explanation(tab, many(), tmp_path)
    opened.word("word1").hover()
    assert "word1" in opened.lit(".w")
    assert opened.complaints == []


def test_two_fragments_live_on_one_page(tab: Page, tmp_path: Path) -> None:
    document = f"<!doctype html><meta charset=utf-8>{fragment(sample())}{fragment(weighted())}"
    opened = open_page(tab, document, tmp_path)
    first, second = (tab.frame_locator("iframe").nth(index) for index in (0, 1))
    first.locator("#text .w", has_text="brilliant").hover()
    expect(first.locator("tr.on")).to_have_count(1)
    expect(second.locator("tr.on")).to_have_count(0)
    frame = tab.locator("iframe").first
    expect(frame).not_to_have_attribute("height", "400")
    inner = first.locator("body").evaluate("b => [b.scrollHeight, innerHeight]")
    assert inner[0] <= inner[1] + 2
    assert opened.complaints == []


def arcs_of(tab: Page) -> list[list[float]]:
    """How far each arc ends from the middle of the word that it belongs to, and its two lines."""
    found: list[list[float]] = tab.evaluate(
        """() => {
          const bows = JSON.parse(document.getElementById("data").textContent).bows;
          const paths = [...document.querySelectorAll(".bows path")];
          const words = bows.flatMap((bow) => bow.slice(0, 2))
            .map((player) => document.querySelector(`#text .w[data-p="${player}"]`));
          const middles = words.map((word) => word.getClientRects()[0])
            .map((box) => [box.left + box.width / 2, box.top, box.bottom]);
          return paths.map((path) => {
            const origin = path.ownerSVGElement.getBoundingClientRect();
            return [0, path.getTotalLength()].map((at) => path.getPointAtLength(at))
              .map((p) => Math.min(...middles.map(([x, top, bottom]) =>
                Math.hypot(p.x + origin.left - x, Math.min(Math.abs(p.y + origin.top - top),
                  Math.abs(p.y + origin.top - bottom))))));
          });
        }"""
    )
    return found


@pytest.mark.parametrize("text", [MEAL, LONG], ids=["line", "lines"])
def test_arcs_end_on_their_words_at_any_width(tab: Page, tmp_path: Path, text: str) -> None:
    opened = open_explanation(tab, in_context(text), tmp_path)
    for width in (1200, 390, 800):
        tab.set_viewport_size({"width": width, "height": 800})
        tab.wait_for_timeout(100)
        ends = arcs_of(tab)
        assert len(ends) == len(together.links(in_context(text))) >= 2
        assert max(max(both) for both in ends) < 3
    assert opened.complaints == []


def test_a_click_strikes_out_what_turns_it_and_shows_the_answer(tab: Page, tmp_path: Path) -> None:
    explanation = in_context()
    assert explanation.flip is not None
    opened = open_explanation(tab, explanation, tmp_path)
    button = tab.locator(".turns button").first
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    struck = [explanation.players[index].text for index in explanation.flip.players]
    assert tab.locator("#text .out").all_text_contents() == struck
    answer = tab.locator(".answer:visible")
    expect(answer).to_contain_text(f"the model says {explanation.flip.label}")
    expect(answer).to_contain_text(signed(explanation.flip.score))
    tab.locator(".turns button").nth(1).click()
    assert tab.locator(".answer:visible").count() == 1
    tab.locator(".turns button").nth(1).click()
    assert tab.locator("#text .out, .answer:visible").count() == 0
    assert opened.complaints == []


def test_the_colour_scale_has_the_numbers_of_the_score(tab: Page, tmp_path: Path) -> None:
    open_explanation(tab, in_context(), tmp_path)
    high = tab.locator("#key-sides .key-high")
    expect(high).to_have_text(ends(in_context(), "effect")[1])
    tab.locator("#score").select_option(label="removal")
    expect(high).to_have_text(ends(in_context(), "removal")[1])


def test_nothing_stays_folded_on_paper(tab: Page, tmp_path: Path) -> None:
    open_explanation(tab, in_context(), tmp_path)
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("details:not([open])").count() == 0
    assert max(max(both) for both in arcs_of(tab)) < 3
    expect(tab.locator(".answer").first).to_be_visible()
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details[open]").count() == 0
