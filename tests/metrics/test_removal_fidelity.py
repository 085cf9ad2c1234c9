import dataclasses

import numpy as np
import pytest

import piste
from piste.metrics.removal_fidelity import predicts, removal_error, removals
from tests.metrics.conftest import decision
from tests.planted import additive

WEIGHTS_OF_THREE = {"a": 2.0, "b": -1.0, "c": 0.5}


@pytest.fixture
def occlusion():
    return piste.explain(
        "a b c", piste.from_function(additive(WEIGHTS_OF_THREE)), "occlusion", target="positive"
    )


def with_scores(explanation, scores, name="removal"):
    return dataclasses.replace(explanation, scores={name: np.array(scores)}, primary=name)


def test_who_knows_the_changes_has_no_error(three, occlusion):
    assert removal_error(three, occlusion) == pytest.approx(0.0, abs=1e-9)


def test_predicting_no_change_is_one_and_twice_the_change_too(three, occlusion):
    assert removal_error(three, with_scores(occlusion, [0, 0, 0])) == pytest.approx(1.0)
    assert removal_error(three, with_scores(occlusion, [4, -2, 1])) == pytest.approx(1.0)


def test_by_hand(three, occlusion):
    # Wrong by 1 wherever "c" is gone, right elsewhere.
    removed = removals(3, 8, 2, seed=4)
    true = np.array([sum([2.0, -1.0, 0.5][i] for i in gone) for gone in removed])
    wrong = np.array([float(2 in gone) for gone in removed])
    expected = np.sqrt(np.sum(wrong**2) / np.sum(true**2))
    explanation = with_scores(occlusion, [2.0, -1.0, 1.5])
    found = removal_error(three, explanation, draws=8, most=2, seed=4)
    assert found == pytest.approx(expected)


def test_scores_without_a_side_predict_nothing(three, occlusion):
    assert not predicts(with_scores(occlusion, [0.2, 0.5, 0.3], "alpha-avg"))
    assert removal_error(three, with_scores(occlusion, [0.2, 0.5, 0.3], "anchor")) is None


def test_nothing_to_remove_and_nothing_that_moves(occlusion):
    assert removal_error(decision("a", {"a": 1.0}), occlusion) is None
    assert removal_error(decision("a b c", {}), occlusion) is None


def test_removals_leave_somebody_and_follow_the_seed():
    drawn = removals(3, 200, 5, seed=0)
    assert {len(gone) for gone in drawn} == {1, 2}
    assert all(len(set(gone.tolist())) == len(gone) for gone in drawn)
    assert [g.tolist() for g in drawn] == [g.tolist() for g in removals(3, 200, 5, seed=0)]
