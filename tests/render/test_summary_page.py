"""The page of a summary in a real browser: sort, search, filter, open; and its size and safety."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import piste
from piste.models.protocol import Classifier
from piste.render.corpus_html import fragment, page
from piste.runs.excerpts import Excerpt
from piste.runs.pair_summary import WordPair
from piste.runs.word_summary import SPURIOUS_TEXTS, Summary
from piste.runs.word_tally import Word
from tests.render.test_browser import HOSTILE, open_page
from tests.runs.planted_run import PlantedText, write_run
from tests.runs.test_run_summary import reviews

if not os.environ.get("CI"):
    pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Locator, Page, expect

MEGABYTES = 5


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    """Sixty reviews, "not good" in twenty more, and many words that do nothing."""
    negated = [
        PlantedText(
            ["not", "good", f"word{index}", f"word{index + 1}"],
            [1.0, -2.0, 0.0, 0.0],
            "negative",
            pairs=[(0, 1, 3.0)],
        )
        for index in range(20)
    ]
    folder = tmp_path_factory.mktemp("run")
    return piste.summarise(write_run(folder, [*reviews(), *negated]))


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    texts = [
        PlantedText(["how", "many"], [1.0, 2.0], "NUM", "NUM"),
        PlantedText(["how", "far"], [0.5, 1.0], "NUM", "LOC"),
        PlantedText(["where", "is", "it"], [3.0, 0.0, -0.5], "LOC", "LOC"),
    ]
    return piste.summarise(write_run(tmp_path_factory.mktemp("run"), texts, ("NUM", "LOC", "DESC")))


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    yield context.new_page()
    context.close()


def heads(tab: Page, key: str) -> list[str]:
    """The names of the rows that are shown."""
    return tab.locator(f"table[data-key={key}] tbody > tr:not(.examples) .chip").all_text_contents()


def row(tab: Page, key: str, name: str) -> Locator:
    return tab.locator(f"table[data-key={key}] .opens", has_text=name).first


def test_columns_sort_both_ways(tab: Page, summary: Summary, tmp_path: Path) -> None:
    opened = open_page(tab, page(summary), tmp_path)
    head = tab.locator("table[data-key=words] thead button", has_text="effect")
    head.click()
    assert heads(tab, "words")[:2] == ["good", "vegas"]
    expect(tab.locator("table[data-key=words] th[aria-sort=descending]")).to_have_text("effect")
    head.click()
    assert heads(tab, "words")[0] == "bad"
    tab.locator("table[data-key=words] thead button", has_text="word").click()
    assert heads(tab, "words")[:2] == [".", "a"]
    assert tab.locator("[aria-sort]").count() == 1
    assert opened.complaints == []


def test_rows_without_a_number_come_last(tab: Page, summary: Summary, tmp_path: Path) -> None:
    open_page(tab, page(summary), tmp_path)
    head = tab.locator("table[data-key=words] thead button", has_text="wrong")
    for _ in range(2):
        head.click()
        assert heads(tab, "words")[0] == "vegas"


def test_search_narrows_words_and_pairs(tab: Page, summary: Summary, tmp_path: Path) -> None:
    open_page(tab, page(summary), tmp_path)
    tab.get_by_label("Search").fill("GOO")
    assert heads(tab, "words") == ["good"]
    assert heads(tab, "pairs") == ["not + good"]
    assert heads(tab, "joiners") == ["good"]
    expect(tab.locator("#words-count")).to_contain_text("1 words (of ")
    tab.get_by_label("Search").fill("nowhere")
    assert heads(tab, "words") == []
    expect(tab.locator("text=No words match.")).to_be_visible()
    tab.locator("button[type=reset]").click()
    expect(tab.locator("text=No words match.")).to_be_hidden()
    assert len(heads(tab, "words")) > 5


def test_filters_by_side_mark_and_number_of_texts(
    tab: Page, summary: Summary, tmp_path: Path
) -> None:
    open_page(tab, page(summary), tmp_path)
    tab.get_by_label("Speaks for").select_option("negative")
    assert "bad" in heads(tab, "words")
    assert "vegas" not in heads(tab, "words")
    assert heads(tab, "classes") == ["negative"]
    tab.get_by_label("Speaks for").select_option("any")
    tab.locator("#mark").select_option("mistakes")
    assert heads(tab, "words") == ["vegas"]
    assert heads(tab, "pairs") == ["not + good"]  # the mark is one of words
    tab.locator("#mark").select_option("spurious?")
    assert heads(tab, "words") == ["vegas"]
    tab.locator("#mark").select_option("all")
    tab.get_by_label("In at least").fill("40")
    assert set(heads(tab, "words")) == {"a", "place", ".", "good"}


def test_rare_words_that_stand_out_are_shown_where_they_are_asked_for(
    tab: Page, summary: Summary, tmp_path: Path
) -> None:
    vegas = next(word for word in summary.words if word.word == "vegas")
    rare = replace(vegas, word="rare", texts=2, effect=9.0)
    open_page(tab, page(replace(summary, words=[*summary.words, rare])), tmp_path)
    expect(tab.get_by_label("In at least")).to_have_value("5")
    assert "vegas" in heads(tab, "words")
    assert "rare" not in heads(tab, "words")
    tab.locator("#mark").select_option("mistakes")
    assert heads(tab, "words") == ["rare", "vegas"]
    tab.get_by_label("In at least").fill("6")
    assert heads(tab, "words") == ["vegas"]
    tab.locator("button[type=reset]").click()
    tab.get_by_label("Search").fill("rar")
    assert heads(tab, "words") == ["rare"]


def test_the_count_is_of_what_is_listed_unasked(
    tab: Page, summary: Summary, tmp_path: Path
) -> None:
    """Rare words that stand out are rows too: they count where the reader searches."""
    vegas = next(word for word in summary.words if word.word == "vegas")
    rare = replace(vegas, word="rare", texts=2, effect=9.0)
    more = replace(summary, words=[*summary.words, rare])
    open_page(tab, page(more), tmp_path)
    often = [word for word in more.words if word.texts >= more.least]
    expect(tab.locator("#words-count")).to_have_text(f"{len(often)} words")
    told = tab.locator("section", has=tab.locator("#words")).locator("p.hint").last
    few = len(more.words) - len(often)
    left_out = f"{few} of {len(more.words)} words are in fewer than 5 texts and are left out"
    expect(told).to_contain_text(left_out)
    expect(told).to_contain_text("1 of them stands out")
    tab.get_by_label("Search").fill("rare")
    expect(tab.locator("#words-count")).to_have_text(f"1 words (of {len(often) + 1})")


def test_pairs_in_fewer_texts_than_words_need_are_shown(
    tab: Page, summary: Summary, tmp_path: Path
) -> None:
    pair = replace(summary.together()[0], texts=3, listed=3)
    open_page(tab, page(replace(summary, pairs=[pair])), tmp_path)
    assert heads(tab, "pairs") == ["not + good"]
    tab.get_by_label("In at least").fill("6")
    assert heads(tab, "pairs") == []


def test_a_row_opens_texts_with_its_word(tab: Page, summary: Summary, tmp_path: Path) -> None:
    opened = open_page(tab, page(summary), tmp_path)
    button = row(tab, "words", "vegas")
    expect(button).to_have_attribute("aria-expanded", "false")
    button.focus()
    tab.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    shown = tab.locator(".examples li")
    assert shown.count() >= 3
    assert set(tab.locator(".examples mark").all_text_contents()) == {"vegas"}
    assert "labelled negative: wrong" in " ".join(shown.all_text_contents())
    tab.keyboard.press("Enter")
    expect(tab.locator(".examples")).to_have_count(0)
    row(tab, "pairs", "not").click()
    assert tab.locator(".examples mark").all_text_contents()[:2] == ["not", "good"]
    row(tab, "mistakes", "negative").click()
    assert "vegas" in (tab.locator(".examples").last.text_content() or "")
    assert opened.complaints == []


def test_opened_rows_stay_with_their_word(tab: Page, summary: Summary, tmp_path: Path) -> None:
    open_page(tab, page(summary), tmp_path)
    row(tab, "words", "bad").click()
    tab.locator("table[data-key=words] thead button", has_text="effect").click()
    tab.get_by_label("Search").fill("bad")
    above = tab.locator("table[data-key=words] tbody tr").first
    assert (above.locator(".chip").text_content(), heads(tab, "words")) == ("bad", ["bad"])
    expect(tab.locator("table[data-key=words] tbody tr").nth(1)).to_contain_text("bad")


def test_the_page_shows_some_rows_and_gives_all(
    tab: Page, summary: Summary, tmp_path: Path
) -> None:
    open_page(tab, page(big(40)), tmp_path)
    assert len(heads(tab, "words")) == 15
    tab.get_by_role("button", name="Show 15 more").first.click()
    assert len(heads(tab, "words")) == 30
    tab.get_by_role("button", name="Show all").first.click()
    assert len(heads(tab, "words")) == 40


def test_a_class_has_its_words_and_pictures(tab: Page, questions: Summary, tmp_path: Path) -> None:
    opened = open_page(tab, page(questions), tmp_path)
    pictures = tab.locator(".picture:visible h2")
    assert pictures.all_text_contents()[0] == "Strongest words for NUM"
    tab.locator("#class").select_option("LOC")
    assert pictures.all_text_contents()[0] == "Strongest words for LOC"
    assert heads(tab, "words") == ["where", "it", "is"]
    assert heads(tab, "mistakes") == ["LOC → NUM"]
    tab.locator("#class").select_option("DESC")
    assert heads(tab, "words") == []
    assert tab.locator(".picture:visible").count() == 0
    assert opened.complaints == []


def test_without_a_script_there_are_plain_tables(
    browser: Browser, summary: Summary, tmp_path: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    (tmp_path / "page.html").write_text(page(summary), encoding="utf-8")
    tab.goto((tmp_path / "page.html").as_uri())
    assert len(heads(tab, "words")) == len(summary.listed())
    expect(tab.locator("#filters")).to_be_hidden()
    expect(tab.locator("noscript p")).to_contain_text("With scripts")
    context.close()


@pytest.mark.parametrize("width", [340, 768, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_needs_sideways_scrolling(
    browser: Browser, summary: Summary, questions: Summary, tmp_path: Path, width: int, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    tab = context.new_page()
    for one in (summary, questions, hostile()):
        opened = open_page(tab, page(one), tmp_path)
        row(tab, "words", "").click()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.complaints == []
    context.close()


def test_charts_follow_the_scheme(browser: Browser, summary: Summary, tmp_path: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
        tab = context.new_page()
        open_page(tab, page(summary), tmp_path)
        style = "e => [getComputedStyle(e).fill, getComputedStyle(e.closest('section')).background]"
        colours.append(tab.locator(".wide .name").first.evaluate(style))
        context.close()
    assert colours[0][0] != colours[1][0]
    assert colours[0][1] != colours[1][1]


def hostile() -> Summary:
    """Words, labels, model, ids and texts are all hostile."""
    pieces = ((HOSTILE, 1.0, True), (" </script><script>window.hacked=5</script>", -1.0, False))
    excerpts = [Excerpt(HOSTILE, HOSTILE, HOSTILE + "2", 0.5, pieces)]
    long = "x" * 3000
    words = [
        Word(name, HOSTILE, 1, 30, 1.0, 1.0, 1.0, effect=1.0, effect_error=0.1, examples=excerpts)
        for name in (HOSTILE, long, "\u202egood")
    ]
    pair = WordPair(HOSTILE, long, HOSTILE, 3, 3, 1.0, 0.1, 1.0, excerpts)
    labels = (HOSTILE + "2", HOSTILE)
    return Summary("x", HOSTILE, labels, 3, 0, 0.5, (HOSTILE,), True, words, [pair])


def test_hostile_words_run_nothing_and_ask_for_nothing(tab: Page, tmp_path: Path) -> None:
    for document in (page(hostile()), fragment(hostile())):
        opened = open_page(tab, f"<!doctype html><meta charset=utf-8>{document}", tmp_path)
        frame = tab.frames[-1]
        for button in frame.locator(".opens").all():
            button.click()
        assert frame.evaluate("window.hacked") is None
        assert frame.locator("img, iframe, object, embed, link, base").count() == 0
        assert "{{7*7}}" in (frame.locator(".examples").first.text_content() or "")
        assert [url for url in opened.requests if not url.startswith(("file:", "about:"))] == []
        assert opened.complaints == []


def test_the_policy_stops_a_foreign_script(tab: Page, summary: Summary, tmp_path: Path) -> None:
    foreign = page(summary).replace("</main>", "</main><script>window.x=1</script>")
    open_page(tab, foreign, tmp_path)
    assert tab.evaluate("window.x") is None


def big(words: int, letter: str = "w") -> Summary:
    """As many words as asked for, each with four long example texts."""
    pieces = tuple((f" {letter * 24}{n}", 0.5 if n % 3 else -0.5, n == 9) for n in range(19))
    excerpts = [Excerpt(f"text {n}", "positive", "negative", 0.9, pieces) for n in range(4)]
    listed = [
        Word(f"{letter}{n}", "positive", 50, 50, 1.0, 1.0, 1.0, effect=1 - n / words,
             effect_error=0.1, flips=0.3, wrong=2, examples=excerpts)
        for n in range(words)
    ]  # fmt: skip
    pairs = [
        WordPair(f"{letter}{n}", "b", "positive", 9, 9, 1.0, 0.1, 1.0, excerpts)
        for n in range(min(words, 2000))
    ]
    labels = ("negative", "positive")
    return Summary("x", "model", labels, 10_000, 0, 0.9, (), True, listed, pairs)


@pytest.mark.parametrize("letter", ["w", "字", "<"])
def test_ten_thousand_texts_fit_into_a_small_file(letter: str) -> None:
    document = page(big(30_000, letter))
    assert len(document.encode()) < MEGABYTES * 1_000_000
    assert "1,500 of 30,000 words are listed" in document
    assert "500 of 2,000 pairs are listed" in document
    assert " rows had no room for their example texts" in document


def test_the_page_says_what_it_needs_to_be_read(summary: Summary) -> None:
    document = page(summary)
    assert f"in {SPURIOUS_TEXTS} labelled texts or more" in document
    assert "biased upwards" in " ".join(document.split())
    assert "Strongest for “positive”: good and vegas" in document
    assert "4 wrong predictions, most often decided by vegas (4)." in document


def test_a_lexicon_has_a_page_without_examples(demo: Classifier, tmp_path: Path) -> None:
    piste.build_lexicon(["A good film", "a bad plot"], demo, out=tmp_path / "words.json")
    document = piste.summarise(tmp_path / "words.json").to_html()
    assert 'data-key="words"' in document
    assert 'data-key="classes"' not in document


def test_a_notebook_shows_fewer_rows() -> None:
    shown = big(400)._repr_html_()
    assert shown.startswith("<iframe")
    assert "100 of 400 words are listed" in shown
