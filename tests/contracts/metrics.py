"""The contract of a metric. Checks take its name and its line of the `METRICS` table."""

import dataclasses

import numpy as np

import piste
from piste.arrays import FloatArray
from piste.decision import Decision
from piste.metrics import Metric
from piste.metrics.case import Case
from piste.options import Options
from piste.result.explanation import Explanation
from tests.planted import additive

WEIGHTS = {"a": 2.0, "b": -1.0, "c": 0.5, "d": 0.1}
NEEDS = {None, "human", "reference"}


def explained(text: str) -> tuple[Case, Explanation]:
    """A bag of words, explained by its own weights, with everything that a metric may need."""
    classifier = piste.from_function(additive(WEIGHTS))
    truth = piste.explain(text, classifier, "occlusion", target="positive")
    weights = truth.scores[truth.primary]
    case = Case(
        Decision.on(text, classifier, Options(target="positive")),
        marked=np.abs(weights) > 0.7,
        reference=weights,
        again=lambda explanation, seed: truth,
        elsewhere=lambda explanation: ranked(truth, np.roll(weights, 1)),
    )
    return case, truth


def ranked(explanation: Explanation, scores: FloatArray) -> Explanation:
    return dataclasses.replace(explanation, scores={explanation.primary: scores})


def its_line_of_the_table_is_complete(name: str, metric: Metric) -> None:
    assert name == name.strip().lower()
    assert ":" not in name  # "method:score" names a column
    assert 10 < len(metric.says) < 100
    assert not metric.says.endswith(".")
    assert metric.needs in NEEDS


def it_gives_a_finite_figure(name: str, metric: Metric) -> None:
    figure = metric.measure(*explained("a b c d"))
    assert figure is not None
    assert np.isfinite(figure)


def texts_without_a_figure_have_none(name: str, metric: Metric) -> None:
    """One word, and a model that words do not move: None or a number, and no exception."""
    for text in ("a", "x y z"):
        figure = metric.measure(*explained(text))
        assert figure is None or np.isfinite(figure), text


def without_what_it_needs_it_gives_none(name: str, metric: Metric) -> None:
    case, explanation = explained("a b c d")
    figure = metric.measure(Case(case.decision), explanation)
    assert figure is None or (metric.needs is None and np.isfinite(figure))


def measured_again_it_gives_the_same_and_asks_nothing(name: str, metric: Metric) -> None:
    case, explanation = explained("a b c d")
    before = {score: values.copy() for score, values in explanation.scores.items()}
    first = metric.measure(case, explanation)
    forwards = case.decision.query.forwards
    assert metric.measure(case, explanation) == first
    assert case.decision.query.forwards == forwards
    for score, values in explanation.scores.items():
        assert (values == before[score]).all(), "it changed the explanation"


def the_true_weights_are_not_worse_than_their_opposite(name: str, metric: Metric) -> None:
    """So `higher_is_better` points the right way."""
    case, truth = explained("a b c d")
    right = metric.measure(case, truth)
    wrong = metric.measure(case, ranked(truth, -truth.scores[truth.primary]))
    assert right is not None
    assert wrong is not None
    assert (right >= wrong) if metric.higher_is_better else (right <= wrong)


CHECKS = (
    its_line_of_the_table_is_complete,
    it_gives_a_finite_figure,
    texts_without_a_figure_have_none,
    without_what_it_needs_it_gives_none,
    measured_again_it_gives_the_same_and_asks_nothing,
    the_true_weights_are_not_worse_than_their_opposite,
)
