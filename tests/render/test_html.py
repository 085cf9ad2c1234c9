"""The page: complete, self-contained, and not to be broken by what it shows."""

import dataclasses
import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piste.render import trust
from piste.render.clean import visible
from piste.render.html import fragment, page
from piste.result.explanation import Explanation, Target
from tests.render.samples import REVIEW, in_context, many, sample, weighted

HOSTILE = (
    "<script>alert(1)</script> </script><img src=x onerror=alert(2)> {{ 7*7 }} {% raw %} "
    "&amp; \"quoted\" 'single' <!-- --> ]]> \u2028 \x00 \x1b[31m \u202e"
)


class Reader(HTMLParser):
    """Collects the tags, and the text inside the element with id `text`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if self.depth or dict(attrs).get("id") == "text":
            self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        self.depth = max(self.depth - 1, 0)

    def handle_data(self, data: str) -> None:
        self.text += data if self.depth else ""


def read(document: str) -> Reader:
    reader = Reader()
    reader.feed(document)
    return reader


def data_of(document: str) -> dict[str, list[object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', document, re.S)
    assert found
    data: dict[str, list[object]] = json.loads(found[1])
    return data


def test_the_page_tells_the_story() -> None:
    document = unescape(page(sample()))
    for part in ("positive", "98 %", "+3.90", "R² 0.81", "412 sequences", "piste-demo", "slalom"):
        assert part in document
    assert "Right: speaks for <bdi>positive</bdi>" in document
    assert "could not be told apart" in document


@pytest.mark.parametrize("text", [REVIEW, HOSTILE, "  two  spaces\n\n\tand a tab ", "שלום עולם"])
def test_the_text_is_shown_exactly_once(text: str) -> None:
    assert read(page(sample(text))).text == visible(text)


@given(st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=40))
@settings(max_examples=40, deadline=None)
def test_any_text_is_shown_and_nothing_is_added(text: str) -> None:
    document = page(sample(text, [(0, len(text)), (0, 1), (0, 0)]))
    plain = page(sample("x", [(0, 1), (0, 1), (0, 0)]))
    document.encode("utf-8")
    reader = read(document)
    assert reader.text.replace("\r", "\n") == "".join(
        visible(part) for part in (text[:1], text[1:])
    ).replace("\r", "\n")
    kinds = {"script", "img", "iframe", "style", "meta", "link"}
    count = [tag for tag, _ in reader.tags if tag in kinds]
    assert count == [tag for tag, _ in read(plain).tags if tag in kinds]


def test_hostile_names_and_notes_are_text() -> None:
    target = Target(0, HOSTILE, "log-odds", 1.0, 0.7, (HOSTILE, "<b>"))
    hostile = sample(
        target=target,
        notes=(HOSTILE,),
        model=HOSTILE,
        settings={HOSTILE: HOSTILE},
        scores={HOSTILE: sample().scores["lin"]},
        primary=HOSTILE,
    )
    document = page(hostile)
    assert "<img" not in document
    assert "alert(1)</script>" not in document
    assert not set("\x00\x1b\u202e\u2028") & set(document)
    assert [tag for tag, _ in read(document).tags].count("script") == 2


def test_the_data_cannot_end_its_script() -> None:
    document = page(sample("</script> a", [(0, 9)]))
    assert data_of(document)["labels"] == ["</script>"]
    assert document.count("</script>") == 2


def test_the_page_asks_for_nothing() -> None:
    document = page(sample())
    reader = read(document)
    policy = next(a["content"] for _, a in reader.tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for _, attributes in reader.tags:
        assert not attributes.keys() & {"src", "href", "style", "onclick"}
    assert "http://" not in document
    assert "https://" not in document
    assert "url(" not in document


def test_overlapping_players_are_printed_once() -> None:
    document = page(sample("a 🎉 b", [(0, 1), (2, 3), (2, 3), (3, 3), (4, 5)]))
    assert read(document).text == "a 🎉 b"
    assert 'data-p="1 2"' in document


def test_each_word_can_take_the_focus_but_tab_stops_once() -> None:
    spans = [a for tag, a in read(page(sample())).tags if tag == "span" and a.get("class") == "w"]
    assert len(spans) == len(sample().players)
    assert [a["tabindex"] for a in spans].count("0") == 1


def test_value_and_importance_make_a_scatter_other_scores_bars() -> None:
    assert "<circle" in page(sample())
    assert "<circle" not in page(weighted())
    assert '<rect class="mark"' in page(weighted())


def test_ten_thousand_players_are_limited_and_it_is_said() -> None:
    document = page(many())
    assert document.count("<tr data-p") == 400
    assert "The strongest 400 of 5,000 distinct words are shown." in document
    assert document.count('class="w"') == 10_000


def test_odd_explanations_have_a_page() -> None:
    raw = Target(0, "toxic", "raw score", 2.0, None, ("toxic",))
    assert "probability" not in read(page(sample(target=raw))).text
    assert page(sample("good", fidelity=None, fit=None, surrogate_score=None))
    assert page(sample("good", scores={"lin": np.array([np.nan])}))
    assert page(sample("..."))


def test_same_explanation_same_page() -> None:
    assert page(sample()) == page(sample())


def test_the_fragment_is_one_frame_holding_the_page() -> None:
    explanation: Explanation = sample(HOSTILE)
    ((tag, attributes),) = read(fragment(explanation)).tags
    assert tag == "iframe"
    assert attributes["srcdoc"] == page(explanation, compact=True)
    assert explanation._repr_html_() == fragment(explanation)


@pytest.mark.parametrize("explanation", [sample(), in_context()], ids=["slalom", "context"])
def test_how_far_to_rely_on_it_stands_above_the_text(explanation: Explanation) -> None:
    head = page(explanation).split("</header>")[0]
    assert trust.headline(explanation) in unescape(head)


def test_what_words_do_together_is_on_the_page() -> None:
    document = page(in_context())
    reader = read(document)
    pairs = [attributes for _, attributes in reader.tags if attributes.get("class") == "pair"]
    assert [pair["data-p"] for pair in pairs[:2]] == ["3 4", "6 7"]
    assert [pair["data-side"] for pair in pairs[:2]] == ["a", "f"]
    assert [pair["tabindex"] for pair in pairs[:2]] == ["0", "-1"]
    for sentence in ("only with", "What would change it", "The empty text scores"):
        assert sentence in unescape(document)
    data = json.loads(document.split('id="data">')[1].split("</script>")[0])
    assert data["pairs"][0][:2] == [3, 4]
    assert data["told"] == ["effect", "value", "importance"]
    assert "Words that act together" not in page(sample())


def test_a_number_that_is_exact_has_no_error() -> None:
    assert "±0<" not in page(in_context())
    assert "<small>±" in page(in_context())


def test_scores_without_errors_have_a_page() -> None:
    whole = in_context()
    some = dataclasses.replace(whole, errors={"effect": whole.errors["effect"]})
    assert page(some)


def test_hostile_words_that_act_together_are_text() -> None:
    text = 'not <script>x</script> good </li><b>y</b> &amp; "how" many \u202e'
    reader = read(page(in_context(text)))
    assert all("data-k" in attributes for tag, attributes in reader.tags if tag == "b")
    assert [tag for tag, _ in reader.tags].count("script") == 2
