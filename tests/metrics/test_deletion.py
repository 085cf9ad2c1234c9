import numpy as np
import pytest
from scipy.special import expit

from piste.metrics.deletion import deletion, insertion, points, ranked
from tests.metrics.conftest import decision


def test_the_curves_by_hand(three):
    scores = np.array([2.0, -1.0, 0.5])
    # The whole says 1.5. Deleted in the order a, c: "b c" says -0.5, "b" -1.
    fell = [expit(1.5) - expit(-0.5), expit(1.5) - expit(-1.0)]
    assert deletion(three, scores) == pytest.approx(np.mean(fell))
    # Kept in the same order: "a" says 2, "a c" 2.5, both more than the whole.
    missing = [expit(1.5) - expit(2.0), expit(1.5) - expit(2.5)]
    assert insertion(three, scores) == pytest.approx(np.mean(missing))


def test_the_opposite_order_is_worse(three):
    good, bad = np.array([2.0, -1.0, 0.5]), np.array([-2.0, 1.0, -0.5])
    assert deletion(three, good) > deletion(three, bad)
    assert insertion(three, good) < insertion(three, bad)


def test_deleted_words_are_gone_and_nothing_is_asked_twice(three):
    deletion(three, np.array([2.0, -1.0, 0.5]))
    assert three.query.forwards == 3  # the whole, "b c" and "b"
    deletion(three, np.array([4.0, 0.0, 1.0]))
    assert three.query.forwards == 3


@pytest.mark.parametrize(
    ("players", "steps", "expected"),
    [(1, 25, []), (2, 25, [1]), (4, 25, [1, 2, 3]), (101, 5, [1, 26, 50, 75, 100]), (9, 1, [1])],
)
def test_where_a_curve_is_read(players, steps, expected):
    assert points(players, steps).tolist() == expected


def test_a_single_word_has_no_curve():
    assert deletion(decision("a", {"a": 1.0}), np.array([1.0])) is None


def test_equal_scores_are_not_ranked_by_where_they_stand():
    order = ranked(np.zeros(50))
    assert sorted(order.tolist()) == list(range(50))
    assert order.tolist() != list(range(50))
    assert ranked(np.array([0.1, np.nan, 3.0, -1.0])).tolist() == [2, 0, 1, 3]
