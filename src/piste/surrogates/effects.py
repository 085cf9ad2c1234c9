"""Shapley values and interactions of a fitted context, with their variances, in closed form.

Along the diagonal of the multilinear extension, every other player is kept with probability t. The
Shapley value of player i is the mean over t from 0 to 1 of the expected change that i makes. The
interaction of i and j is the mean over t from NEAR to 1 of what they change together beyond each by
itself: what they do in parts near the text, where a sentence is still one. The kernel's exponential
is a product over players, k = prod_i k_i, and so is its expectation: the integrand is a polynomial
in t, which Gauss-Legendre quadrature integrates exactly (or to rounding, where there are more
players than twice the nodes).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray
from piste.result.parts import NEAR
from piste.surrogates.context import Process
from piste.surrogates.shapley import pair_weights, shapley_weights, sum_of_squares

NODES = 24  # of the quadrature; exact for up to 48 players


@dataclass(frozen=True, eq=False)
class Effects:
    """Linear functionals of the process over parts."""

    process: Process

    @property
    def players(self) -> int:
        return len(self.process.kernel.relevances)

    def quadrature(self, least: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Nodes from `least` to 1, and weights that sum to 1."""
        nodes, weights = np.polynomial.legendre.leggauss(min(NODES, self.players // 2 + 1))
        return least + (1 - least) * (nodes + 1) / 2, weights / 2

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._factors_of(self.process.parts)

    def _factors_of(self, parts: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What each player contributes to k(S, parts) where S keeps it, and where it does not
        [parts, players]; and the factor that all share [parts].
        """
        kernel = self.process.kernel
        apart = np.exp(-kernel.relevances)
        longer = np.exp(kernel.slope / self.players)
        kept = longer * np.where(parts, 1.0, apart)
        removed = np.where(parts, apart, 1.0)
        return kept, removed, np.exp(-kernel.slope / 2) * kernel.deviation(parts)

    def shapley(self) -> FloatArray:
        """Shapley values of the process's mean [players, outputs]."""
        return self._cross_shapley.T @ self.process.weights

    @cached_property
    def _cross_shapley(self) -> FloatArray:
        return self._shapley_with(*self._factors)

    def covariance(self, parts: BoolArray) -> FloatArray:
        """Posterior covariance of the process's Shapley values with answers [players, parts]."""
        process = self.process
        values = process.explained(self._cross_shapley.T)
        answers = process.explained(process.kernel.between(parts, process.parts))
        return self._shapley_with(*self._factors_of(parts)).T - values.T @ answers

    def _shapley_with(
        self, kept: FloatArray, removed: FloatArray, common: FloatArray
    ) -> FloatArray:
        """Covariance of answers to parts, by their factors, with Shapley values [parts, players]"""
        total = np.zeros_like(kept)
        for t, weight in zip(*self.quadrature(), strict=True):
            mixed = t * kept + (1 - t) * removed
            product = np.exp(np.log(mixed).sum(axis=1))
            total += (weight * product * common)[:, None] * (kept - removed) / mixed
        return total

    def shapley_variances(self) -> FloatArray:
        """Posterior variances of the answers' Shapley values [players], in units of the amplitude.

        Answers that were not asked have noise of their own.
        """
        grid_weight, own = self._second_diagonal()
        counts = shapley_weights(self.process.parts)
        squares = 2 * sum_of_squares(self.players - 1, 0.0)
        return self._variances(grid_weight @ own, self._cross_shapley, counts, squares)

    def _variances(
        self, own: FloatArray, cross: FloatArray, counts: FloatArray, squares: float
    ) -> FloatArray:
        """Posterior variances of linear functionals of all answers [functionals].

        own, cross [asked, functionals]: variances and covariances with what was asked, without
        noise. counts [asked, functionals]: how much each answer counts; squares: the sum of their
        squares over all parts.
        """
        process = self.process
        noises = process.noises
        spared = (process.kernel.noise - noises) @ counts**2  # answers that must be met have less
        known = process.explained((cross + noises[:, None] * counts).T)
        noise = process.kernel.noise * squares - spared
        return np.asarray(own + noise - np.sum(known**2, axis=0))

    def _second_diagonal(self, least: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """For covariances before anything was asked, integrals over two diagonals.

        The weight of each point of the grid [nodes^2], and what the two differences in a player
        make of its factor there [nodes^2, players].
        """
        kernel = self.process.kernel
        apart, longer = np.exp(-kernel.relevances), np.exp(kernel.slope / self.players)
        nodes, weights = self.quadrature(least)
        t, u = (grid.reshape(-1, 1) for grid in np.meshgrid(nodes, nodes, indexing="ij"))
        one = (t * (1 - u) + (1 - t) * u) * longer
        mixed = t * u * longer**2 + (1 - t) * (1 - u) + one * apart
        product = np.exp(np.log(mixed).sum(axis=1))
        weight = np.outer(weights, weights).reshape(-1) * product * np.exp(-kernel.slope)
        return weight, (longer**2 + 1 - 2 * longer * apart) / mixed

    def interactions(self, chosen: IntArray | None = None) -> FloatArray:
        """Interactions in the process's mean, first output [chosen, chosen].

        Among the chosen players, or all.
        """
        kept, removed, common = self._factors
        alpha = self.process.weights[:, 0] * common
        chosen = np.arange(self.players) if chosen is None else chosen
        total = np.zeros((len(chosen), len(chosen)))
        for t, weight in zip(*self.quadrature(NEAR), strict=True):
            mixed = t * kept + (1 - t) * removed
            product = np.exp(np.log(mixed).sum(axis=1))
            change = ((kept - removed) / mixed)[:, chosen]
            total += (change * (weight * product * alpha)[:, None]).T @ change
        np.fill_diagonal(total, 0.0)
        return total

    def interaction_errors(self, pairs: IntArray) -> FloatArray:
        """Standard errors [pairs] of the interactions of pairs [pairs, 2], first output."""
        kept, removed, common = self._factors
        first, second = pairs.T
        cross = np.zeros((len(common), len(pairs)))
        for t, weight in zip(*self.quadrature(NEAR), strict=True):
            mixed = t * kept + (1 - t) * removed
            product = np.exp(np.log(mixed).sum(axis=1)) * weight * common
            change = (kept - removed) / mixed
            cross += product[:, None] * change[:, first] * change[:, second]
        grid_weight, own = self._second_diagonal(NEAR)
        squares = 4 * sum_of_squares(self.players - 2, NEAR)
        variances = self._variances(
            grid_weight @ (own[:, first] * own[:, second]),
            cross,
            pair_weights(self.process.parts, pairs),
            squares,
        )
        return self.process.scaled(variances)[:, 0]


def removal_parts(players: int) -> BoolArray:
    """The whole text, then the text without each player [players + 1, players]."""
    return np.vstack([np.ones(players, dtype=bool), ~np.eye(players, dtype=bool)])
