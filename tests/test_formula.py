import json

import numpy as np
import pytest

import piste
from piste.errors import FileError, SettingError
from piste.result.explanation import Explanation
from piste.result.formula import Formula
from tests.planted import PlantedSlalom
from tests.test_explain import REVIEW


def test_the_formula_is_slalom():
    formula = Formula(
        values=np.array([2.0, -1.0, 0.5]),
        importances=np.array([0.0, 1.0, -1.0]),
        frame=(0.2, 0.5),
        lengths=np.array([3.0]),
        level=np.zeros(1),
        scale=np.ones(1),
    )
    weights = np.exp([0.0, 1.0, 0.5])
    expected = weights @ [2.0, -1.0, 0.2] / weights.sum()
    assert formula.score([0, 1]) == pytest.approx(expected)
    assert formula.score([]) == pytest.approx(0.2)
    assert formula.change([2]) == pytest.approx(formula.score([0, 1, 2]) - expected)


def test_it_predicts_what_the_planted_model_says():
    planted = PlantedSlalom(20)
    classifier = piste.from_function(planted)
    explanation = piste.explain(planted.text, classifier, "slalom", target="positive")
    words = planted.text.split()
    for gone in ([0], [3, 7], [1, 2, 5, 19]):
        rest = " ".join(word for index, word in enumerate(words) if index not in gone)
        true = planted.margin(planted.text) - planted.margin(rest)
        assert explanation.change(gone) == pytest.approx(true, abs=0.01)


def test_the_change_of_one_player_is_its_removal_score(demo):
    for method in ("context", "slalom"):
        explanation = piste.explain(REVIEW, demo, method)
        for index in (0, 4):
            assert explanation.change([index]) == pytest.approx(
                explanation.scores["removal"][index], abs=1e-6
            )


def test_it_travels_through_json(demo):
    explanation = piste.explain(REVIEW, demo, "slalom")
    again = Explanation.from_dict(json.loads(explanation.to_json()))
    assert again.change([1, 2]) == pytest.approx(explanation.change([1, 2]))
    assert again == explanation


def test_without_a_formula_the_scores_are_summed():
    planted = PlantedSlalom(6)
    explanation = piste.explain(planted.text, piste.from_function(planted), "lime")
    assert explanation.change([0, 2]) == pytest.approx(explanation.scores["removal"][[0, 2]].sum())
    linear = piste.explain(planted.text, piste.from_function(planted), "linear")
    assert linear.change([0, 2]) == pytest.approx(linear.scores["weight"][[0, 2]].sum())


@pytest.mark.parametrize("lengths", [[], [0.0], [-3.0], [5.0, 2.0]])
def test_lengths_that_make_no_sense_are_refused(demo, lengths):
    data = piste.explain("A fine film.", demo, "slalom").to_dict()
    data["formula"] |= {"lengths": lengths, "level": lengths, "scale": lengths}
    with pytest.raises(FileError, match="lengths"):
        Explanation.from_dict(data)


def test_weights_without_a_side_predict_no_change(demo):
    explanation = piste.explain("A fine film.", demo, "attention")
    with pytest.raises(SettingError, match="no change"):
        explanation.change([0])


def test_a_player_that_is_not_there(demo):
    explanation = piste.explain("A fine film.", demo)
    with pytest.raises(SettingError, match="no player 99"):
        explanation.change([99])
