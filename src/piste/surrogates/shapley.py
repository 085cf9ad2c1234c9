"""Exact Shapley values and interactions of a game that is known on every coalition."""

import numpy as np
from numpy.typing import NDArray

from piste.arrays import BoolArray, FloatArray, IntArray
from piste.result.parts import MOST_COMPLETE, NEAR
from piste.special import log_factorials

EXACT_SHAPLEY = MOST_COMPLETE  # players whose coalitions are all looked at
TINIEST = 1e-300  # stands for odds of 0, which have no logarithm


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


def shapley_weights(parts: BoolArray) -> FloatArray:
    """How much each part's worth counts in each player's Shapley value [parts, players].

    For a part of s of n players: (s - 1)! (n - s)! / n! for those inside, and for the others
    -s! (n - s - 1)! / n!.
    """
    count, sizes = parts.shape[1], parts.sum(axis=1)
    kept, gone = np.maximum(sizes, 1), np.maximum(count - sizes, 1)
    logs = log_factorials(count)
    inside = logs[kept - 1] + logs[count - sizes] - logs[count]
    outside = logs[sizes] + logs[gone - 1] - logs[count]
    return np.asarray(np.where(parts, np.exp(inside)[:, None], -np.exp(outside)[:, None]))


def part_interactions(parts: BoolArray, worth: FloatArray, chosen: IntArray) -> FloatArray:
    """What these parts' worth adds to the interactions near the text [chosen, chosen].

    The interaction of two players is their mean second difference, f(S + i + j) - f(S + i) -
    f(S + j) + f(S), where S keeps each of the others with probability t, from NEAR to 1 alike.
    So of all 2^n parts the sum is the interaction itself.
    """
    count, sizes = parts.shape[1], parts.sum(axis=1)
    kept = parts[:, chosen].astype(np.float64)
    gone = 1 - kept

    def odds(company: IntArray) -> FloatArray:
        """The weight of so many others; where there is no such part, it multiplies 0."""
        inside = np.clip(company, 0, max(count - 2, 0))
        return company_odds(max(count - 2, 0), NEAR)[inside] * worth

    both = kept.T @ (odds(sizes - 2)[:, None] * kept)
    neither = gone.T @ (odds(sizes)[:, None] * gone)
    one = kept.T @ (odds(sizes - 1)[:, None] * gone)
    total = both + neither - one - one.T
    np.fill_diagonal(total, 0.0)
    return np.asarray(total)


def pair_weights(parts: BoolArray, pairs: IntArray) -> FloatArray:
    """How much each part's worth counts in the interaction of each pair [parts, pairs]."""
    first, second = parts[:, pairs[:, 0]], parts[:, pairs[:, 1]]
    others = parts.sum(axis=1)[:, None] - first - second.astype(np.int64)
    odds = company_odds(max(parts.shape[1] - 2, 0), NEAR)[others]
    return np.asarray(np.where(first == second, odds, -odds))


def company_odds(others: int, least: float) -> FloatArray:
    """The mean of t^k (1 - t)^(others - k) over t from `least` to 1, for every k [others + 1]."""
    kept = np.arange(others + 1)
    logs = log_factorials(others)
    one_in = logs[kept] + logs[others - kept] - logs[others]
    return np.asarray(_company_shares(others, least) * np.exp(one_in))


def sum_of_squares(others: int, least: float) -> float:
    """Of the odds of all companies: every one of the 2^others."""
    return float(_company_shares(others, least) @ company_odds(others, least))


def _company_shares(others: int, least: float) -> FloatArray:
    """How likely k of the others are kept, for every k [others + 1]."""
    kept = np.arange(others + 1)
    # The incomplete beta function of whole numbers: at most k of one more are kept by `least`.
    logs, odds = log_factorials(others + 1), np.log(np.maximum([least, 1 - least], TINIEST))
    ways = logs[-1] - logs[kept] - logs[others + 1 - kept]
    tail = np.cumsum(np.exp(ways + kept * odds[0] + (others + 1 - kept) * odds[1]))
    return np.asarray(np.minimum(tail, 1.0) / ((1 - least) * (others + 1)))
