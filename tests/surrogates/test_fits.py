"""Plant a SLALOM, sample it, and get it back."""

import numpy as np
import pytest
from scipy import optimize
from threadpoolctl import ThreadpoolController

from piste.arrays import Ragged
from piste.design import short, singles, subsets
from piste.surrogates import algebra
from piste.surrogates.algebra import root
from piste.surrogates.slalom.analytic import choose_references, solve_pairs
from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom.model import FramePlayer, SlalomModel, count_matrix
from piste.surrogates.slalom.posterior import Known, Prior
from piste.surrogates.slalom.sgd import SgdSettings, fit_sgd
from tests.surrogates.test_slalom import brute_force, random_model


def data(model: SlalomModel, *, noise: float = 0.0, seed: int = 0, per_player: int = 4):
    """Singles, triples and a few longer subsets: what the default design asks."""
    rng = np.random.default_rng(seed)
    players = len(model.importances)
    design = [singles(players), short(rng, players, per_player * players)]
    design.append(subsets(rng, np.full(40, max(4, players // 5)), players))
    counts = count_matrix(Ragged.concat(design), np.arange(players), players)
    margins = model.predict(counts)
    return counts, margins + noise * rng.normal(size=margins.shape)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("frame", [False, True])
def test_exact_answers_give_the_exact_model(frame, outputs):
    true = random_model(40, frame=frame, outputs=outputs)
    counts, margins = data(true)
    fitted, report, _ = fit_gauss_newton(counts, margins, frame=frame)
    assert report.converged
    assert fitted.predict(counts) == pytest.approx(margins, abs=1e-3)
    fitted, true = fitted.normalised(), true.normalised()
    assert np.corrcoef(fitted.importances, true.importances)[0, 1] > 0.999
    for output in range(outputs):
        assert np.corrcoef(fitted.values[:, output], true.values[:, output])[0, 1] > 0.999


def test_noise_is_weighed_against_the_prior():
    true = random_model(60).normalised()
    counts, margins = data(true, noise=0.05)
    fitted, _, _ = fit_gauss_newton(counts, margins)
    assert np.corrcoef(fitted.values[:, 0], true.values[:, 0])[0, 1] > 0.99
    assert np.corrcoef(fitted.importances, true.importances)[0, 1] > 0.97
    # Pure noise: hardly anything may be believed.
    wild = np.random.default_rng(0).normal(size=margins.shape)
    fitted, _, _ = fit_gauss_newton(counts, wild)
    assert np.abs(fitted.importances - fitted.importances.mean()).max() < 3 * Prior().importance


def test_the_fit_is_a_minimum():
    """A general-purpose optimiser started there finds nothing better (prior all but off)."""
    true = random_model(8)
    counts, margins = data(true, noise=0.1)
    weak = Prior(value=1e3, importance=1e3)
    fitted, report, _ = fit_gauss_newton(counts, margins, tolerance=1e-12, prior=weak)

    def loss(parameters):
        values, importances = parameters[:8, None], parameters[8:]
        return np.mean((SlalomModel(values, importances).predict(counts) - margins) ** 2)

    start = np.concatenate([fitted.values[:, 0], fitted.importances])
    assert loss(start) == pytest.approx(report.loss)
    better = optimize.minimize(loss, start, method="BFGS")
    assert report.loss <= better.fun * 1.0001


def test_it_is_affine_equivariant():
    true = random_model(20)
    counts, margins = data(true, noise=0.1)
    plain, _, _ = fit_gauss_newton(counts, margins)
    moved, _, _ = fit_gauss_newton(counts, 100 - 7 * margins)
    assert moved.importances == pytest.approx(plain.importances, abs=1e-6)
    assert moved.values == pytest.approx(100 - 7 * plain.values, abs=1e-4)


def test_outputs_may_have_offsets_of_their_own():
    true = random_model(20, outputs=2).normalised()
    counts, margins = data(true)
    fitted, _, _ = fit_gauss_newton(counts, margins + np.array([0.0, 1e4]))
    assert np.corrcoef(fitted.importances, true.importances)[0, 1] > 0.999


def test_importances_are_pulled_to_their_mean_not_to_the_frames():
    """Words far less important than the frame: with noise the prior must not lift them."""
    rng = np.random.default_rng(0)
    true = SlalomModel(
        10 * rng.normal(size=(40, 1)), rng.normal(size=40) - 3, FramePlayer(np.zeros(1), 0)
    )
    counts, margins = data(true, noise=0.1)
    fitted, _, _ = fit_gauss_newton(counts, margins, frame=True)
    assert fitted.frame.importance == 0
    assert fitted.importances.mean() == pytest.approx(-3, abs=1.0)


def test_the_noise_is_not_taken_for_smaller_than_it_is():
    """Almost as many parameters as answers: residuals shrink, the noise does not."""
    true = random_model(60)
    counts, margins = data(true, noise=0.3, per_player=1)
    _, report, posterior = fit_gauss_newton(counts, margins)
    assert posterior.noise * posterior.scale**2 > 1.3 * report.loss


def test_a_row_of_weight_two_counts_like_four_rows():
    counts, margins = data(random_model(12), noise=0.2)
    repeated = np.repeat(np.arange(len(margins)), np.where(np.arange(len(margins)) < 20, 4, 1))
    weights = np.where(np.arange(len(margins)) < 20, 2.0, 1.0)
    # The same standardisation for both, so that the priors are the same too.
    shift = margins[repeated].mean() - margins.mean()
    by_weight, _, _ = fit_gauss_newton(counts, margins, weights=weights, prior=Prior(1e3, 1e3))
    by_rows, _, _ = fit_gauss_newton(
        counts[repeated], margins[repeated] - shift, prior=Prior(1e3, 1e3)
    )
    gap = by_weight.predict(counts) - by_rows.predict(counts) - shift
    assert np.abs(gap).max() < 1e-3


def test_a_fit_can_go_on_from_an_earlier_one():
    counts, margins = data(random_model(40, frame=True), noise=0.1)
    _, _, posterior = fit_gauss_newton(counts[:150], margins[:150], frame=True)
    cold, cold_report, _ = fit_gauss_newton(counts, margins, frame=True)
    warm, warm_report, _ = fit_gauss_newton(counts, margins, frame=True, start=posterior)
    assert warm_report.iterations < cold_report.iterations
    assert warm_report.loss == pytest.approx(cold_report.loss, rel=1e-2)
    assert warm.values == pytest.approx(cold.values, abs=0.1)


def known_of(model: SlalomModel, error: float) -> Known:
    values = np.vstack([model.values, model.frame.value]) if model.frame else model.values
    importances = model.importances - (model.frame.importance if model.frame else 0.0)
    errors = np.full(len(values), error)
    return Known(values, errors, importances, errors[: len(importances)].copy())


def off(found: np.ndarray, true: np.ndarray) -> float:
    """The typical error of importances, whatever their common shift."""
    return float(np.std(found - true))


@pytest.mark.parametrize("frame", [False, True])
def test_what_is_known_beforehand_replaces_answers(frame):
    """Half as many answers as players: only with a lexicon can the rest be told."""
    true = random_model(40, frame=frame)
    counts, margins = data(true, noise=0.1, per_player=1)
    few = np.arange(20)
    prior = Prior(known=known_of(true, 0.1))
    with_prior, _, _ = fit_gauss_newton(counts[few], margins[few], frame=frame, prior=prior)
    without, _, _ = fit_gauss_newton(counts[few], margins[few], frame=frame)
    assert off(with_prior.importances, true.importances) < 0.1
    assert off(without.importances, true.importances) > 0.5
    assert np.abs(with_prior.values - true.values).mean() < 0.15


def test_answers_overrule_what_was_known_wrongly():
    true = random_model(30)
    wrong = SlalomModel(true.values + 1, np.zeros(30))
    counts, margins = data(true)
    fitted, _, _ = fit_gauss_newton(counts, margins, prior=Prior(known=known_of(wrong, 0.5)))
    assert np.corrcoef(fitted.importances, true.importances)[0, 1] > 0.99
    assert fitted.values == pytest.approx(true.values, abs=0.05)


def test_players_of_whom_nothing_is_known_are_fitted_as_usual():
    true = random_model(30, frame=True)
    counts, margins = data(true)
    known = known_of(true, 0.1)
    known.value_errors[:10] = np.nan
    known.importance_errors[:10] = np.nan
    fitted, _, _ = fit_gauss_newton(counts, margins, frame=True, prior=Prior(known=known))
    assert off(fitted.importances, true.importances) < 0.02
    assert fitted.values == pytest.approx(true.values, abs=0.05)


@pytest.mark.parametrize("spread", [5.0, 20.0, 60.0])
@pytest.mark.parametrize("frame", [False, True])
def test_weights_of_many_orders_of_magnitude_do_not_break_the_fit(spread, frame):
    true = random_model(30, frame=frame)
    wild = SlalomModel(true.values, spread * true.importances, true.frame)
    counts, margins = data(wild)
    fitted, _, posterior = fit_gauss_newton(counts, margins, frame=frame)
    assert np.isfinite(fitted.importances).all()
    assert np.isfinite(posterior.equations.curvature_root).all()
    gap = np.median(np.abs(fitted.predict(counts) - margins))
    assert gap < 0.1 * margins.std()


def test_rounding_below_zero_is_lifted():
    singular = np.ones((3, 3)) - 1e-16
    assert root(singular) @ root(singular).T == pytest.approx(singular, abs=1e-6)
    with pytest.raises(np.linalg.LinAlgError):
        root(-np.eye(3))


def test_a_constant_model_has_its_answer_as_every_value():
    counts, _ = data(random_model(5))
    fitted, report, _ = fit_gauss_newton(counts, np.full((counts.shape[0], 1), 4.0), frame=True)
    assert fitted.values == pytest.approx(np.full((5, 1), 4.0))
    assert (fitted.importances == 0).all()
    assert report.converged


def test_dense_and_sparse_algebra_agree(monkeypatch):
    counts, margins = data(random_model(30), noise=0.1)
    lengths, fits = np.diff(counts.indptr), []
    some = (np.median(lengths) / 31) ** 2  # with the frame's entries: rows on either side
    assert lengths.min() + 1 < np.sqrt(some) * 31 < lengths.max() + 1
    for dense in (0, some, 2):  # the share of a row's pairs from which on it is full
        monkeypatch.setattr("piste.surrogates.algebra.DENSE", dense)
        fits.append(fit_gauss_newton(counts, margins, frame=True)[0])
    assert fits[0].values == pytest.approx(fits[1].values, abs=1e-5)
    assert fits[0].values == pytest.approx(fits[2].values, abs=1e-5)


def test_running_out_of_iterations_is_reported():
    counts, margins = data(random_model(30), noise=0.1)
    _, report, _ = fit_gauss_newton(counts, margins, iterations=1, tolerance=0)
    assert not report.converged


def test_gauss_newton_ends_no_higher_than_sgd():
    counts, margins = data(random_model(25), noise=0.05)
    _, ours, _ = fit_gauss_newton(counts, margins)
    _, theirs = fit_sgd(counts, margins)
    assert ours.loss <= theirs.loss


@pytest.mark.parametrize("frame", [False, True])
def test_sgd_learns_the_planted_model_too(frame):
    true = random_model(10, frame=frame)
    counts, margins = data(true, per_player=40)
    fitted, report = fit_sgd(counts, margins, frame=frame, settings=SgdSettings(2e-2, 300, 64))
    assert report.loss < 0.02 * margins.var()
    assert fitted.predict(counts) == pytest.approx(margins, abs=0.5)


def test_sgd_is_seeded():
    counts, margins = data(random_model(6))
    first, second, other = (
        fit_sgd(counts, margins, seed=seed, settings=SgdSettings(epochs=2))[0] for seed in (1, 1, 2)
    )
    assert (first.values == second.values).all()
    assert not (first.values == other.values).all()


def solve(true: SlalomModel, distort: float = 0.0):
    values = true.values[:, 0]
    references = choose_references(values)
    answers = np.array(
        [
            brute_force(true, [i, partner]) + distort if partner >= 0 else np.nan
            for i, partner in enumerate(references.partner)
        ]
    )
    return solve_pairs(values, references, answers)


def test_analytic_recovery_is_exact():
    true = random_model(50).normalised()
    model, doubtful = solve(true)
    assert len(doubtful) == 0
    assert model.normalised().importances == pytest.approx(true.importances, abs=1e-8)


def test_analytic_recovery_with_players_as_valuable_as_the_reference():
    values = np.array([3.0, 3.0, -3.0, -3.0, 1.0])[:, None]
    true = SlalomModel(values, np.array([0.5, -1.0, 0.2, 0.7, -0.4]))
    model, doubtful = solve(true)
    assert len(doubtful) == 0
    assert model.importances - model.importances[0] == pytest.approx(true.importances - 0.5)


def test_what_pairs_cannot_tell_is_reported_and_finite():
    true = random_model(10)
    model, doubtful = solve(true, distort=100.0)  # answers far outside their parts
    assert len(doubtful) == 9
    assert np.isfinite(model.importances).all()
    alike = SlalomModel(np.ones((4, 1)), np.arange(4.0))
    model, doubtful = solve(alike)
    assert len(doubtful) == 3
    assert np.isfinite(model.importances).all()


def test_overlapping_fits_bring_the_users_threads_back():
    """The number of BLAS threads is the whole process's."""
    blas = ThreadpoolController().select(user_api="blas")
    with blas.limit(limits=2):
        before = [library["num_threads"] for library in blas.info()]
        algebra.one_thread.__enter__()
        algebra.one_thread.__enter__()
        assert {library["num_threads"] for library in blas.info()} == {1}
        algebra.one_thread.__exit__(None, None, None)
        assert {library["num_threads"] for library in blas.info()} == {1}
        algebra.one_thread.__exit__(None, None, None)
        assert [library["num_threads"] for library in blas.info()] == before
