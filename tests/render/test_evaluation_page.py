"""An evaluation's report: who leads, what is beyond chance, and that hostile names stay names."""

import os
from pathlib import Path

import numpy as np
import pytest

from piste.render.evaluation_figure import draw
from piste.render.evaluation_html import page
from piste.runs.evaluate import Evaluation
from piste.runs.statistics import FEW, differences, leaders, means
from tests.render.test_browser import HOSTILE, open_page
from tests.test_hostile import evaluated

if not os.environ.get("CI"):
    pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, expect

COST = {"forwards": 8, "tokens": 80, "full_tokens": 10, "query_seconds": 0.1, "fit_seconds": 0.0}


def planted(texts: int = 20) -> Evaluation:
    """Texts differ much; "best" beats "worse" on each a little, and "like" now and then."""
    rng = np.random.default_rng(0)
    rows = []
    for index in range(texts):
        level = float(rng.normal())
        figures = {"best": level, "like": level + 0.01 * (-1) ** index, "worse": level - 0.1}
        rows.append({
            "index": index,
            "id": f"t{index}",
            "values": {view: {"deletion": v, "insertion": v} for view, v in figures.items()},
            "curves": {view: [[0.5, 1.0], [0.2, 0.4]] for view in figures},
            "cost": dict.fromkeys(figures, COST),
            "agreement": {"views": ["best", "worse"], "matrix": [[1.0, 0.5], [0.5, 1.0]]},
        })  # fmt: skip
    settings = {"model": "planted", "data": "texts.jsonl", "seed": 3, "budget": None}
    return Evaluation(("best", "like", "worse"), ("deletion", "insertion"), rows, settings)


def test_leaders_are_those_that_are_not_surely_worse() -> None:
    found = planted()
    best = leaders(means(found), differences(found))
    assert best["deletion"].includes("best")
    assert best["deletion"].includes("like")
    assert not best["deletion"].includes("worse")
    assert best["insertion"].best == "worse"  # lower is better
    assert best["insertion"].level == ()


def test_few_texts_have_no_leader() -> None:
    found = planted(FEW - 1)
    best = leaders(means(found), differences(found))
    assert not any(best["deletion"].includes(view) for view in found.views)
    assert f"Fewer than {FEW} texts" in page(found)


def test_the_report_says_what_was_found() -> None:
    document = " ".join(page(planted()).split())
    assert "insertion: worse is better than every other method." in document
    assert "<dt>seed</dt><dd>3</dd>" in document
    assert "<dt>budget</dt>" not in document
    assert document.count("<polyline") == 3
    assert planted()._repr_html_().startswith("<iframe")


def test_the_comparisons_filter_and_sort(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 900}, color_scheme="dark")
    tab = context.new_page()
    opened = open_page(tab, page(planted()), tmp_path)
    rows = tab.locator("table[data-key=pairs] tbody tr")
    assert rows.count() == 6
    tab.locator("#mark").select_option("beyond chance")
    assert rows.count() == 4
    tab.locator("#search").select_option("insertion")
    assert rows.count() == 2
    tab.locator("table[data-key=figures] thead button", has_text="deletion").click()
    expect(tab.locator("table[data-key=figures] tbody tr").last).to_contain_text("worse")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.complaints == []
    context.close()


def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context()
    tab = context.new_page()
    hostile = evaluated(HOSTILE)
    document = page(Evaluation(hostile.views, hostile.metrics, hostile.rows, {HOSTILE: HOSTILE}))
    opened = open_page(tab, document, tmp_path)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img, iframe, object, embed, link, base").count() == 0
    assert len(opened.requests) == 1
    assert opened.complaints == []
    context.close()


def test_the_figure_has_a_panel_for_each_metric_and_the_costs(tmp_path: Path) -> None:
    figure = draw(planted(), tmp_path / "figure.svg")
    parts = [axes for part in figure.subfigs for axes in part.axes if axes.axison]
    assert len(parts) == 4  # two metrics, the costs, the curves
    assert (tmp_path / "figure.svg").stat().st_size > 1000
