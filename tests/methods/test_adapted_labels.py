"""For which label foreign scores speak, and when they may be turned round."""

from types import SimpleNamespace

import numpy as np
import pytest
from lime.lime_text import LimeTextExplainer

import piste
from piste.errors import SettingError

TEXT = "apple bread tea"
SCORES = {"apple": 6.0, "bread": 0.0, "tea": 0.0}


def two(texts):
    return [[-3 + 6 * ("apple" in t.split()), -3 + 4 * ("bread" in t.split())] for t in texts]


@pytest.fixture(params=["label-logits", "raw"])
def independent(request):
    return piste.from_function(two, ["A", "B"], outputs=request.param, name="two")


def given(explanation):
    (scores,) = explanation.scores.values()
    return scores.tolist()


def test_scores_are_turned_round_only_between_classes(independent):
    theirs = piste.adapt(SCORES, label="A")
    assert given(piste.explain(TEXT, independent, theirs, target="A")) == [6.0, 0.0, 0.0]
    with pytest.raises(SettingError, match="scores for 'A', and 'B' is explained"):
        piste.explain(TEXT, independent, theirs, target="B")
    classes = piste.from_function(two, ["A", "B"], outputs="logits", name="two")
    assert given(piste.explain(TEXT, classes, theirs, target="B")) == [-6.0, 0.0, 0.0]


def of_shap(values, base, names):
    return SimpleNamespace(
        values=np.array(values), base_values=base, data=np.array(TEXT.split()), output_names=names
    )


def test_a_sum_that_is_the_negative_score_speaks_for_no_other_label(independent):
    """B scores +1 and the scores add up to −1: of two classes they would be those of A."""
    theirs = piste.adapt(of_shap([0.0, 2.0, 0.0], -3.0, None))
    assert given(piste.explain(TEXT, independent, theirs, target="B")) == [0.0, 2.0, 0.0]


def test_a_label_that_contradicts_the_result_is_refused(independent):
    theirs = of_shap([0.0, 4.0, 0.0], -3.0, "B")
    with pytest.raises(SettingError, match="they are for 'B'") as found:
        piste.explain(TEXT, independent, piste.adapt(theirs, label="A"), target="B")
    assert found.value.remedy == "Leave label out."
    for label in ("B", None):
        explained = piste.explain(TEXT, independent, piste.adapt(theirs, label=label), target="B")
        assert "bread" in explained.headline


def test_lime_of_one_label_is_not_that_of_another():
    model = piste.from_function(two, ["A", "B"], outputs="label-logits", name="two")

    def shares(texts):
        of_a = 1 / (1 + np.exp(-np.array(two(texts))[:, 0]))
        return np.stack([of_a, 1 - of_a], axis=1)

    explainer = LimeTextExplainer(class_names=["A", "B"], random_state=0)
    theirs = explainer.explain_instance(TEXT, shares, labels=(0,), num_samples=50)
    assert given(piste.explain(TEXT, model, piste.adapt(theirs), target="A"))[0] > 0
    with pytest.raises(SettingError, match="lime did not explain 'B'"):
        piste.explain(TEXT, model, piste.adapt(theirs), target="B")
