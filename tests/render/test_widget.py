"""The widget: what Python answers, and what the script draws."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import piste
from piste.decision import CENTRED
from piste.errors import SettingError
from piste.render.html import source
from piste.render.widget import Removals, _decision, _view
from piste.render.words import signed
from piste.result.explanation import Explanation
from tests.render.samples import feel, in_context, sample

pytest.importorskip("anywidget")
if not os.environ.get("CI"):
    pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

HOSTILE = "not <script>window.hacked=1</script> good <img src=x onerror=window.hacked=2> &amp;"


def feeling() -> Any:
    return piste.from_function(feel, ["no", "yes"], name="feel")


def place(explanation: Explanation, word: str) -> int:
    return [player.text for player in explanation.players].index(word)


def test_the_prediction_and_the_true_answer_stand_side_by_side() -> None:
    explanation = in_context()
    shown = piste.widget(explanation, feeling())
    out = [place(explanation, "not"), place(explanation, "fine")]
    shown.removed = out
    whole, predicted, true = shown.answer["rows"]
    kept = [index for index in range(len(explanation.players)) if index not in out]
    rest = " ".join(explanation.players[index].text for index in kept)
    assert whole["score"] == signed(explanation.target.score)
    assert predicted["score"] == signed(explanation.predict(kept).score)
    assert true["score"] == signed(float(feel([rest])[0]))
    assert true["says"] == "says yes"
    shown.removed = []
    assert shown.answer["rows"] == []


def test_without_a_classifier_only_the_prediction_is_shown() -> None:
    shown = piste.widget(in_context())
    shown.removed = [0]
    assert [row["title"] for row in shown.answer["rows"]] == ["whole text", "predicted"]


def test_scores_that_predict_nothing_say_so() -> None:
    weights = sample("a b c", scores={"alpha-avg": np.ones(3)}, primary="alpha-avg")
    answer = Removals(weights).answer([1])
    assert [row["title"] for row in answer["rows"]] == ["whole text"]
    assert "predict no change" in answer["note"]


def test_what_a_page_sends_is_checked() -> None:
    tried = Removals(in_context())
    assert tried.answer([-1, 10_000])["rows"] == []
    assert tried.answer(range(len(in_context().players)))["note"] == "Leave at least one in."


def test_a_pair_is_asked_as_a_pair() -> None:
    explanation = in_context("the meal was not", pair="good indeed")
    decision = _decision(explanation, feeling())
    assert decision.target.score == pytest.approx(explanation.target.score)


def test_another_classifier_is_refused(demo: Any) -> None:
    with pytest.raises(SettingError, match="does not give the explained answer"):
        piste.widget(in_context(), demo)


def test_of_all_classes_together_no_probability_is_told() -> None:
    news = piste.from_function(
        lambda texts: np.array([[len(t), t.count("a"), 1.0] for t in texts]), ["x", "y", "z"]
    )
    every = piste.explain("a cat sat there", news, target="all")
    assert every.target.scale == CENTRED
    shown = Removals(every, None).answer([0])
    assert all(row["share"] is None for row in shown["rows"])
    with pytest.raises(SettingError, match="Explain one label"):
        piste.widget(every, news)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from piste.render import widget as module

    monkeypatch.setitem(sys.modules, "anywidget", None)
    module._kind.cache_clear()
    with pytest.raises(SettingError, match=r"piste\[notebook\]"):
        piste.widget(in_context())
    module._kind.cache_clear()


def test_where_no_widgets_run_the_page_is_shown() -> None:
    data, _ = piste.widget(in_context())._repr_mimebundle_()
    assert data["text/html"] == in_context()._repr_html_()
    assert "application/vnd.jupyter.widget-view+json" in data


# In place of a notebook: a model that remembers what it is given.
MODEL = """
class Model {
  constructor(state) { this.state = state; this.heard = {}; this.saved = 0; }
  get(name) { return this.state[name]; }
  set(name, value) { this.state[name] = value; }
  save_changes() { this.saved += 1; }
  on(name, does) { (this.heard[name] ??= []).push(does); }
  off(name, does) { this.heard[name] = (this.heard[name] ?? []).filter((one) => one !== does); }
  tell(name, value) {
    this.set(name, value);
    for (const does of this.heard[`change:${name}`] ?? []) does();
  }
}
"""


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 600, "height": 600})
    yield context.new_page()
    context.close()


def drawn(tab: Page, explanation: Explanation) -> None:
    state = {"view": _view(explanation), "removed": [], "answer": {}}
    script = source("widget.js").replace("export default { render };", "")
    tab.set_content(f"<style>{source('widget.css')}</style><div id=cell></div>")
    tab.add_script_tag(
        content=f"{MODEL}{script}; window.model = new Model({json.dumps(state)});"
        "window.close_widget = render({model, el: document.getElementById('cell')});"
    )


def test_clicks_and_keys_take_words_out(tab: Page) -> None:
    explanation = in_context()
    drawn(tab, explanation)
    word = tab.locator(".w", has_text="good")
    word.click()
    assert tab.evaluate("model.state.removed") == [place(explanation, "good")]
    expect(word).to_have_attribute("aria-pressed", "true")
    tab.evaluate("answer => model.tell('answer', answer)", Removals(explanation).answer([4]))
    expect(tab.locator(".answer tr")).to_have_count(2)
    expect(tab.locator(".answer")).to_contain_text("predicted")
    word.focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    assert tab.evaluate("model.state.removed") == [4, 5]
    word.click()
    assert tab.evaluate("model.state.removed") == [5]
    assert tab.evaluate("model.saved") == 3
    tab.evaluate("close_widget()")
    assert tab.evaluate("model.heard['change:answer'].length") == 0


def test_hostile_text_stays_text_in_a_widget(tab: Page) -> None:
    drawn(tab, in_context(HOSTILE))
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("#cell img, #cell script").count() == 0
    assert tab.locator("#cell .text").text_content() == HOSTILE
