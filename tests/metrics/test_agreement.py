import numpy as np
import pytest
from scipy.stats import spearmanr

from piste.metrics.agreement import agreement, spearman
from tests.render.samples import sample


def with_scores(name, scores):
    return sample("one two three four", scores={name: np.array(scores)}, primary=name)


def test_by_hand():
    # Ranks 1 2 3 4 against 2 1 3 4: 1 - 6 * (1 + 1) / (4 * 15).
    assert spearman(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 3, 9])) == pytest.approx(0.8)


def test_equal_values_share_their_rank_as_in_scipy():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, (2, 40)).astype(float)
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)


def test_the_matrix():
    found = agreement(
        [
            with_scores("lin", [3.0, 1.0, -1.0, -4.0]),
            with_scores("weight", [-3.0, -1.0, 1.0, 4.0]),
            with_scores("alpha-avg", [0.3, 0.1, 0.1, 0.5]),
            with_scores("lin", [1.0, 1.0, 1.0, 1.0]),
        ]
    )
    assert np.array_equal(found, found.T, equal_nan=True)
    assert found[0, 1] == pytest.approx(-1.0)
    assert found[0, 2] == pytest.approx(1.0)  # by size: attention has no side
    assert np.isnan(found[0, 3])
    assert np.diag(found).tolist() == [1.0] * 4
