"""KernelSHAP on runs: exactly the weight of an additive classifier, c / n of a flat one."""

import numpy as np
import pytest

from papers.experiments import run
from papers.experiments.appendix_a import findings, measure, recovered
from papers.experiments.fig3 import NET
from papers.experiments.languages import linear_language
from tests.papers.experiments.made_up import additive, flat

LANGUAGE = linear_language()
RUNS = (1, 4, 12, 20)


def test_an_additive_classifier_has_its_weight_at_every_length():
    values = measure(additive(LANGUAGE), RUNS, 200, 0)
    assert values == pytest.approx(np.full(len(RUNS), 1.5))
    assert recovered(values)


def test_a_flat_classifier_shares_one_answer_among_all():
    values = measure(flat(LANGUAGE, 4.0), RUNS, 200, 0)
    assert values == pytest.approx(4.0 / np.array(RUNS))
    assert not recovered(values)


def test_sentences_follow_the_numbers():
    right, wrong = np.full(3, 1.4), np.array([4.0, 1.0, 0.2])
    one, other = f"{NET}, seed 0", f"{NET}, seed 1"
    agree = findings({one: right, other: right + 0.2, "model": wrong})
    assert "from 2 of 2 ReLU nets: its values lie between 1.40 and 1.60" in agree[0]
    assert agree[1].startswith("1 of 1 transformers do not recover it")
    assert "from 4.00 to 0.20" in agree[1]
    differ = findings({one: wrong, other: right, "model": right})
    assert "from 1 of 2 ReLU nets" in differ[0]
    assert differ[1] == "Unlike in the paper, model recovers it."
    assert len(differ) == 2


def test_the_experiment_runs(made_up):
    outcome = run("appendix-a", made_up)
    (measured,) = outcome.tables
    assert len(measured.rows) == 5
    assert measured.rows[0][-1] == "recovers 1.5"
    assert measured.rows[4][-1] == "does not recover 1.5"
    assert measured.columns == ("classifier", "1 x", "3 x", "paper")
    assert outcome.settings["repeats"] == "separate"
    assert len(outcome.figures["appendix_a"].axes[0].lines) == 2 + 2 + 3
