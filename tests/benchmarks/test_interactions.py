"""Variance by order: planted sums of products, exactly and from random halves."""

import sys
from pathlib import Path

import numpy as np
import pytest

from piste.surrogates.shapley import all_coalitions

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def interactions():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import interactions

        yield interactions
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def planted(parts):
    """Variance 4 + 1 of single words, 9 of a pair, 2.25 of three words."""
    s = np.where(parts, 1.0, -1.0)
    return 7 + 2 * s[:, 0] - s[:, 4] + 3 * s[:, 1] * s[:, 2] + 1.5 * s[:, 0] * s[:, 2] * s[:, 3]


def test_every_part_asked_gives_the_variances_exactly(interactions):
    found = interactions.spectrum(planted(all_coalitions(6)))
    assert found == pytest.approx([5, 9, 2.25, 0, 0, 0], abs=1e-9)
    shares = interactions.by_order(found)
    assert shares == pytest.approx({"single": 5 / 16.25, "pairs": 9 / 16.25, "more": 2.25 / 16.25})


def test_random_halves_estimate_them_without_bias(interactions):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        parts = rng.random((300, 12)) < 0.5
        found.append(interactions.estimated(parts, planted(parts)))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(40)
    assert np.all(np.abs(mean - [5, 9, 2.25]) < 4 * error)
    assert np.all(error < 0.3)


def test_the_best_sum_leaves_the_interactions(interactions):
    parts = all_coalitions(6)
    assert interactions.additive(parts, planted(parts)) == pytest.approx(5 / 16.25, abs=0.1)
    assert interactions.additive(parts, parts @ np.arange(6.0)) == pytest.approx(1)
