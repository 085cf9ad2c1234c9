"""Autograd against the closed form; a wrong form is found out."""

import numpy as np
import pytest

from papers.experiments import gradient_check as check
from papers.theory.closed_forms import gradient
from tests.papers.experiments.toy_imdb import save_figures
from tests.papers.theory.small import random_layer, some_ids

TEXTS = [some_ids(5), some_ids(9, seed=1)]


def wrong_at_cls(module, ids):
    """A form that misses a part at [CLS], as one without the query's term does."""
    found = gradient(module, ids)
    found[0] *= 0.9
    return found


def test_differences_by_hand():
    autograd, closed = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[3.0, 4.5], [0.0, 2.0]])
    whole = check.Comparison.of(autograd, closed)
    rows = [check.Comparison.of(autograd[[row]], closed[[row]], row == 0) for row in (0, 1)]
    for found in (whole, check.Comparison.joined(rows)):
        assert (found.absolute, found.largest) == (0.5, 4.0)
        assert found.relative == pytest.approx([0.1, 0.0])
        assert found.whole == pytest.approx(0.5 / np.sqrt(29))
    assert check.Comparison.joined(rows).components[0].tolist() == [3.0, 4.0]


def test_every_position_is_compared_once():
    found = check.measure(random_layer(), TEXTS)
    assert {kind: len(pair.relative) for kind, pair in found.items()} == {
        check.WORDS: 14, check.CLS: 2, check.PADDING: 16,
    }  # fmt: skip
    full = check.measure(random_layer(), [some_ids(15)])
    assert check.PADDING not in full  # the text fills the window


def test_both_precisions_agree():
    double, single = random_layer(), random_layer().float()
    found = {
        check.DOUBLE: check.measure(double, TEXTS),
        check.SINGLE: check.measure(single, TEXTS),
    }
    assert all(pair.relative.max() < 1e-12 for pair in found[check.DOUBLE].values())
    assert all(1e-9 < pair.relative.max() < 1e-3 for pair in found[check.SINGLE].values())
    in_double, in_single, at_cls = check.findings(found, 2)
    assert "agree to rounding at every position of 2 reviews" in in_double
    assert "agree to rounding" in in_single
    assert "the formula with the query's term holds" in at_cls


def test_a_wrong_form_is_found_out():
    found = {check.DOUBLE: check.measure(random_layer(), TEXTS, wrong_at_cls)}
    in_double, at_cls = check.findings(found, 2)
    assert "differ beyond rounding" in in_double
    assert "does not hold: largest relative difference 1e-01" in at_cls


def test_points_are_spread_over_the_range():
    values = np.concatenate([np.zeros(1000), [-1.0, 0.5, 1.0]])
    assert sorted(values[check.spread_out(values, 5)].tolist()) == [-1.0, 0.0, 0.5, 1.0]


def test_the_whole_run(toy, tmp_path):
    outcome = check.run(toy, check.SETTINGS["tiny"])
    rows = outcome.tables[0].rows
    assert [row[:2] for row in rows] == [
        (precision, kind) for precision in ("float64", "float32") for kind in check.PLACES
    ]
    assert (
        sum(int(row[2].replace(",", "")) for row in rows)
        == 2 * 4 * check.SETTINGS["tiny"].model.shape.window
    )
    assert all(float(row[5]) < 1e-10 for row in rows if row[0] == "float64")
    assert "sentence" not in outcome.settings
    assert save_figures(outcome, tmp_path) == ["gradients"]
