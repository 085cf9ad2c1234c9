import numpy as np
import pytest
from scipy.special import softmax

from piste.decision import margins, resolve_target
from piste.errors import OutputError, SettingError
from tests.models.test_query import Recorder

LOGITS = np.array([0.5, 2.0, -1.0])


def classifier(labels=("neg", "pos", "mixed"), outputs="classes") -> Recorder:
    return Recorder(labels=labels, outputs=outputs)


def test_the_predicted_class_is_the_default_and_is_named():
    target = resolve_target(classifier(), LOGITS, None)
    probability = softmax(LOGITS)[1]
    assert (target.index, target.label, target.scale) == (1, "pos", "log-odds")
    assert target.probability == pytest.approx(probability)
    assert target.score == pytest.approx(np.log(probability / (1 - probability)))


def test_two_classes_give_the_difference_of_logits():
    logits = np.array([[1.0, 3.0], [0.0, -1.0]])
    assert margins(logits, classifier(("a", "b")), 1) == pytest.approx([2.0, -1.0])
    assert margins(logits, classifier(("a", "b")), 0) == pytest.approx([-2.0, 1.0])


def test_multi_label_outputs_are_their_own_log_odds():
    assert margins(LOGITS[None], classifier(outputs="labels"), 2) == pytest.approx([-1.0])


def test_regression_has_a_raw_scale_and_no_probability():
    target = resolve_target(classifier(("score",), "raw"), np.array([3.5]), None)
    assert (target.scale, target.score, target.probability) == ("raw score", 3.5, None)


@pytest.mark.parametrize("logits", [[-1e308, 1e308], [0.0, 1e150]])
def test_answers_too_large_to_fit_are_refused(logits):
    with pytest.raises(OutputError, match="as large as"):
        margins(np.array([logits]), classifier(("a", "b")), 1)


def test_saturated_answers_are_fine():
    assert margins(np.array([[1e4, -1e4]]), classifier(("a", "b")), 0) == pytest.approx([2e4])


@pytest.mark.parametrize("wanted", ["mixed", "MIXED", 2, "2"])
def test_a_target_by_name_or_number(wanted):
    assert resolve_target(classifier(), LOGITS, wanted).index == 2


def test_a_label_that_is_a_number_wins_over_the_index():
    assert resolve_target(classifier(("2", "1", "0")), LOGITS, "2").index == 0


@pytest.mark.parametrize("wanted", ["positive", 3, -1, "3", True])
def test_an_unknown_target_lists_the_labels(wanted):
    with pytest.raises(SettingError, match=r"neg, pos, mixed|0 to 2"):
        resolve_target(classifier(), LOGITS, wanted)


def test_as_many_labels_as_outputs():
    with pytest.raises(OutputError, match="3 outputs but has 2 labels"):
        resolve_target(classifier(("a", "b")), LOGITS, None)
