"""Occlusion, linear and GAM surrogates: planted answers, and scikit-learn's lasso."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression

import piste
from piste.errors import SettingError
from piste.methods.gam import GamSurrogate
from piste.methods.linear import LinearSurrogate, parts_of_every_size
from piste.methods.occlusion import Occlusion
from piste.surrogates.gam import fit_gam, placed
from piste.surrogates.linear import fit_linear
from tests.planted import PlantedSlalom, additive

WORDS = [f"w{index}" for index in range(12)]
TEXT = " ".join(WORDS)


def explain(function, method, text=TEXT, **options):
    return piste.explain(text, piste.from_function(function), method, target="positive", **options)


def test_occlusion_is_what_it_says():
    planted = PlantedSlalom(12)
    found = explain(planted, "occlusion", planted.text)
    for index in range(12):
        rest = " ".join(word for place, word in enumerate(planted.words) if place != index)
        fall = planted.margin(planted.text) - planted.margin(rest)
        assert found.scores["removal"][index] == pytest.approx(fall)
    assert found.cost.forwards <= 1 + 12 + 8


def test_occlusion_takes_one_occurrence_at_a_time():
    found = explain(additive({"good": 1.0, "bad": -2.0}), Occlusion(), "good bad good")
    assert found.scores["removal"].tolist() == [1.0, -2.0, 1.0]
    assert found.change([0, 1]) == pytest.approx(-1.0)


def test_occlusion_needs_its_budget():
    with pytest.raises(SettingError, match="at least 13"):
        explain(PlantedSlalom(12), "occlusion", budget=8)


def test_the_linear_surrogate_finds_planted_weights():
    weights = {word: float(index) - 5 for index, word in enumerate(WORDS)}
    found = explain(additive(weights), LinearSurrogate(samples=200))
    assert found.scores["weight"] == pytest.approx(list(weights.values()), abs=1e-4)
    assert found.fidelity.r2 > 0.999
    assert found.surrogate_score == pytest.approx(found.target.score, abs=1e-3)


def test_least_squares_are_scikit_learns():
    rng = np.random.default_rng(0)
    features, margins = rng.normal(size=(80, 6)), rng.normal(size=80)
    weights = rng.random(80)
    ours = fit_linear(features, margins, weights, ridge=0.0)
    theirs = LinearRegression().fit(features, margins, sample_weight=weights)
    assert ours.weights == pytest.approx(theirs.coef_)
    assert ours.intercept == pytest.approx(theirs.intercept_)


def positional(texts: list[str]) -> np.ndarray:
    """A word counts only where it stands first or third."""
    worth = {"w0": 2.0, "w3": -1.0, "w7": 3.0}
    return np.array(
        [
            sum(worth.get(word, 0.0) for word in text.split()[:1] + text.split()[2:3])
            for text in texts
        ]
    )


def test_the_gam_sees_positions_and_the_linear_model_does_not():
    gam = explain(positional, GamSurrogate(samples=1500, penalty=0.002))
    linear = explain(positional, LinearSurrogate(samples=1500))
    assert gam.scores["weight"][0] == pytest.approx(2.0, abs=0.2)  # w0 stands first
    assert abs(gam.scores["weight"][3]) < 0.2  # w3 stands fourth in the text: no effect there
    assert linear.scores["weight"][3] < -0.1
    assert gam.fidelity.r2 > linear.fidelity.r2


def test_the_lasso_is_scikit_learns():
    rng = np.random.default_rng(0)
    groups = np.arange(6)
    rows = parts_of_every_size(rng, 200, 6)
    margins = rng.normal(size=200) + rows.lengths
    ours = fit_gam(rows, groups, margins, (6, 6), 0.05)
    features = placed(rows, groups, (6, 6)).toarray()
    strength = 0.05 * np.abs((features - features.mean(axis=0)).T @ (margins - margins.mean()))
    theirs = Lasso(alpha=strength.max() / 200, tol=1e-10, max_iter=100_000).fit(features, margins)
    assert ours.weights.reshape(-1) == pytest.approx(theirs.coef_, abs=1e-4)
    assert ours.intercept == pytest.approx(theirs.intercept_, abs=1e-3)


@pytest.mark.parametrize("method", [GamSurrogate, LinearSurrogate])
def test_samples_are_a_number(method):
    with pytest.raises(SettingError):
        method(samples=0)
    with pytest.raises(SettingError):
        GamSurrogate(penalty=2)


@pytest.mark.parametrize("method", ["linear", "gam"])
def test_a_model_that_never_moves_has_weights_of_exactly_nothing(method):
    classifier = piste.from_function(lambda texts: np.full(len(texts), 0.1 + 0.2))
    assert not piste.explain("a b c d e", classifier, method).scores["weight"].any()


def test_the_gam_knows_that_later_words_move_up(demo):
    found = piste.explain("The plot is thin but the acting is superb.", demo, "gam")
    assert not np.allclose(found.scores["removal"], found.scores["weight"])
    assert found.change([3]) == pytest.approx(found.scores["removal"][3])
