"""The generalised additive surrogate: one weight for each word at each place, by lasso."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from piste.arrays import FloatArray, IntArray, Ragged
from piste.surrogates.linear import varying

STEPS = 3000  # of accelerated proximal gradients, at most
SMALL = 1e-7  # relative change of the weights at which they have settled


@dataclass(frozen=True)
class Gam:
    """intercept + the sum over places of weights[group, place]; most weights are 0."""

    intercept: float
    weights: FloatArray  # [groups, places]

    def predict(self, rows: Ragged, groups: IntArray) -> FloatArray:
        """Margins of rows of players; players beyond the last place count nothing."""
        features = placed(rows, groups, self.weights.shape)
        return np.asarray(self.intercept + features @ self.weights.reshape(-1))


def placed(rows: Ragged, groups: IntArray, shape: tuple[int, int]) -> sparse.csr_array:
    """Which group stands at which place of each row [rows, groups * places], sparse."""
    row = np.repeat(np.arange(len(rows)), rows.lengths)
    place = np.arange(len(rows.values)) - np.repeat(rows.starts[:-1], rows.lengths)
    inside = place < shape[1]
    column = groups[rows.values[inside]] * shape[1] + place[inside]
    ones = np.ones(int(inside.sum()))
    size = (len(rows), shape[0] * shape[1])
    return sparse.csr_array(sparse.coo_array((ones, (row[inside], column)), shape=size))


def fit_gam(
    rows: Ragged, groups: IntArray, margins: FloatArray, shape: tuple[int, int], penalty: float
) -> Gam:
    """Lasso of margins [rows]; `penalty` is a share of the one that leaves no weight at all."""
    features = placed(rows, groups, shape)
    mean = np.asarray(features.mean(axis=0)).reshape(-1)
    centre = float(margins.mean())
    weights = lasso(features, mean, varying(margins, centre), penalty)
    return Gam(centre - float(mean @ weights), weights.reshape(shape))


def lasso(
    features: sparse.csr_array, mean: FloatArray, wanted: FloatArray, penalty: float
) -> FloatArray:
    """Weights that minimise |wanted - (features - mean) w|^2 / 2 + strength |w|_1 (FISTA)."""

    def slope(weights: FloatArray) -> FloatArray:
        residual = wanted - features @ weights + float(mean @ weights)
        return np.asarray(features.T @ residual - mean * residual.sum())

    strength = penalty * float(np.abs(slope(np.zeros(features.shape[1]))).max())
    step = 1.0 / max(_largest_curvature(features, mean), 1e-12)
    weights = ahead = np.zeros(features.shape[1])
    pace = 1.0
    for _ in range(STEPS):
        moved = ahead + step * slope(ahead)
        trial = np.sign(moved) * np.maximum(np.abs(moved) - step * strength, 0.0)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead = trial + (pace - 1) / faster * (trial - weights)
        change = float(np.abs(trial - weights).max())
        weights, pace = trial, faster
        if change <= SMALL * max(float(np.abs(weights).max()), 1e-300):
            break
    return np.asarray(weights)


def _largest_curvature(features: sparse.csr_array, mean: FloatArray) -> float:
    """The largest eigenvalue of the centred Gram matrix, by power iteration, a little above."""
    vector = np.random.default_rng(0).normal(size=features.shape[1])
    size = 0.0
    for _ in range(30):
        vector = vector / max(float(np.linalg.norm(vector)), 1e-300)
        image = features @ vector - float(mean @ vector)
        vector = np.asarray(features.T @ image - mean * image.sum())
        size = float(np.linalg.norm(vector))
    return 1.05 * size
