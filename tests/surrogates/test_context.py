"""The process over parts: every formula against the same thing computed another way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from piste.design.parts import paired_parts, whole_and_empty
from piste.surrogates import context
from piste.surrogates.context import (
    CONSTANT,
    EXACT,
    JITTER,
    Kernel,
    Process,
    _Problem,
    distinct,
    fit_context,
    shortfall,
)
from piste.surrogates.parts import ends
from piste.surrogates.shapley import all_coalitions

pytestmark = pytest.mark.usefixtures("one_thread")

Z90 = 1.6449  # a normal variable is this near to its mean in 90 % of all draws


def asked_parts(rng: np.random.Generator, players: int, count: int) -> np.ndarray:
    """Both ends, then distinct parts; fewer than `count` where there are no more."""
    parts = np.vstack([whole_and_empty(players), paired_parts(rng, players, 4 * count)])
    return distinct(parts)[:count]


def random_kernel(rng: np.random.Generator, players: int, noise: float = 0.02) -> Kernel:
    """A kernel drawn from the prior of fit_context."""
    level = np.log(context.TYPICAL / players) + context.LEVEL_WIDTH * rng.normal()
    relevances = np.exp(level + context.WIDTH * rng.normal(size=players))
    return Kernel(relevances, noise, context.SLOPE_WIDTH * rng.normal())


def random_process(seed: int, players: int = 8, asked: int = 30, outputs: int = 2) -> Process:
    """A process that must meet both ends, with answers that are not drawn from it."""
    rng = np.random.default_rng(seed)
    parts = asked_parts(rng, players, asked)
    residuals = rng.normal(size=(len(parts), outputs))
    amplitude = rng.uniform(0.5, 3.0, size=outputs)
    return Process(random_kernel(rng, players), parts, residuals, ends(parts), amplitude, 1.3)


def dense_kernel(kernel: Kernel, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The covariance as the page has it, pair by pair."""
    rows = []
    for one in first:
        row = []
        for two in second:
            alike = np.exp(-sum(kernel.relevances[one != two]))
            lengths = (one.mean() - 0.5) + (two.mean() - 0.5)
            row.append(CONSTANT + np.exp(kernel.slope * lengths) * alike)
        rows.append(row)
    return np.array(rows)


def noises(process: Process) -> np.ndarray:
    return np.where(process.exact, EXACT, 1.0) * process.kernel.noise + JITTER


# The kernel


def test_the_kernel_is_what_its_formula_says():
    process = random_process(0, players=6)
    first, second = process.parts[:9], process.parts[5:20]
    expected = dense_kernel(process.kernel, first, second)
    assert process.kernel.between(first, second) == pytest.approx(expected, rel=1e-12)


@given(
    arrays.arrays(np.float64, 7, elements=st.floats(0, 20)),
    arrays.arrays(np.bool_, (2, 7)),
)
def test_the_product_over_players_is_the_exponential_up_to_a_factor(relevances, parts):
    """prod(1 + lambda z z'), lambda = tanh(a / 2): every order of interaction is in it."""
    one, two = 2 * parts.astype(float) - 1
    strength = np.tanh(relevances / 2)
    product = np.prod((1 + strength * one * two) / (1 + strength))
    likeness = Kernel(relevances).likeness(parts[:1], parts[1:])[0, 0]
    assert likeness == pytest.approx(product, rel=1e-6, abs=1e-15)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 40))
@settings(max_examples=40)
def test_a_covariance_is_symmetric_and_never_negative(seed, players, count):
    rng = np.random.default_rng(seed)
    parts = rng.random((count, players)) < rng.random()
    covariance = random_kernel(rng, players).between(parts, parts)
    assert covariance == pytest.approx(covariance.T, rel=1e-12)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9 * np.trace(covariance)


# The fit


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_gradient_of_the_loss_is_that_of_finite_differences(seed, outputs):
    rng = np.random.default_rng(seed)
    parts = asked_parts(rng, 9, 40)
    answers = rng.normal(size=(len(parts), outputs))
    problem = _Problem(parts, answers, rng.normal(size=9), ends(parts))
    for _ in range(3):
        at = problem.means + problem.widths * rng.normal(size=len(problem.means))
        steps = 1e-5 * np.eye(len(at))
        differences = [(problem.loss(at + h)[0] - problem.loss(at - h)[0]) / 2e-5 for h in steps]
        # rounding of the loss over the step, and the third derivative times its square
        assert problem.loss(at)[1] == pytest.approx(np.array(differences), rel=1e-5, abs=1e-5)


def test_the_loss_is_minus_the_log_posterior_with_the_best_amplitude():
    """Against the normal density itself, with the amplitude that maximises it."""
    rng = np.random.default_rng(3)
    parts = asked_parts(rng, 6, 25)
    answers = rng.normal(size=(len(parts), 1))
    problem = _Problem(parts, answers, np.zeros(6), ends(parts))
    losses = []
    for _ in range(2):
        at = problem.means + 0.5 * rng.normal(size=len(problem.means))
        kernel = problem.kernel(at)
        process = Process(kernel, parts, answers, ends(parts), np.ones(1))
        covariance = dense_kernel(kernel, parts, parts) + np.diag(noises(process))
        amplitude = float(answers[:, 0] @ np.linalg.solve(covariance, answers[:, 0])) / len(parts)
        density = -0.5 * (len(parts) + np.linalg.slogdet(amplitude * covariance)[1])
        prior = -0.5 * np.sum(((at - problem.means) / problem.widths) ** 2)
        losses.append(problem.loss(at)[0] + density + prior)
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)  # equal up to a constant


def test_the_fit_ends_where_the_gradient_does():
    rng = np.random.default_rng(0)
    parts = asked_parts(rng, 8, 60)
    answers = parts @ rng.normal(size=(8, 1)) + 0.1 * rng.normal(size=(len(parts), 1))
    first = fit_context(parts, answers, iterations=500)
    again = fit_context(parts, answers, start=first.kernel, iterations=500)
    assert again.iterations < first.iterations
    assert again.kernel.relevances == pytest.approx(first.kernel.relevances, rel=0.02)
    assert again.amplitude == pytest.approx(first.amplitude, rel=0.02)


def test_relevances_find_the_players_that_matter():
    rng = np.random.default_rng(1)
    parts = asked_parts(rng, 20, 80)
    answers = (2.0 * parts[:, 3] - 3.0 * parts[:, 7] * parts[:, 11])[:, None]
    relevances = fit_context(parts, answers).kernel.relevances
    assert set(np.argsort(-relevances)[:3].tolist()) == {3, 7, 11}
    assert np.sort(relevances)[-3] > 3 * np.sort(relevances)[-4]


def test_another_unit_of_the_answers_changes_the_amplitude_alone():
    rng = np.random.default_rng(2)
    parts = asked_parts(rng, 8, 40)
    answers = parts @ rng.normal(size=(8, 1)) + 0.2 * rng.normal(size=(len(parts), 1))
    one, large = fit_context(parts, answers), fit_context(parts, 1000 * answers)
    assert large.kernel.relevances == pytest.approx(one.kernel.relevances, rel=1e-5)
    assert large.amplitude == pytest.approx(1e6 * one.amplitude, rel=1e-5)


# Given answers


def test_mean_and_covariance_are_those_of_the_textbook():
    """As a joint normal distribution: condition its full covariance by a plain inverse."""
    process = random_process(1)
    new = np.random.default_rng(9).random((12, 8)) < 0.5
    everything = dense_kernel(process.kernel, *[np.vstack([process.parts, new])] * 2)
    asked = len(process.parts)
    inverse = np.linalg.inv(everything[:asked, :asked] + np.diag(noises(process)))
    cross = everything[asked:, :asked]
    expected = everything[asked:, asked:] - cross @ inverse @ cross.T
    assert process.predict(new) == pytest.approx(cross @ inverse @ process.residuals, abs=1e-7)
    assert process.covariance(new, new) == pytest.approx(expected, abs=1e-8)
    assert process.covariance(new[:3], new) == pytest.approx(expected[:3], abs=1e-8)
    variance = 1.3 * (np.diag(expected) + process.kernel.noise)
    errors = np.sqrt(np.outer(variance, process.amplitude))
    assert process.errors(new) == pytest.approx(errors, abs=1e-6)


def without(process, held):
    """The process that has not seen the answers `held` [asked]."""
    parts, residuals, exact = process.parts[~held], process.residuals[~held], process.exact[~held]
    return replace(process, parts=parts, residuals=residuals, exact=exact)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_leave_one_out_is_refitting_without_each_part(seed):
    process = random_process(seed)
    residuals, variances = process.left_out()
    own = noises(process)
    for index, part in enumerate(process.parts):
        held = np.arange(len(process.parts)) == index
        rest = without(process, held)
        assert len(rest.parts) == len(process.parts) - 1
        expected = process.residuals[index] - rest.predict(part[None])[0]
        variance = rest.covariance(part[None], part[None])[0, 0] + own[index]
        assert residuals[index] == pytest.approx(expected, rel=1e-6, abs=1e-7)
        assert variances[index] == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1e-4])
def test_tiny_equal_relevances_are_ridge_regression(scale):
    """exp(-a d) is 1 - a (n - z z') / 2: a large level, which is not penalised, and weights on ±1
    of variance a / 2.
    """
    rng = np.random.default_rng(0)
    parts = asked_parts(rng, 7, 40)
    answers = parts @ rng.normal(size=(7, 1)) + 0.3 * rng.normal(size=(len(parts), 1))
    penalty = 1.5
    kernel = Kernel(np.full(7, scale), scale * penalty - JITTER)
    none = np.zeros(len(parts), dtype=bool)
    process = Process(kernel, parts, answers, none, np.ones(1))
    signs = 2.0 * parts - 1
    centred = signs - signs.mean(axis=0)
    gram = centred.T @ centred + 2 * penalty * np.eye(7)
    weights = np.linalg.solve(gram, centred.T @ (answers - answers.mean()))
    every = 2.0 * all_coalitions(7) - 1
    expected = answers.mean() + (every - signs.mean(axis=0)) @ weights
    gap = process.predict(all_coalitions(7)) - expected
    assert np.abs(gap).max() < 20 * scale * np.ptp(expected)  # what is left is of higher order


def test_several_outputs_are_each_by_itself():
    process = random_process(4, outputs=3)
    new = np.random.default_rng(0).random((10, 8)) < 0.5
    for output in range(3):
        one = Process(
            process.kernel,
            process.parts,
            process.residuals[:, [output]],
            process.exact,
            process.amplitude[[output]],
            process.inflation,
        )
        assert process.predict(new)[:, [output]] == pytest.approx(one.predict(new), abs=1e-9)
        assert process.errors(new)[:, [output]] == pytest.approx(one.errors(new), abs=1e-12)
        assert process.left_out()[0][:, [output]] == pytest.approx(one.left_out()[0], abs=1e-9)


def test_equal_outputs_are_fitted_as_one():
    rng = np.random.default_rng(5)
    parts = asked_parts(rng, 8, 40)
    answers = parts @ rng.normal(size=(8, 1)) + 0.2 * rng.normal(size=(len(parts), 1))
    one, three = fit_context(parts, answers), fit_context(parts, answers * [[1.0, -2.0, 5.0]])
    assert three.kernel.relevances == pytest.approx(one.kernel.relevances, rel=1e-4)
    assert three.amplitude == pytest.approx(one.amplitude * [1, 4, 25], rel=1e-4)


def test_other_residuals_keep_the_kernel():
    process = random_process(6)
    other = process.conditioned(2 * process.residuals)
    new = all_coalitions(8)
    assert other.kernel is process.kernel
    assert other.predict(new) == pytest.approx(2 * process.predict(new), abs=1e-9)


def test_answers_that_must_be_met_are_met():
    rng = np.random.default_rng(0)
    parts = asked_parts(rng, 8, 120)
    answers = parts @ np.ones((8, 1)) + rng.normal(size=(len(parts), 1))
    process = fit_context(parts, answers, exact=ends(parts))
    gaps = np.abs(process.predict(parts) - answers)[:, 0]
    assert gaps[ends(parts)].max() < 0.01
    assert np.median(gaps[~ends(parts)]) > 0.1


# Error bars


def binomial_slack(share: float, draws: int, deviations: float = 4.0) -> float:
    """How far a share of independent draws may lie from its expectation by chance."""
    return deviations * float(np.sqrt(share * (1 - share) / draws))


def test_intervals_cover_what_they_say_where_the_kernel_is_known():
    """3,000 games at once, as outputs of one process: independent draws from the prior."""
    rng = np.random.default_rng(0)
    games, slack = 3000, binomial_slack(0.9, 3000)
    for _ in range(3):
        kernel = random_kernel(rng, 6, noise=0.05)
        every = all_coalitions(6)
        root = np.linalg.cholesky(kernel.between(every, every) + 1e-9 * np.eye(64))
        answers = root @ rng.normal(size=(64, games))
        answers += np.sqrt(kernel.noise) * rng.normal(size=answers.shape)
        seen = rng.permutation(64)[:30]
        held = np.setdiff1d(np.arange(64), seen)
        process = Process(
            kernel, every[seen], answers[seen], np.zeros(30, dtype=bool), np.ones(games)
        )
        gaps = np.abs(process.predict(every[held]) - answers[held])
        inside = (gaps <= Z90 * process.errors(every[held])).mean(axis=1)
        assert np.abs(inside[0] - 0.9) < slack  # one part a game
        assert np.abs(inside - 0.9).max() < 1.5 * slack


def left_out_scores(process: Process) -> np.ndarray:
    """Squared left-out residuals of answers that need not be met, by variance."""
    residuals, variances = process.left_out()
    rest = ~process.exact
    return residuals[rest, 0] ** 2 / variances[rest] / process.amplitude[0]


def test_the_shortfall_is_how_far_answers_are_off_that_the_relevances_do_not_know():
    """More than answers that are only left out of the prediction say."""
    rng = np.random.default_rng(3)
    parts = asked_parts(rng, 10, 60)
    process = fit_context(parts, rng.standard_t(3, size=(len(parts), 1)), exact=ends(parts))
    prior = np.zeros(10)
    rest = np.random.default_rng(0).permutation(np.flatnonzero(~process.exact))
    scores = []
    for fold in range(context.FOLDS):
        held = rest[fold :: context.FOLDS]
        others = without(process, np.isin(np.arange(len(parts)), held))
        again = fit_context(others.parts, others.residuals, prior, exact=others.exact)
        off = process.residuals[held] - again.predict(parts[held])
        noise = process.kernel.noise * process.amplitude[0]
        scores.append(off[:, 0] ** 2 / np.maximum(again.errors(parts[held])[:, 0] ** 2, noise))
    # the product's folds begin with the kernel of all answers, and end after a few steps
    expected = np.concatenate(scores).mean()
    assert shortfall(process, prior) == pytest.approx(expected, rel=0.1)
    assert expected > 1.1 * left_out_scores(process).mean()


def test_one_odd_answer_does_not_make_all_errors_absurd():
    """Without it a fit would be sure of itself beyond measure."""
    parts = asked_parts(np.random.default_rng(4), 10, 60)
    odd = int(np.flatnonzero(~ends(parts))[7])
    residuals = 0.7 * (np.arange(len(parts)) == odd)[:, None]
    process = fit_context(parts, residuals, exact=ends(parts))
    inflation = shortfall(process, np.zeros(10))
    known = replace(process, inflation=inflation)
    assert np.median(known.errors(asked_parts(np.random.default_rng(5), 10, 60))) < 0.7


def test_the_shortfall_is_never_below_one_and_known_for_any_number_of_answers(monkeypatch):
    process, prior = random_process(7, asked=40, outputs=1), np.zeros(8)
    assert shortfall(process.conditioned(0 * process.residuals), prior) == 1.0
    assert shortfall(without(process, ~process.exact), prior) == 1.0
    few = without(process, np.arange(len(process.parts)) >= 4)
    assert shortfall(few, prior) == pytest.approx(max(1.0, left_out_scores(few).mean()))
    monkeypatch.setattr(context, "MANY_ANSWERS", 20)
    assert shortfall(process, prior) == pytest.approx(left_out_scores(process).mean())
