"""Runs of LIME and their closed forms: by hand, on a real model, and the whole run."""

import math
from dataclasses import replace

import numpy as np
import pytest

from papers.experiments import lime_boxplots as boxplots
from papers.experiments import lime_runs
from papers.experiments import single_layer_imdb as imdb
from piste.methods.lime import Lime
from tests.papers.experiments.toy_imdb import TINY, save_figures

FORMS = lime_runs.Forms(np.array([2, 3]), exact=np.array([3.0, 4.0]), rule=np.array([3.0, 5.0]))


@pytest.fixture(scope="module")
def stage(toy):
    return imdb.stage(toy, TINY)


def errors(*one_run):
    return [
        lime_runs.LimeErrors(samples, math.inf, error, error / 2, 0.5, 0.1)
        for samples, error in zip((100, 400, 1600), one_run, strict=False)
    ]


def test_errors_by_hand():
    found = lime_runs.measure(np.array([[2.0, 4.0], [4.0, 4.0]]), FORMS, 100)
    assert found.one_run == pytest.approx(1 / 5)
    assert found.mean == 0
    assert found.rule == pytest.approx(1 / 5)
    assert found.spread == pytest.approx(1.0)  # the words' variances are 2 and 0


def test_rate():
    assert lime_runs.rate(errors(0.4, 0.2, 0.1)) == pytest.approx(-0.5)
    assert lime_runs.rate(errors(0.3, 0.3, 0.3)) == pytest.approx(0)
    assert math.isnan(lime_runs.rate(errors(0.3)))


def test_rule_fit_by_hand():
    found = lime_runs.rule_fit(FORMS)
    assert found.correlation == pytest.approx(1)
    assert found.distance == pytest.approx(1 / 5)
    assert found.slope == pytest.approx(29 / 34)


def test_the_interval_holds_what_is_near():
    runs = np.array([[2.9, 4.0], [3.1, 4.1], [3.0, 4.2]])
    # Means 3.0 and 4.1, standard error 0.0577, Student's t with two degrees 4.30: reach 0.248.
    assert lime_runs.within(runs, np.array([3.2, 4.3])).tolist() == [True, True]
    assert lime_runs.within(runs, np.array([3.3, 3.8])).tolist() == [False, False]


def test_names_are_those_of_first_places():
    ids = np.array([1, 7, 0, 7, 5])
    sentence = imdb.Sentence("x", "Good zzz good film", ("Good", "zzz", "good", "film"), ids)
    assert boxplots.word_names(sentence) == {7: "Good", 5: "film", 0: "[UNK]"}


def test_lime_runs_scatter_around_the_exact_form(stage):
    forms = lime_runs.closed_forms(stage.model.exact, stage.sentence.ids)
    method = Lime(samples=3_000, width=math.inf, ridge=0.0, removal="unk")
    runs = lime_runs.lime_runs(stage.model.classifier, stage.sentence.text, method, range(3))
    found = lime_runs.measure(runs, forms, 3_000)
    assert found.mean < found.one_run < 0.1
    # A wrong order of words, or the other label's sign, would be far off.
    turned = replace(forms, exact=forms.exact[::-1])
    assert lime_runs.measure(runs, turned, 3_000).mean > 0.5


def test_findings_follow_the_numbers():
    runs = np.array([[2.9, 4.0], [3.1, 4.0], [3.0, 4.1]])
    near = lime_runs.RuleFit(0.99, 0.05, 1.0)
    narrow = lime_runs.LimeErrors(1600, 0.25, 0.3, 0.3, 0.5, 0.1)
    falling, inside, rule, width = boxplots.findings(
        [*errors(0.4, 0.2, 0.1), narrow], runs, FORMS, [near]
    )
    assert "40% from the exact form at 100 samples and 10.0% at 1,600" in falling
    assert "power -0.50 " in falling
    assert "for 2 of 2 words" in inside
    assert "20% from the exact form on this review" in rule
    assert rule.endswith("it holds.")
    assert "width of 0.25 the mean of the runs is 30%" in width
    for fit, said in (
        (lime_runs.RuleFit(0.95, 0.4, 1.0), "follows LIME, but not closely."),
        (lime_runs.RuleFit(0.4, 0.9, 1.0), "only a rough guide to LIME."),
    ):
        assert boxplots.findings(errors(0.4, 0.2), runs, FORMS, [fit])[2].endswith(said)


def test_the_whole_run(toy, stage, tmp_path):
    settings = boxplots.SETTINGS["tiny"]
    outcome = boxplots.run(toy, settings)
    by_samples, rule, by_word, _ = outcome.tables
    assert [row[:2] for row in by_samples.rows] == [
        ("60", "large"), ("240", "large"), ("240", "0.25 (lime's own)"),
    ]  # fmt: skip
    assert len(by_word.rows) == len(np.unique(stage.sentence.ids[1:]))
    assert len(rule.rows) == 3
    assert outcome.settings["samples"] == "60, 240"
    assert save_figures(outcome, tmp_path) == ["boxplots", "errors"]
    other = boxplots.run(toy, settings)
    assert other.tables == outcome.tables
