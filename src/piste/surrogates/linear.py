"""The additive surrogate: an intercept and one weight a player, by weighted ridge regression."""

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray
from piste.surrogates import algebra


@dataclass(frozen=True)
class Linear:
    """intercept + features @ weights."""

    intercept: float
    weights: FloatArray  # [features]
    errors: FloatArray  # of the weights: sampling, and what the ridge holds back
    determined: bool  # whether there were more answers than weights: else the errors mean nothing
    held_back: float  # by the ridge: the share of the largest weight that it has taken away


def fit_linear(
    features: FloatArray,
    margins: FloatArray,
    weights: FloatArray | None = None,
    ridge: float = 1.0,
) -> Linear:
    """Least squares of margins [rows] on features [rows, features], the intercept not penalised.

    Standard errors by the sandwich formula: they hold whatever the noise, and however far the
    model is from additive. The ridge's pull towards 0, ridge * gram^-1 weights, is no noise, but
    as much an error. Answers that do not vary have weights of exactly 0.
    """
    rows, size = features.shape
    weights = np.ones(rows) if weights is None else weights
    share = weights / weights.sum()
    mean, centre = share @ features, float(share @ margins)
    inside, wanted = features - mean, varying(margins, centre)
    gram = (inside * weights[:, None]).T @ inside + ridge * np.eye(size)
    gram[np.diag_indices(size)] += 1e-12 * max(float(np.trace(gram)) / size, 1e-300)
    factor = algebra.root(gram)
    coefficients = algebra.solve(factor, inside.T @ (weights * wanted))
    residual = wanted - inside @ coefficients
    pulled = algebra.solve(factor, (inside * (weights * residual)[:, None]).T)  # [features, rows]
    spare = rows / max(1, rows - size - 1)  # residuals of a close fit are too small
    bias = ridge * algebra.solve(factor, coefficients)
    errors = np.sqrt(spare * np.sum(pulled**2, axis=1) + bias**2)
    effective = weights.sum() ** 2 / np.sum(weights**2)  # rows that count; a narrow kernel has few
    largest = np.abs(coefficients + bias).max(initial=0.0)
    held_back = float(np.abs(bias).max(initial=0.0) / max(largest, 1e-300))
    enough = bool(effective > size + 1)
    return Linear(centre - float(mean @ coefficients), coefficients, errors, enough, held_back)


def varying(margins: FloatArray, centre: float) -> FloatArray:
    """The margins around their centre; exactly 0 where they differ by rounding only."""
    around = margins - centre
    rounding = 1e-9 * max(1.0, float(np.abs(margins).max(initial=0.0)))
    return around if np.ptp(around) > rounding else np.zeros_like(around)
