"""The same minima as scipy's L-BFGS-B, in about as many calls."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from piste.surrogates.context import _Problem, _standardised
from piste.surrogates.lbfgs import minimise


def counted(loss):
    calls = []

    def called(place):
        calls.append(place)
        return loss(place)

    return called, calls


def rosenbrock(place):
    return rosen(place), rosen_der(place)


def bowl(place):
    scale = np.logspace(0, 4, len(place))
    return 0.5 * float(scale @ place**2), scale * place


def evidence(players, asked, seed):
    """A loss as `fit_context` minimises it: the words 0 and 1 count together."""
    rng = np.random.default_rng(seed)
    parts = rng.random((asked, players)) < 0.6
    answers = parts @ rng.normal(size=players) + 3.0 * (parts[:, 0] & parts[:, 1])
    problem = _Problem(
        parts, _standardised(answers[:, None]), np.zeros(players), np.zeros(asked, dtype=bool)
    )
    return problem.loss, problem.first(None)


@pytest.mark.parametrize(("loss", "size"), [(rosenbrock, 2), (rosenbrock, 10), (bowl, 20)])
def test_known_minima(loss, size):
    place, _ = minimise(loss, np.full(size, 3.0), 1000, precision=1e-12)
    assert loss(place)[0] < 1e-7


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("players", "asked"), [(8, 60), (40, 120)])
def test_as_good_as_scipy_on_relevances(players, asked, seed):
    loss, start = evidence(players, asked, seed)
    ours, our_calls = counted(loss)
    theirs, their_calls = counted(loss)
    place, _ = minimise(ours, start, 60)
    known = minimize(theirs, start, jac=True, method="L-BFGS-B", options={"maxiter": 60})
    fall = loss(start)[0] - known.fun
    assert loss(place)[0] <= known.fun + 0.01 * fall
    assert len(our_calls) <= 1.5 * len(their_calls)


def test_few_iterations_are_few():
    place, used = minimise(rosenbrock, np.full(10, 3.0), 5)
    assert used == 5
    assert rosenbrock(place)[0] < rosenbrock(np.full(10, 3.0))[0]


def test_at_the_minimum_nothing_moves():
    place, used = minimise(bowl, np.zeros(4), 60)
    assert used == 0
    assert np.array_equal(place, np.zeros(4))


def test_values_that_are_no_numbers_are_stepped_back_from():
    def walled(place):
        return (np.nan if place[0] > 2 else -float(place[0])), np.array([-1.0])

    place, _ = minimise(walled, np.zeros(1), 30)
    assert 1 < place[0] <= 2
