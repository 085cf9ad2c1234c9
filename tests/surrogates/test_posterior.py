"""Error bars that mean what they say: planted models, and how often the truth is inside."""

import numpy as np
import pytest

from piste.arrays import Ragged
from piste.design import mixed_shares, portions, short, singles
from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom.model import SlalomModel, count_matrix, slalom_scores
from piste.surrogates.slalom.posterior import score_errors
from tests.surrogates.test_slalom import random_model

PLAYERS = 40
EVERYBODY = np.arange(PLAYERS)


def planted(model: SlalomModel, noise: float, seed: int):
    rng = np.random.default_rng(seed)
    design = [singles(PLAYERS), short(rng, PLAYERS, 180)]
    design.append(portions(rng, mixed_shares(40), np.ones(PLAYERS, dtype=np.int64)))
    counts = count_matrix(Ragged.concat(design), EVERYBODY, PLAYERS)
    margins = model.predict(counts)
    return counts, margins + noise * margins.std() * rng.normal(size=margins.shape)


def scores(model: SlalomModel):
    return slalom_scores(model.normalised(), EVERYBODY, np.random.default_rng(0))


def covered(noise: float, *, frame: bool, outputs: int, fits: int = 16) -> dict[str, float]:
    """How often the planted score lies within the 90 % interval, over fits and players."""
    inside: dict[str, list[float]] = {}
    for seed in range(fits):
        true = random_model(PLAYERS, seed, frame=frame, outputs=outputs)
        counts, margins = planted(true, noise, seed)
        fitted, _, posterior = fit_gauss_newton(counts, margins, frame=frame)
        errors = score_errors(posterior, EVERYBODY, np.random.default_rng(seed))
        for name, truth in scores(true).items():
            gap = np.abs(scores(fitted)[name] - truth)
            inside.setdefault(name, []).append(float(np.mean(gap <= 1.645 * errors[name])))
    return {name: float(np.mean(shares)) for name, shares in inside.items()}


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_ninety_per_cent_intervals_hold_the_truth_as_often_as_they_say(noise, frame, outputs):
    shares = covered(noise, frame=frame, outputs=outputs)
    assert all(0.85 <= share <= 0.96 for share in shares.values()), shares


def test_errors_shrink_with_the_noise_and_with_more_answers():
    true = random_model(PLAYERS)
    typical = {}
    for noise in (0.02, 0.2):
        counts, margins = planted(true, noise, 0)
        _, _, posterior = fit_gauss_newton(counts, margins)
        errors = score_errors(posterior, EVERYBODY, np.random.default_rng(0))
        typical[noise] = {name: np.median(error) for name, error in errors.items()}
    assert all(typical[0.2][name] > 5 * typical[0.02][name] for name in typical[0.2])


def test_an_importance_that_cannot_be_known_has_the_priors_width():
    """All values alike: the weights make no difference to any answer."""
    true = SlalomModel(np.ones((PLAYERS, 1)), np.zeros(PLAYERS))
    counts, margins = planted(true, 0.0, 0)
    margins = margins + 0.1 * np.random.default_rng(0).normal(size=margins.shape)
    _, _, posterior = fit_gauss_newton(counts, margins)
    errors = score_errors(posterior, EVERYBODY, np.random.default_rng(0))
    assert np.median(errors["importance"]) > 0.7


def test_another_design_moves_the_scores_about_as_far_as_the_errors_say():
    true = random_model(PLAYERS)
    fits, errors = [], []
    for seed in range(12):
        counts, margins = planted(true, 0.1, seed)
        fitted, _, posterior = fit_gauss_newton(counts, margins)
        fits.append(scores(fitted)["value"])
        errors.append(score_errors(posterior, EVERYBODY, np.random.default_rng(0))["value"])
    ratio = np.median(np.std(fits, axis=0)) / np.median(errors)
    assert 0.7 < ratio < 1.4


def test_a_word_that_the_surrogate_misses_gets_a_wider_error():
    """Rows with player 0 are off by ten times as much: one noise for all would hide it."""
    true, found, errors = random_model(PLAYERS), [], []
    for seed in range(12):
        counts, margins = planted(true, 0.02, seed)
        with_it = counts[:, [0]].toarray()[:, 0] > 0
        noise = np.random.default_rng(100 + seed).normal(size=margins.shape)
        margins = margins + 0.2 * margins.std() * noise * with_it[:, None]
        fitted, _, posterior = fit_gauss_newton(counts, margins)
        found.append(scores(fitted)["value"])
        errors.append(score_errors(posterior, EVERYBODY, np.random.default_rng(0))["value"])
    typical = np.median(errors, axis=0)
    assert typical[0] > 3 * np.median(typical)
    assert np.std(found, axis=0)[0] < 1.4 * typical[0]


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("frame", [False, True])
def test_answers_left_out_are_off_as_far_as_from_fits_without_them(frame, outputs):
    counts, margins = planted(random_model(PLAYERS, frame=frame, outputs=outputs), 0.05, 0)
    fitted, _, posterior = fit_gauss_newton(counts, margins, frame=frame)
    folds = np.random.default_rng(0).permutation(len(margins)) % 5
    folds[:PLAYERS] = -1  # the words alone are always known
    residuals = margins - fitted.predict(counts)
    found = posterior.left_out(residuals, folds)
    expected = residuals.copy()
    for fold in range(5):
        held = folds == fold
        rest, _, _ = fit_gauss_newton(counts[~held], margins[~held], frame=frame)
        expected[held] = margins[held] - rest.predict(counts[held])
    assert np.array_equal(found[:PLAYERS], residuals[:PLAYERS])
    free = folds >= 0
    size = np.sqrt(np.mean(expected[free] ** 2))
    assert size > 1.2 * np.sqrt(np.mean(residuals[free] ** 2))
    assert np.sqrt(np.mean((found - expected)[free] ** 2)) < 0.2 * size
