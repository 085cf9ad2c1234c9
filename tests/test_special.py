"""The special functions against scipy's, ends and extremes included."""

import numpy as np
import pytest
from scipy import special as scipy_special

from piste import special
from piste.surrogates.shapley import company_odds


def test_probabilities_keep_their_digits_at_both_ends():
    log_odds = np.array([-np.inf, -1e4, -745, -40, -1e-9, 0, 3, 40, 1e4, np.inf])
    with np.errstate(all="raise", under="ignore"):
        ours = special.expit(log_odds)
    np.testing.assert_allclose(ours, scipy_special.expit(log_odds), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_exponentials(axis):
    numbers = np.array([[1e4, 1e4, -1e4], [0, -np.inf, 3], [-np.inf, -np.inf, -np.inf]])
    ours, theirs = special.logsumexp(numbers, axis), scipy_special.logsumexp(numbers, axis=axis)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_the_sum_of_no_exponentials_is_nothing():
    assert special.logsumexp(np.zeros((2, 0)), 1).tolist() == [-np.inf] * 2


def test_factorials():
    ours = special.log_factorials(3000)
    np.testing.assert_allclose(ours, scipy_special.gammaln(np.arange(3001) + 1.0), rtol=1e-13)


@pytest.mark.parametrize("others", [0, 1, 7, 500])
@pytest.mark.parametrize("least", [0.0, 0.3])
def test_odds_of_companies_by_the_incomplete_beta_function(others, least):
    kept = np.arange(others + 1)
    shares = scipy_special.betainc(others - kept + 1, kept + 1, 1 - least)
    logs = scipy_special.betaln(kept + 1, others - kept + 1) + np.log(shares)
    np.testing.assert_allclose(
        np.log(company_odds(others, least)), logs - np.log(1 - least), rtol=1e-9
    )
