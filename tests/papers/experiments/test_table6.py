"""Surrogates: each follows the classifier that is one of its kind, and not the others'."""

from dataclasses import replace

import numpy as np
import pytest

from papers.experiments import run, table6
from papers.experiments.languages import (
    LONGEST,
    KnownSlalom,
    binomial_lengths,
    known_slalom,
    linear_language,
    slalom_language,
    up_to,
)
from papers.experiments.synthetic import TINY, TrainedTransformer
from papers.experiments.table6 import FRAMED, GAM, LINEAR, SLALOM, findings, measure, table
from papers.experiments.table7_8 import as_classifier
from tests.papers.experiments.made_up import additive, by_place

SETTINGS = table6.Table6Settings(TINY, (1,), sequences=1200, held_out=300, penalties=(1e-3, 1e-1))
LANGUAGE = linear_language()


def test_a_linear_classifier_is_followed_by_the_linear_surrogate():
    settings = replace(SETTINGS, penalties=(1e-1,))  # the GAM does not matter here
    errors = measure(additive(LANGUAGE), LANGUAGE, up_to(LONGEST), settings, 0)
    assert errors[LINEAR] < 1e-9
    assert errors[SLALOM] > 1
    assert FRAMED not in errors


def test_a_slalom_is_followed_by_slalom():
    known = KnownSlalom()
    language = slalom_language(known)
    classifier = as_classifier(language, known_slalom(known))
    errors = measure(classifier, language, up_to(LONGEST), SETTINGS, 0)
    assert errors[SLALOM] < 1e-6
    assert min(errors[LINEAR], errors[GAM]) > 0.1


def test_a_gam_is_followed_by_the_gam_with_the_better_penalty():
    classifier = by_place(lambda word, place: (word == "good") * (-1.0) ** place)
    errors = measure(classifier, LANGUAGE, binomial_lengths, SETTINGS, 0)
    assert errors[GAM] < 0.02
    assert errors[LINEAR] > 0.5
    assert errors[SLALOM] > 0.5


def models(*keys):
    return [
        TrainedTransformer(kind, layers, additive(LANGUAGE), 0.8, 0.85) for kind, layers in keys
    ]


def test_the_papers_figures_stand_beside_ours():
    errors = {LINEAR: 0.2, GAM: 0.4, SLALOM: 0.1, FRAMED: 0.05}
    rows = table("a kind", models(("bert", 1), ("bert", 2)), [errors, errors]).rows
    assert rows[0][1:6] == ("20.0", "40.0", "10.0", "5.0", "26.3 / 43.3 / 7.3")
    assert rows[1][5] == ""
    assert rows[0][6] == "0.800 (0.850)"


def test_sentences_follow_the_numbers():
    kinds = models(("bert", 1), ("bert", 4))
    like = findings(kinds, [{LINEAR: 0.2, GAM: 0.4, SLALOM: s, FRAMED: s / 2} for s in (0.1, 0.15)])
    assert "on 2 of 2 models: 0.62 of the linear" in like[0]
    assert like[1].startswith("The GAM's error is 2.00")
    assert "need not be worse" not in like[1]
    assert "0.50" in like[2]
    assert "From 1 to 4 layers SLALOM's error grows for 1 of 1" in like[3]
    unlike = findings(kinds, [{LINEAR: 0.2, GAM: 0.2, SLALOM: s} for s in (0.3, 0.25)])
    assert "on 0 of 2" in unlike[0]
    assert "need not be worse" in unlike[1]
    assert "grows for 0 of 1" in unlike[2]
    assert len(unlike) == 3


def test_the_experiment_runs(made_up):
    outcome = run("table6", made_up)
    assert len(outcome.tables) == 2
    assert [row[0] for row in outcome.tables[0].rows] == [
        "BERT, 1 layer", "DistilBERT, 1 layer", "GPT-2, 1 layer",
    ]  # fmt: skip
    assert outcome.tables[0].rows[2][4] == "no frame"
    assert np.isfinite([float(cell) for row in outcome.tables[0].rows for cell in row[1:4]]).all()
    assert len(outcome.figures["table6"].axes) == 2
    assert outcome.settings["sequences"] == 200


@pytest.mark.parametrize("key", list(table6.THEIRS))
def test_the_papers_slalom_is_its_best(key):
    linear, gam, slalom = table6.THEIRS[key]
    assert slalom < linear < gam
