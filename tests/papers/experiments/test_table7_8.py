"""Recovery: a SLALOM asked directly comes back exactly; a changed one by the change made."""

import numpy as np
import pytest

from papers.experiments import run, table7_8
from papers.experiments.languages import KnownSlalom, known_slalom, slalom_language
from papers.experiments.synthetic import TINY
from papers.experiments.table7_8 import (
    FRAMED,
    ITSELF,
    NEWTON,
    SGD,
    Recovery,
    RecoveryFits,
    as_classifier,
    findings,
    measure,
    parameter_errors,
    sampled_fits,
)
from piste.surrogates.slalom.model import SlalomModel
from piste.surrogates.slalom.sgd import SgdSettings
from tests.papers.experiments.made_up import context_in

KNOWN = KnownSlalom(words=6, seed=3)
TRUTH, LANGUAGE = known_slalom(KNOWN), slalom_language(KNOWN)
FAST = SgdSettings(rate=5e-2, epochs=30)
SETTINGS = table7_8.RecoverySettings(TINY, (1,), KNOWN, sequences=800, held_out=200, sgd=FAST)


def test_the_slalom_itself_is_recovered():
    found = measure(as_classifier(LANGUAGE, TRUTH), LANGUAGE, TRUTH, SETTINGS, 0)
    assert found.own < 1e-20
    assert set(found.fits) == {SGD, NEWTON}
    exact, steps = found.fits[NEWTON], found.fits[SGD]
    assert exact.logits < 1e-6
    assert exact.parameters < 1e-4
    assert steps.logits < 1e-2
    assert exact.model.importances.sum() == pytest.approx(0)


def test_a_changed_slalom_is_off_by_the_change():
    changed = SlalomModel(TRUTH.values + 0.5, TRUTH.importances)
    found = measure(as_classifier(LANGUAGE, changed), LANGUAGE, TRUTH, SETTINGS, 0)
    exact = found.fits[NEWTON]
    assert found.own == pytest.approx(0.25)
    assert exact.logits == pytest.approx(0.25, rel=0.01)
    assert exact.to_model < 1e-6
    assert exact.values == pytest.approx(0.25, rel=0.01)
    assert exact.importances < 1e-3
    assert exact.parameters == pytest.approx(0.125, rel=0.02)


def test_parameters_are_compared_after_the_same_normalisation():
    shifted = SlalomModel(TRUTH.values, TRUTH.importances + 7)
    assert parameter_errors(shifted, TRUTH) == pytest.approx((0, 0))
    stretched = SlalomModel(TRUTH.values, 2 * TRUTH.importances)
    assert parameter_errors(stretched, TRUTH) == pytest.approx((0, np.mean(TRUTH.importances**2)))


def test_a_frame_is_fitted_only_where_there_is_one():
    assert FRAMED not in sampled_fits(FAST, frame=False)
    counts = LANGUAGE.counts(LANGUAGE.rows(np.random.default_rng(0), 100))
    fits = sampled_fits(FAST, frame=True)
    answers = TRUTH.predict(counts)[:, 0]
    assert fits[FRAMED](counts, answers, 0).frame is not None
    assert fits[NEWTON](counts, answers, 0).frame is None


def recovery(logits: float, parameters: float) -> Recovery:
    return Recovery(TRUTH, logits, 0.0, parameters, parameters)


@pytest.mark.parametrize(
    ("logits", "place"),
    [(0.01, "inside"), (0.5, "above"), (0.0001, "below")],
)
def test_the_place_among_the_papers_figures(logits, place):
    said = findings({"model": RecoveryFits(0.02, {NEWTON: recovery(logits, 0.5)})})
    assert f"{place} the paper's range of 0.001 to 0.017" in said[0]
    assert "inside the paper's range of 0.09 to 1.65" in said[1]
    nearer = "for 1 of 1 models: it leaves out" if logits < 0.02 else "for 0 of 1 models."
    assert nearer in said[2]
    assert len(said) == 3


def test_the_fits_own_error_is_named():
    fits = {"model": RecoveryFits(0.02, {NEWTON: recovery(0.01, 0.5)})}
    exact = findings({ITSELF: RecoveryFits(0.0, {NEWTON: recovery(1e-9, 1e-8)}), **fits})[-1]
    assert "1e-09 in log-odds and 1e-08 in parameters: the errors above are the models'" in exact
    rough = findings({ITSELF: RecoveryFits(0.0, {NEWTON: recovery(1e-2, 1e-8)}), **fits})[-1]
    assert rough.endswith("in parameters.")


def test_ranges_may_overlap():
    pair = {str(one): RecoveryFits(0.02, {NEWTON: recovery(one, 0.01)}) for one in (0.01, 0.1)}
    said = findings(pair)
    assert "from 0.010 to 0.100 (Gauss-Newton), overlapping" in said[0]
    assert "below the paper's range" in said[1]


def test_the_experiment_runs(tmp_path):
    outcome = run("table7-8", context_in(tmp_path, seed=2))
    logits, parameters = outcome.tables
    assert [row[0] for row in logits.rows] == [
        ITSELF, "BERT, 1 layer", "DistilBERT, 1 layer", "GPT-2, 1 layer",
    ]  # fmt: skip
    assert logits.rows[0][1] == "0.000"
    assert len(parameters.rows) == 2 + 3 + 3 + 2
    assert outcome.settings["known seed"] == 2
    assert len(outcome.figures["table7_8"].axes) == 2
