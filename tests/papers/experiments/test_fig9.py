"""The closed form and the sampled fits: alike on a SLALOM, apart where long texts are different."""

import numpy as np
import pytest
from scipy import sparse

from papers.experiments import fig9, run
from papers.experiments.fig9 import ANA, FRUGAL, Point, closed_form, curve, findings, measure
from papers.experiments.languages import KnownSlalom, known_slalom, slalom_language
from papers.experiments.synthetic import TINY, of_counts
from papers.experiments.table7_8 import NEWTON, SGD, as_classifier
from piste.surrogates.slalom.sgd import SgdSettings

KNOWN = KnownSlalom(words=6, seed=3)
TRUTH, LANGUAGE = known_slalom(KNOWN), slalom_language(KNOWN)
SETTINGS = fig9.Fig9Settings(
    TINY, (1,), KNOWN, (2, 20), sequences=600, held_out=200, draws=3, sgd=SgdSettings(5e-2, 30)
)


def measured(classifier):
    ana, _ = closed_form(classifier, LANGUAGE)
    return measure(classifier, LANGUAGE, TRUTH, ana, SETTINGS, 0)


def test_the_closed_form_is_exact_on_a_slalom():
    model, doubtful = closed_form(as_classifier(LANGUAGE, TRUTH), LANGUAGE)
    assert doubtful == 0
    assert model.values == pytest.approx(TRUTH.values)
    assert model.normalised(0.0).importances == pytest.approx(TRUTH.importances)


def test_a_pair_beyond_its_parts_is_counted():
    def contrary(counts):
        pairs = counts.sum(axis=1) > 1
        return np.where(pairs, 100.0, TRUTH.predict(sparse.csr_array(counts))[:, 0])

    assert closed_form(of_counts(LANGUAGE, contrary, "contrary"), LANGUAGE)[1] == 5


def test_all_fits_agree_on_a_slalom():
    found = measured(as_classifier(LANGUAGE, TRUTH))
    assert curve(found[ANA], "logits").max() < 1e-12
    assert curve(found[NEWTON], "logits").max() < 1e-5
    assert curve(found[ANA], "parameters").max() < 1e-12
    assert curve(found[SGD], "true_logits").max() < 0.05
    assert len(found[FRUGAL]) == 2


def test_long_texts_of_another_law_are_followed_by_the_sampled_fit_only():
    """Beyond a few words the classifier turns the answers up: short sequences cannot know."""

    def louder(counts):
        answers = TRUTH.predict(sparse.csr_array(counts))[:, 0]
        return np.where(counts.sum(axis=1) > 4, answers + 2, answers)

    found = measured(of_counts(LANGUAGE, louder, "louder"))
    ana, newton = (curve(found[fit], "logits") for fit in (ANA, NEWTON))
    assert ana[0] < 1e-12
    assert ana[-1] == pytest.approx(4)
    assert newton[-1] < 0.4


def points(*logits, parameters=1.0):
    return [Point(one, one, parameters) for one in logits]


def curves(ana, sgd, ana_parameters=1.0):
    return {ANA: points(*ana, parameters=ana_parameters), SGD: points(*sgd), NEWTON: points(*sgd)}


def test_sentences_follow_the_numbers():
    said = findings({"model": curves((0.1, 0.4), (0.1, 0.1))}, (2, 30), {"model": 0})
    assert "for 1 of 1 models; in the paper they are alike" in said[0]
    assert "for 1 of 1 models with Ana, for 0 with SGD, for 0 with Gauss-Newton" in said[1]
    assert "Ana 4.0, SGD 1.0, Gauss-Newton 1.0" in said[2]
    assert "Ana's error is 4.0 times SGD's" in said[2]
    assert len(said) == 3
    unlike = findings({"model": curves((0.1, 0.1), (0.1, 0.3), 9.0)}, (2, 30), {"model": 2})
    assert "for 0 of 1 models; in the paper" in unlike[0]
    assert "for 0 of 1 models with Ana, for 1 with SGD" in unlike[1]
    assert unlike[3].endswith("model 2.")


def test_the_experiment_runs(made_up):
    outcome = run("fig9", made_up)
    assert len(outcome.tables) == 3
    assert len(outcome.tables[0].rows) == 3 * 4
    assert outcome.tables[0].columns == ("model", "fit", "2 words", "6 words")
    assert outcome.settings["sequences of Ana"] == 9
    assert len(outcome.figures["fig9"].axes) == 6
