"""Table 10: who is compared how, on a model whose deciding words are planted."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from papers.experiments import table10
from papers.experiments.base import Context
from papers.experiments.equal_budgets import (
    CHANCE,
    EFF,
    LIME,
    OURS,
    SHAP,
    MethodFigures,
    measure,
    methods,
)
from papers.experiments.table10 import MethodDifference, findings, short_enough, usable
from piste.data import Example
from piste.errors import FileError
from piste.models.backends.function import from_function
from piste.runs.statistics import DRAWS, Interval

TINY = table10.SETTINGS["tiny"]
SPAN = Interval(0.1, 0.05, 0.2, 20)
TEXT = "good one two three great four five six seven eight nine ten eleven twelve superb end"


def planted(texts):
    """Log-odds that three words decide."""
    return np.array([2.0 * sum(w in t for w in ("good", "great", "superb")) - 1 for t in texts])


@pytest.fixture(scope="module")
def measured():
    return measure(from_function(planted), [TEXT], TINY.budget, TINY.steps, seed=0)


def test_every_method_finds_the_planted_words(measured):
    # 16 words, read where 1, 4, 8, 12 and 15 are gone: the best leaves 3, then -1 log-odds.
    p = {score: 1 / (1 + np.exp(-score)) for score in (5, 3, 1, -1)}
    best_fall = np.mean([p[5] - p[3], *[p[5] - p[-1]] * 4])
    least_missing = np.mean([p[5] - p[1], *[0.0] * 4])
    for name in (SHAP, LIME, EFF, OURS):
        assert measured.deletion[name] == pytest.approx(best_fall)
        assert measured.insertion[name] == pytest.approx(least_missing)
        assert measured.normalised[name] == pytest.approx(1)
    assert measured.deletion[CHANCE][0] < best_fall
    assert measured.insertion[CHANCE][0] > least_missing
    assert 0 <= measured.normalised[CHANCE][0] < 1
    assert measured.certainty == pytest.approx(p[5])


def test_budgets_are_equal(measured):
    for name in (SHAP, LIME, EFF, OURS):
        assert 0.85 * TINY.budget <= measured.forwards[name][0] <= TINY.budget
    assert {method.samples for name, method in methods(70).items() if name != OURS} == {70}


def test_texts_without_label_are_left_out_and_breaks_removed():
    rows = [Example("0", "a<br /><br />b", 1), Example("1", "c"), Example("2", "", 0, problem="x")]
    assert [row.text for row in usable(rows)] == ["a  b"]


def test_only_texts_of_some_length_are_explained():
    rows = [Example(str(n), "word " * n, 1) for n in (13, 14, 40, 41, 20)]
    assert [len(text.split()) for text in short_enough(rows, TINY)] == [14, 40]
    with pytest.raises(FileError):
        short_enough(rows[:1], TINY)


@pytest.mark.parametrize(
    ("figure", "low", "high", "verdict"),
    [
        ("deletion", 0.1, 0.3, "better"),
        ("deletion", -0.3, -0.1, "worse"),
        ("insertion", -0.3, -0.1, "better"),
        ("insertion", 0.1, 0.3, "worse"),
        ("insertion", -0.1, 0.1, "no clear difference"),
    ],
)
def test_verdicts(figure, low, high, verdict):
    span = Interval((low + high) / 2, low, high, 20)
    assert MethodDifference(figure, EFF, LIME, span).verdict == verdict


def test_the_reported_bootstrap_is_that_of_the_intervals():
    assert table10.BOOTSTRAP_DRAWS == DRAWS


def test_the_papers_differences():
    assert MethodDifference("deletion", OURS, SHAP, SPAN).paper == pytest.approx(0.1579)
    assert MethodDifference("insertion", EFF, LIME, SPAN).paper == pytest.approx(-0.0014)


def flat(insertion, deletion):
    """Measured figures with the same number for each method but chance."""
    names = (SHAP, LIME, EFF, OURS)
    one = np.ones(3)
    return MethodFigures(
        dict.fromkeys(names, insertion * one) | {CHANCE: 0.5 * one},
        dict.fromkeys(names, deletion * one) | {CHANCE: 0.4 * one},
        dict.fromkeys(names, one),
        dict.fromkeys(names, 100 * one),
        0.9 * one,
    )


def test_findings_follow_the_numbers():
    difference = MethodDifference("deletion", EFF, SHAP, SPAN)
    opposite = replace(difference, interval=replace(SPAN, mean=-0.1, low=-0.2))
    good = " ".join(findings(flat(-0.1, 0.8), [difference], 0.9))
    bad = " ".join(findings(flat(0.1, 0.2), [opposite], 0.9))
    assert "lin found what" in good
    assert "No SLALOM found" in bad
    assert "surer than the whole review" in good
    assert "surer than the whole review" not in bad
    assert "paper's in 1 of 1" in good
    assert "paper's in 0 of 1" in bad


def write_reviews(folder):
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(30)]
    (folder / "imdb").mkdir()
    for part in ("train", "test"):
        rows = []
        for number in range(60):
            label = number % 2
            text = [*rng.choice(words, 15, replace=False), "great" if label else "awful"]
            rows.append(json.dumps({"id": number, "label": label, "text": " ".join(text)}))
        with gzip.open(folder / "imdb" / f"{part}.jsonl.gz", "wt") as stream:
            stream.write("\n".join(rows))


def test_the_whole_table(tmp_path):
    write_reviews(tmp_path)
    outcome = table10.run(Context(tmp_path / "cache", data=tmp_path, seed=3), TINY)
    first, second = outcome.tables
    assert [row[0] for row in first.rows] == [SHAP, LIME, EFF, OURS, CHANCE]
    assert [row[2] for row in first.rows] == ["0.0120", "0.0053", "0.0039", "–", "–"]
    assert len(second.rows) == 8
    assert outcome.settings["training"] == 60
    assert outcome.settings["network seed"] == 3
    assert any("test accuracy" in finding for finding in outcome.findings)
