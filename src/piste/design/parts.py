"""Parts of a text to ask about: masks [parts, players], True where a player is kept."""

from __future__ import annotations

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray


def whole_and_empty(players: int) -> BoolArray:
    """The whole text and the empty one."""
    return np.stack([np.ones(players, dtype=bool), np.zeros(players, dtype=bool)])


def alone(first: IntArray, players: int) -> BoolArray:
    """Each of these players by itself."""
    parts = np.zeros((len(first), players), dtype=bool)
    parts[np.arange(len(first)), first] = True
    return parts


def left_out(players: int) -> BoolArray:
    """The text without each player."""
    return ~np.eye(players, dtype=bool)


def grouped(
    rng: np.random.Generator, first: IntArray, players: int, size: int, each: int
) -> BoolArray:
    """So many of these players at a time, in the text's order; everyone about `each` times."""
    size = min(size, len(first))
    groups = -(-len(first) // size)
    orders = [np.resize(rng.permutation(first), groups * size) for _ in range(each)]
    members = np.concatenate(orders).reshape(-1, size)
    parts = np.zeros((len(members), players), dtype=bool)
    np.put_along_axis(parts, members, True, axis=1)
    return parts


def paired_parts(rng: np.random.Generator, players: int, count: int) -> BoolArray:
    """Random parts of every size alike, each followed by its complement."""
    pairs = -(-count // 2)
    sizes = 1 + np.concatenate(
        [rng.permutation(max(1, players - 1)) for _ in range(-(-pairs // max(1, players - 1)))]
    )
    parts = _of_sizes(rng, sizes[:pairs].astype(np.int64), players)
    return np.stack([parts, ~parts], axis=1).reshape(-1, players)[:count]


def parts_between(
    rng: np.random.Generator, players: int, count: int, least: float, most: float
) -> BoolArray:
    """Random parts that keep a uniform share of the players, from `least` to `most`."""
    shares = rng.uniform(least, most, size=count)
    sizes = np.clip(np.round(shares * players), 1, players).astype(np.int64)
    return _of_sizes(rng, sizes, players)


def _of_sizes(rng: np.random.Generator, sizes: IntArray, players: int) -> BoolArray:
    ranks = rng.random((len(sizes), players)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < sizes[:, None])


def most_informative(
    covariance: FloatArray, noise: float, costs: FloatArray, budget: float
) -> list[int]:
    """Candidates to ask, greedily by what they teach about the targets for their cost.

    covariance [candidates + targets, candidates]: that of the answers, candidates first. An answer
    teaches as much as it lowers the targets' variance in sum. Ends when the budget is spent.
    """
    count = covariance.shape[1]
    left, spent = covariance.copy(), 0.0
    chosen: list[int] = []
    while len(chosen) < count and spent < budget:
        variance = np.maximum(np.diag(left[:count]), 0.0) + noise
        gain = np.sum(left[count:] ** 2, axis=0) / variance / costs
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        spent += float(costs[best])
        left -= np.outer(left[:, best], left[best] / variance[best])
    return chosen
