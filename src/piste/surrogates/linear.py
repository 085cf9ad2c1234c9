"""The additive surrogate: an intercept and one weight a player, by weighted ridge regression."""

from dataclasses import dataclass

import numpy as np

from piste.explanation import FloatArray
from piste.surrogates import algebra


@dataclass(frozen=True)
class Linear:
    """intercept + features @ weights."""

    intercept: float
    weights: FloatArray  # [features]
    errors: FloatArray  # standard errors of the weights
    determined: bool  # whether there were more answers than weights: else the errors mean nothing


def fit_linear(
    features: FloatArray,
    margins: FloatArray,
    weights: FloatArray | None = None,
    ridge: float = 1.0,
) -> Linear:
    """Least squares of margins [rows] on features [rows, features], the intercept not penalised.

    Standard errors by the sandwich formula: they hold whatever the noise, and however far the
    model is from additive.
    """
    rows, size = features.shape
    weights = np.ones(rows) if weights is None else weights
    share = weights / weights.sum()
    mean, centre = share @ features, float(share @ margins)
    inside, wanted = features - mean, margins - centre
    gram = (inside * weights[:, None]).T @ inside + ridge * np.eye(size)
    gram[np.diag_indices(size)] += 1e-12 * max(float(np.trace(gram)) / size, 1e-300)
    factor = algebra.root(gram)
    found = algebra.solve(factor, inside.T @ (weights * wanted))
    residual = wanted - inside @ found
    pulled = algebra.solve(factor, (inside * (weights * residual)[:, None]).T)  # [features, rows]
    spare = rows / max(1, rows - size - 1)  # residuals of a close fit are too small
    errors = np.sqrt(spare * np.sum(pulled**2, axis=1))
    return Linear(centre - float(mean @ found), found, errors, rows > size + 1)
