"""The served page in a real browser: explain, link, remove, compare, restore, and fail in words."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from piste.web.settings import EXAMPLE
from tests.browser import Opened as BaseOpened
from tests.render.test_browser import HOSTILE
from tests.web.servers import TEXT, Running, running

if not os.environ.get("CI"):
    pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

PATIENCE = 60_000  # milliseconds: the machine may be busy
EXPLAINED = "#result:not(.sketch):not([hidden])"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("serve", "--port", "0") as found:
        yield found


class Opened(BaseOpened):
    """The served page."""

    def goto(self, url: str) -> None:
        self.page.goto(url)

    def explain(self, text: str = TEXT, **choices: str) -> None:
        expect(self.page.locator("#method option")).not_to_have_count(0, timeout=PATIENCE)
        self.page.locator("#given").fill(text)
        if choices:
            self.page.locator("#options").evaluate("fold => { fold.open = true; }")
        for name, value in choices.items():
            self.page.locator(f"#{name}").select_option(value)
        self.page.locator("#explain").click()
        self.finished()

    def finished(self) -> None:
        self.page.wait_for_selector(EXPLAINED, timeout=PATIENCE)


def opened(page: Page) -> Opened:
    found = Opened(page)
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("console", lambda message: found.complaints.append(message.text))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    return found


@pytest.fixture
def tab(browser: Browser) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    yield opened(context.new_page())
    context.close()


def test_a_text_is_explained_and_linked_both_ways(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    page = tab.page
    expect(page.locator("#label")).to_have_text("positive")
    expect(page.locator("#sure")).to_contain_text("%")
    expect(page.locator("#sentence")).to_contain_text("mainly because of “superb”")
    expect(page.locator("#said")).to_contain_text("superb")
    assert page.locator("#text").text_content() == TEXT
    assert page.locator(".wide .error").count() > 5
    expect(page.locator("#turns")).to_contain_text("Without “superb” it would say negative")
    expect(page.locator("#statements")).to_contain_text("The empty text scores")
    expect(page.locator("#rely")).to_contain_text("Fidelity: ")
    rely, text = (page.locator(name).bounding_box() for name in ("#rely", "#text"))
    assert rely is not None
    assert text is not None
    assert rely["y"] < text["y"]  # what says whether to rely on it comes before the words
    page.locator("#plane > summary").click()
    tab.word("superb").hover()
    assert tab.lit("#text .w") == ["superb"]
    assert [text.split(":")[0] for text in tab.lit(".wide .mark")] == ["superb"]
    expect(page.locator("#tip")).to_contain_text("importance")
    page.locator(".wide .mark[aria-label^='is:']").hover()
    assert tab.lit("#text .w") == ["is", "is"]
    page.locator("#score").select_option("importance")
    expect(tab.word("superb")).to_have_attribute("data-hue", "w")
    assert tab.complaints == []
    assert all(url.startswith((server.url, "blob:")) for url in tab.requests)


def test_marks_in_the_text_make_units_of_ones_own(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.finished()
    page = tab.page
    page.locator("#options").evaluate("fold => { fold.open = true; }")
    page.locator("#marks").check()
    tab.explain("The [[plot is thin]], but [[the acting is superb]].", unit="span")
    assert page.locator("#text").text_content() == "The plot is thin, but the acting is superb."
    tab.word("the acting is superb").click()
    expect(page.locator("#answer")).to_contain_text("negative")
    assert tab.complaints == []


def test_the_page_starts_with_an_example_that_is_explained(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.finished()
    page = tab.page
    assert page.locator("#text").text_content() == page.locator("#given").input_value() == EXAMPLE
    expect(page.locator("#sentence")).to_contain_text("positive")
    assert page.locator(".fall tr").count() > 5
    assert page.url == server.url  # nothing to share yet
    assert tab.complaints == []


def test_the_waterfall_leads_from_the_empty_text_to_the_score(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    rows = tab.page.eval_on_selector_all(
        "#steps tr", "all => all.map(row => row.lastChild.firstChild.textContent)"
    )
    numbers = [float(row.replace("−", "-")) for row in rows]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=0.01 * len(numbers))
    tab.page.locator("#steps tr", has_text="superb").hover()
    assert tab.lit("#text .w") == ["superb"]


def test_what_would_change_it_is_shown_by_one_click(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    tab.page.locator("#turns button").first.click()
    expect(tab.page.locator(".gone")).to_have_text("superb")
    expect(tab.page.locator(".turned")).to_contain_text("negative")
    assert tab.complaints == []


def test_a_word_is_replaced_in_its_place(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    page = tab.page
    page.locator("[name=mode][value=replace]").check()
    tab.word("superb").click()
    page.locator(".edit").fill("dreadful")
    page.keyboard.press("Enter")
    expect(tab.word("dreadful")).to_have_attribute("aria-label", "dreadful, in place of superb")
    expect(page.locator(".turned")).to_contain_text("negative")
    expect(page.locator(".truth tbody tr")).to_have_count(2)  # nothing was predicted
    expect(page.locator("#finding")).to_contain_text("The score moves by −")
    page.locator(".gone").click()
    expect(tab.word("superb")).to_be_visible()
    tab.word("superb").focus()
    page.keyboard.press("F2")
    page.keyboard.type("never <b>mind</b>")
    page.keyboard.press("ArrowLeft")  # in the field, not to the next word
    page.keyboard.press("Escape")
    expect(page.locator("#tray")).to_be_hidden()
    page.keyboard.press("F2")
    page.keyboard.type("dreadful")
    page.keyboard.press("Enter")
    expect(page.locator("#afterwards")).to_be_visible()
    page.locator("#explain-edited").click()
    tab.finished()
    assert page.locator("#text").text_content() == TEXT.replace("superb", "dreadful")
    assert tab.complaints == []


def test_two_texts_stand_side_by_side(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    page = tab.page
    expect(page.locator("#versus")).to_be_hidden()  # two labels are each other's opposite
    page.locator("#other-text").fill(TEXT.replace("superb", "dreadful"))
    page.locator("#compare-side").click()
    expect(page.locator("#columns article")).to_have_count(2)
    expect(page.locator("#moved")).to_contain_text("positive:")
    words = page.locator("#changes tbody th").all_text_contents()
    assert {"superb", "dreadful"} <= set(words)
    gone = page.locator("#changes tr", has_text="superb").locator("td").all_text_contents()
    assert gone[1] == "–"
    assert gone[2][0] == "−"
    expect(page.locator("#columns article").nth(1)).to_contain_text("dreadful")
    assert tab.complaints == []


def test_two_labels_stand_side_by_side(tab: Opened) -> None:
    with running("serve", "--port", "0", module="tests.web.topics_server") as topics:
        tab.goto(topics.url)
        tab.explain("match battle won army")
        page = tab.page
        expect(page.locator("#sentence")).to_contain_text("war")
        page.locator("[name=other][value=label]").check()
        page.locator("#other-label").select_option("sport")
        page.locator("#compare-side").click()
        expect(page.locator("#columns article")).to_have_count(2)
        expect(page.locator("#columns article").nth(1)).to_contain_text("sport (")
        head = page.locator("#changes thead").text_content() or ""
        assert "war rather than sport" in head
        army = page.locator("#changes tr", has_text="army").locator("td").last
        expect(army).to_have_text(re.compile(r"\+3\.0"))  # planted: 2 for war, −1 for sport
    assert tab.complaints == []


def test_every_label_and_windows_can_be_chosen(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain(target="all", long="windows")
    expect(tab.word("superb")).to_have_attribute("data-hue", "f")
    tab.page.locator("#classes button", has_text="negative").click()
    expect(tab.word("superb")).to_have_attribute("data-hue", "a")
    expect(tab.page.locator("#for")).to_have_text("negative")
    expect(tab.page.locator("#sentence")).to_contain_text("negative (")
    steps = tab.page.locator("#steps tr", has_text="superb")
    expect(steps.first).to_contain_text("−")
    tab.page.locator("#classes button", has_text="positive").click()
    expect(tab.page.locator("#sentence")).to_contain_text("positive (")
    tab.page.locator("#classes button", has_text="negative").click()
    tab.word("superb").click()
    expect(tab.page.locator(".turned")).to_contain_text("negative")
    assert tab.complaints == []


def test_warnings_stand_on_top(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain("superb", method="lime")  # too short to be checked
    page = tab.page
    expect(page.locator("#warnings .warning")).to_contain_text("Warning:")
    expect(page.locator("#said")).to_contain_text("Warning:")
    first = page.locator("#result > *:visible").first
    assert first.get_attribute("id") == "warnings"
    tab.explain(method="context")
    expect(page.locator("#warnings")).to_be_hidden()


def test_removed_words_are_really_removed(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    page = tab.page
    tab.word("superb").click()
    expect(page.locator("#finding")).to_contain_text("The explanation predicted")
    expect(page.locator(".turned")).to_contain_text("negative")
    expect(page.locator(".truth tbody tr")).to_have_count(3)
    expect(tab.word("superb")).to_have_attribute("aria-pressed", "true")
    tab.word("thin").click()
    expect(page.locator(".gone")).to_have_count(2)
    page.locator(".gone", has_text="thin").click()  # back from the tray
    expect(page.locator(".gone")).to_have_count(1)
    tab.word("superb").click()  # and in the text itself
    expect(page.locator("#tray")).to_be_hidden()
    expect(page.locator("#answer")).to_be_hidden()
    assert tab.complaints == []


def test_a_prediction_stands_beside_the_truth_with_its_error(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain("The plot is thin and not good at all, but the acting is superb and I laughed.")
    page = tab.page
    for word in ("plot", "not", "acting", "laughed"):
        tab.word(word).click()
    expect(page.locator(".gone")).to_have_count(4)
    expect(page.locator(".truth .guess small")).to_contain_text("±")
    expect(page.locator("#finding")).to_contain_text("its standard error is")
    pair = page.locator(".pair").first
    pair.hover()
    assert len(tab.lit("#text .w")) == 2
    assert page.locator(".bows .on path").count() == 1
    assert tab.complaints == []


def test_effort_belongs_to_context_and_to_the_link(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain(method="context", effort="quick")
    assert "effort=quick" in tab.page.url
    tab.explain(method="lime")
    expect(tab.page.locator("#effort")).to_be_hidden()
    for part in ("#acting", "#changing"):
        expect(tab.page.locator(part)).to_be_hidden()
    assert "effort" not in tab.page.url
    assert tab.complaints == []


def test_words_can_be_dragged_out_and_back(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    page = tab.page
    tab.word("superb").drag_to(page.locator("#invite"))
    expect(page.locator(".gone")).to_have_text("superb")
    expect(page.locator("#finding")).to_contain_text("predicted")
    page.locator(".gone").drag_to(tab.word("plot"))
    expect(page.locator("#tray")).to_be_hidden()
    assert tab.complaints == []


def test_methods_are_compared_and_the_curve_is_drawn(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain()
    page = tab.page
    page.locator("#compare").click()
    expect(page.locator("#rows article")).to_have_count(7)
    page.locator("#rows article").nth(1).locator(".w", has_text="superb").hover()
    assert len(tab.lit(".w")) == 8  # in the text, and in all seven rows
    page.locator("#deletion").click()
    expect(page.locator("#curve .wide .ours")).to_be_attached()
    expect(page.locator("#curve-said")).to_contain_text("five random orders")
    assert tab.complaints == []


def test_another_method_target_and_unit(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    tab.explain(method="occlusion", target="negative", unit="token")
    expect(tab.page.locator("#label")).to_have_text("negative")
    assert tab.page.locator(".wide rect.mark").count() > 5
    tab.explain(method="attention", target="predicted", unit="word")
    expect(tab.page.locator("#key-weight")).to_be_visible()
    tab.word("superb").click()
    expect(tab.page.locator("#finding")).to_contain_text("predict no change")
    assert tab.complaints == []


def test_downloads(tab: Opened, server: Running, tmp_path: Path) -> None:
    tab.goto(server.url)
    tab.explain()
    starts = {"html": b"<!doctype html>", "png": b"\x89PNG", "json": b"{"}
    for kind, start in starts.items():
        with tab.page.expect_download() as waiting:
            tab.page.locator(f"[data-kind={kind}]").click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.name == f"explanation.{kind}"
        assert path.read_bytes().lstrip().startswith(start)


def test_a_link_holds_the_question_and_asks_only_when_confirmed(
    tab: Opened, browser: Browser, server: Running
) -> None:
    tab.goto(server.url)
    odd = "A & B = good? #1 % “superb” 映画"
    tab.explain(odd, method="lime", target="negative")
    tab.page.locator("#copy").click()
    address = tab.page.locator("#address").input_value()
    assert tab.page.url == address
    assert not any("superb" in url.split("#")[0] for url in tab.requests)
    context = browser.new_context()
    other = opened(context.new_page())
    other.goto(address)
    expect(other.page.locator("#arrived")).to_be_visible()
    assert other.page.locator("#given").input_value() == odd
    assert other.page.locator("#method").input_value() == "lime"
    assert not any("explain" in url for url in other.requests)
    other.page.locator("#confirm").click()
    other.finished()
    expect(other.page.locator("#label")).to_have_text("negative")
    other.page.reload()  # this tab has asked it before
    other.finished()
    expect(other.page.locator("#label")).to_have_text("negative")
    assert other.complaints == []
    context.close()


def test_hostile_text_runs_nothing(tab: Opened, server: Running) -> None:
    dialogs: list[str] = []
    tab.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    tab.goto(server.url)
    tab.explain(HOSTILE.replace("\x1b", ""))
    tab.word("good").hover()
    tab.word("good").click()
    expect(tab.page.locator("#finding")).to_contain_text("model")
    tab.page.locator("#compare").click()
    expect(tab.page.locator("#rows article").first).to_be_visible()
    tab.word("good").focus()
    tab.page.keyboard.press("F2")
    tab.page.keyboard.type("<img src=x onerror=window.hacked=1>")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#afterwards")).to_be_visible()
    tab.page.locator("#compare-edited").click()
    expect(tab.page.locator("#columns article")).to_have_count(2)
    assert tab.page.evaluate("window.hacked") is None
    assert tab.page.locator("main img, iframe, object, embed").count() == 0
    assert "{{7*7}}" in (tab.page.locator("#text").text_content() or "")
    assert all(url.startswith(server.url) for url in tab.requests)
    assert (dialogs, tab.complaints) == ([], [])


def test_the_policy_stops_a_foreign_script(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    script = "Object.assign(document.createElement('script'), {text: 'window.x=1'})"
    tab.page.evaluate(f"document.body.append({script})")
    assert tab.page.evaluate("window.x") is None


def test_mistakes_are_told_in_words(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    expect(tab.page.locator("#method option")).not_to_have_count(0)
    tab.page.locator("#given").fill("x" * 20_001)
    expect(tab.page.locator("#room")).to_contain_text("20,001 of 20,000")
    tab.page.locator("#explain").click()
    expect(tab.page.locator("#problem")).to_contain_text("20,001 characters. This server takes")
    expect(tab.page.locator("#result")).to_be_hidden()


def test_the_keyboard_alone_is_enough(tab: Opened, server: Running) -> None:
    tab.goto(server.url)
    page = tab.page
    expect(page.locator("#method option")).not_to_have_count(0)
    page.locator("#given").focus()
    page.keyboard.type("good film with a bad end")
    page.keyboard.press("Control+Enter")
    tab.finished()
    page.locator("#score").focus()
    page.keyboard.press("Tab")
    assert tab.lit("#text .w") == ["good"]
    page.keyboard.press("End")
    assert tab.lit("#text .w") == ["end"]
    page.keyboard.press("ArrowLeft")
    assert tab.lit("#text .w") == ["bad"]
    page.keyboard.press("Enter")
    expect(page.locator("#finding")).to_contain_text("predicted")
    expect(page.locator("#said")).to_contain_text("predicted")
    for _ in range(3):  # past the words that act together, and past remove or replace
        if page.evaluate("document.activeElement.className") != "gone":
            page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "gone"
    page.keyboard.press("Enter")
    expect(page.locator("#tray")).to_be_hidden()
    page.locator("#plane > summary").click()
    page.locator(".wide .mark[tabindex='0']").focus()
    before = tab.lit("#text .w")
    page.keyboard.press("ArrowRight")
    assert tab.lit("#text .w") != before
    assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(
    browser: Browser, server: Running, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 740},
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=True,
    )
    phone = opened(context.new_page())
    phone.goto(server.url)
    phone.explain("x" * 80 + " is a good film, is it not?")
    phone.word("good").tap()
    expect(phone.page.locator("#finding")).to_contain_text("predicted")
    for fold in ("#options", "#plane", ".meaning"):
        phone.page.locator(f"{fold} > summary").click()
    phone.page.locator("#compare-side").click()
    expect(phone.page.locator("#sides")).to_be_visible()
    phone.page.locator("#copy").click()
    for button, shown in (("#compare", "#compared"), ("#deletion", "#curve")):
        phone.page.locator(button).click()
        expect(phone.page.locator(shown)).to_be_visible()
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert phone.page.locator("#plane-charts .chart:visible").count() == 1
    assert phone.complaints == []
    context.close()


def test_the_docs_need_no_network(tab: Opened, server: Running) -> None:
    tab.goto(f"{server.url}docs")
    expect(tab.page.locator(".endpoint")).to_have_count(10)
    expect(tab.page.locator("#endpoints")).to_contain_text("POST /api/explain")
    assert all(url.startswith(server.url) for url in tab.requests)
    assert tab.complaints == []


def test_rounds_arrive_before_the_result_and_stop_works(tab: Opened) -> None:
    with running("serve", "--port", "0", module="tests.web.slow_server") as slow:
        tab.goto(slow.url)
        expect(tab.page.locator("#method option")).not_to_have_count(0)
        tab.page.locator("#given").fill("good bad fine poor " * 8)
        tab.page.locator("#explain").click()
        expect(tab.page.locator("#stage")).to_contain_text("sequences asked")
        expect(tab.page.locator("#stage")).to_contain_text(re.compile(r"about \d+ s left"))
        expect(tab.page.locator("#result.sketch")).to_be_visible()
        assert tab.page.locator(".wide .mark").count() == 4
        tab.page.locator("#stop").click()
        expect(tab.page.locator("#result")).to_be_hidden()
        expect(tab.page.locator("#said")).to_have_text("Stopped.")
    assert tab.complaints == []


def test_a_server_that_dies_mid_stream_is_told_in_words(tab: Opened) -> None:
    with running("serve", "--port", "0", module="tests.web.slow_server") as slow:
        tab.goto(slow.url)
        expect(tab.page.locator("#method option")).not_to_have_count(0)
        tab.page.locator("#given").fill("good bad fine poor " * 8)
        tab.page.locator("#explain").click()
        expect(tab.page.locator("#stage")).to_contain_text("sequences asked")
        slow.process.kill()
        expect(tab.page.locator("#problem")).to_contain_text(
            "The connection to the server was lost"
        )
        expect(tab.page.locator("#result")).to_be_hidden()
        tab.page.locator("#explain").click()
        expect(tab.page.locator("#problem")).to_contain_text("lost")


def test_the_token_is_asked_for_and_kept_out_of_sight(tab: Opened, browser: Browser) -> None:
    token = "a-token-of-some-length"
    with running("serve", "--port", "0", "--token", token, module="tests.web.slow_server") as slow:
        address = slow.url.partition("?")[0]
        tab.goto(slow.url)
        expect(tab.page.locator("#method option")).not_to_have_count(0)
        assert tab.page.url == address  # no token in the address any more
        tab.page.reload()
        expect(tab.page.locator("#method option")).not_to_have_count(0)
        context = browser.new_context()
        stranger = opened(context.new_page())
        stranger.goto(address)
        expect(stranger.page.locator("#problem")).to_contain_text(re.compile("token", re.I))
        stranger.page.locator("#token").fill(token)
        stranger.page.keyboard.press("Enter")
        expect(stranger.page.locator("#method option")).not_to_have_count(0)
        expect(stranger.page.locator("#problem")).to_be_hidden()
        context.close()
