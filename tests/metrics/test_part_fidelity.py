"""R² on parts of the text, against figures that can be worked out by hand."""

import dataclasses

import numpy as np
import pytest

import piste
from piste.metrics.part_fidelity import LEAST, fresh_parts, part_r2
from tests.metrics.conftest import decision
from tests.planted import additive

WEIGHTS = {"a": 2.0, "b": -1.0, "c": 0.5, "d": 0.1, "e": -0.3, "f": 1.0}
TEXT = " ".join(WEIGHTS)


@pytest.fixture
def six():
    return decision(TEXT, WEIGHTS)


@pytest.fixture
def occlusion():
    return piste.explain(
        TEXT, piste.from_function(additive(WEIGHTS)), "occlusion", target="positive"
    )


def with_scores(explanation, scores, name="removal"):
    return dataclasses.replace(explanation, scores={name: np.array(scores)}, primary=name)


def test_who_knows_the_model_has_one(six, occlusion):
    assert part_r2(six, occlusion) == pytest.approx(1.0)


def test_by_hand(six, occlusion):
    """Scores that are wrong by 1 for "d": off by 1 wherever it is gone."""
    wrong = with_scores(occlusion, [2.0, -1.0, 0.5, 1.1, -0.3, 1.0])
    parts = fresh_parts(6, wrong, 20, seed=4)
    true = parts @ np.array(list(WEIGHTS.values()))
    expected = 1 - np.mean(~parts[:, 3]) / np.var(true)
    assert part_r2(six, wrong, parts=20, seed=4) == pytest.approx(expected)


def test_predicting_no_change_is_not_above_zero(six, occlusion):
    assert part_r2(six, with_scores(occlusion, [0.0] * 6)) <= 0


def test_context_is_tried_on_parts_that_it_has_not_asked():
    words = [f"w{i}" for i in range(12)]
    weights = dict(zip(words, np.linspace(-1, 1, 12), strict=True))
    text = " ".join(words)
    classifier = piste.from_function(additive(weights))
    found = piste.explain(text, classifier, target="positive")
    parts = fresh_parts(12, found, 50, seed=0)
    asked = {part.tobytes() for part in found.parts.parts}
    assert len(parts) == 50
    assert not asked & {part.tobytes() for part in parts}
    assert parts.mean(axis=1).min() >= LEAST - 0.5 / 12
    one = decision(text, weights)
    expected = one.keeping([np.flatnonzero(part) for part in parts])
    said = [found.predict(np.flatnonzero(part)).score for part in parts]
    r2 = 1 - np.mean((np.array(said) - expected) ** 2) / np.var(expected)
    assert part_r2(one, found) == pytest.approx(r2)
    assert r2 > 0.9


def test_where_there_is_no_figure(six, occlusion):
    assert part_r2(six, with_scores(occlusion, [0.2] * 6, "alpha-avg")) is None
    assert part_r2(decision("a b", WEIGHTS), occlusion) is None
    assert part_r2(decision("x y z u v w", {}), occlusion) is None
    other = dataclasses.replace(occlusion.target, scale="raw score")
    assert part_r2(six, dataclasses.replace(occlusion, target=other)) is None
