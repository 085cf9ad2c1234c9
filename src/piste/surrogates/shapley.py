"""Exact Shapley values and interactions of a game that is known on every coalition."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from piste.arrays import BoolArray, FloatArray, IntArray
from piste.result.parts import MOST_COMPLETE

EXACT_SHAPLEY = MOST_COMPLETE  # players whose coalitions are all looked at


def all_coalitions(players: int) -> NDArray[np.bool_]:
    """Who is inside each coalition [2^players, players], in the order of their bits."""
    return np.asarray((np.arange(2**players)[:, None] >> np.arange(players)) & 1 == 1)


def exact_shapley(member: NDArray[np.bool_], worth: FloatArray) -> FloatArray:
    """Shapley values [players] of a game given on all coalitions, in the order of their bits."""
    players = member.shape[1]
    sizes = member.sum(axis=1)
    factorial = np.cumprod([1.0, *range(1, players + 1)])
    values = np.zeros(players)
    for player in range(players):
        without = np.flatnonzero(~member[:, player])
        odds = factorial[sizes[without]] * factorial[players - sizes[without] - 1]
        gain = worth[without + (1 << player)] - worth[without]
        values[player] = odds @ gain / factorial[players]
    return values


def exact_interactions(member: NDArray[np.bool_], worth: FloatArray) -> FloatArray:
    """Shapley interaction indices [players, players] of such a game; 0 on the diagonal."""
    players = member.shape[1]
    sizes = member.sum(axis=1)
    factorial = np.cumprod([1.0, *range(1, players + 1)])
    indices = np.zeros((players, players))
    for first in range(players):
        for second in range(first):
            without = np.flatnonzero(~member[:, first] & ~member[:, second])
            one, two = without + (1 << first), without + (1 << second)
            odds = factorial[sizes[without]] * factorial[players - sizes[without] - 2]
            together = worth[one + (1 << second)] - worth[one] - worth[two] + worth[without]
            indices[first, second] = odds @ together / factorial[players - 1]
    return indices + indices.T


def shapley_weights(parts: BoolArray) -> FloatArray:
    """How much each part's worth counts in each player's Shapley value [parts, players].

    For a part of s of n players: (s - 1)! (n - s)! / n! for those inside, and for the others
    -s! (n - s - 1)! / n!.
    """
    count, sizes = parts.shape[1], parts.sum(axis=1)
    kept, gone = np.maximum(sizes, 1), np.maximum(count - sizes, 1)
    inside = gammaln(kept) + gammaln(count - sizes + 1) - gammaln(count + 1)
    outside = gammaln(sizes + 1) + gammaln(gone) - gammaln(count + 1)
    return np.asarray(np.where(parts, np.exp(inside)[:, None], -np.exp(outside)[:, None]))


def weighted_interactions(parts: BoolArray, worth: FloatArray, chosen: IntArray) -> FloatArray:
    """What these parts' worth adds to the Shapley interaction indices [chosen, chosen].

    A part of s of n players counts (s - 2)! (n - s)! / (n - 1)! for two that it keeps, s! (n - s -
    2)! / (n - 1)! for two that it does not, and -(s - 1)! (n - s - 1)! / (n - 1)! for one of each.
    """
    count, sizes = parts.shape[1], parts.sum(axis=1)
    kept = parts[:, chosen].astype(np.float64)
    gone = 1 - kept

    def odds(company: IntArray) -> FloatArray:
        """The weight of so many others; where there is no such part, it multiplies 0."""
        inside = np.clip(company, 0, max(count - 2, 0))
        logs = gammaln(inside + 1) + gammaln(count - 1 - inside) - gammaln(count)
        return np.asarray(np.exp(logs) * worth)

    both = kept.T @ (odds(sizes - 2)[:, None] * kept)
    neither = gone.T @ (odds(sizes)[:, None] * gone)
    one = kept.T @ (odds(sizes - 1)[:, None] * gone)
    total = both + neither - one - one.T
    np.fill_diagonal(total, 0.0)
    return np.asarray(total)
