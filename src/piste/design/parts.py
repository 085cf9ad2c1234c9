"""Parts of a text to ask about: masks [parts, players], True where a player is kept."""

from __future__ import annotations

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray
from piste.design.sequences import weighing

# Sizes of random parts of a long text. A compiled model makes kernels for every length that it has
# not seen, which takes longer than the answers of a small one.
LEVELS, FEW = 20, 40  # sizes, and players of which parts have every size


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


def paired_parts(
    rng: np.random.Generator, players: int, count: int, tokens: IntArray | None = None
) -> BoolArray:
    """Random parts of every size alike, each followed by its complement.

    tokens [players]: of many players, parts of LEVELS sizes only, counted in tokens.
    """
    pairs = -(-count // 2)
    levels = tokens is not None and players > FEW
    sizes = LEVELS if levels else max(1, players - 1)
    drawn = [rng.permutation(sizes) for _ in range(-(-pairs // sizes))]
    size = np.concatenate(drawn)[:pairs].astype(np.int64)
    if tokens is not None and levels:
        parts = _of_levels(rng, size, tokens)
    else:
        parts = _of_sizes(rng, size + 1, players)
    return np.stack([parts, ~parts], axis=1).reshape(-1, players)[:count]


def spread_out(pairs: BoolArray, known: BoolArray, *, by_size: bool) -> BoolArray:
    """The same pairs of complements, each as unlike those before it and the known parts as may be.

    pairs [2 * pairs, players]: parts, each followed by its complement. With few players random
    pairs repeat each other nearly, and tell less.
    by_size: each takes the place of one of its size. Else halves, which are the most unlike, come
    first: of more than a few players too many, and small removals are learnt less well.
    """
    candidates = pairs[::2]
    sizes = candidates.sum(axis=1)
    sizes = np.minimum(sizes, candidates.shape[1] - sizes)
    likeness = _likeness(candidates, known).sum(axis=1)
    chosen: list[int] = []
    for size in sizes:
        allowed = np.where(sizes == size, likeness, np.inf) if by_size else likeness
        best = int(allowed.argmin())
        chosen.append(best)
        likeness += 2 * _likeness(candidates, candidates[[best]])[:, 0]
        likeness[best] = np.inf
    return np.stack([candidates[chosen], pairs[1::2][chosen]], axis=1).reshape(pairs.shape)


def _likeness(first: BoolArray, second: BoolArray) -> FloatArray:
    """Of parts [first, second]: 1 where they are equal or complements, 0 where half is equal."""
    signs = (np.where(parts, 1.0, -1.0) for parts in (first, second))
    return np.asarray((np.inner(*signs) / first.shape[1]) ** 4)


def parts_between(
    rng: np.random.Generator,
    players: int,
    count: int,
    least: float,
    most: float,
    tokens: IntArray | None = None,
) -> BoolArray:
    """Random parts that keep a uniform share of the players, from `least` to `most`.

    tokens [players]: of many players, parts of the same sizes as those of `paired_parts`.
    """
    shares = rng.uniform(least, most, size=count)
    if tokens is not None and players > FEW:
        return _of_levels(rng, np.minimum(shares * LEVELS, LEVELS - 1).astype(np.int64), tokens)
    sizes = np.clip(np.round(shares * players), 1, players).astype(np.int64)
    return _of_sizes(rng, sizes, players)


def _of_sizes(rng: np.random.Generator, sizes: IntArray, players: int) -> BoolArray:
    ranks = rng.random((len(sizes), players)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < sizes[:, None])


def _of_levels(rng: np.random.Generator, levels: IntArray, tokens: IntArray) -> BoolArray:
    """Parts equally long to the model where their level is the same; so are their complements."""
    half = np.round((np.arange(LEVELS // 2) + 0.5) / LEVELS * tokens.sum())
    lengths = np.concatenate([half, tokens.sum() - half[::-1]])
    return weighing(rng, lengths[levels], tokens)


def most_informative(
    covariance: FloatArray, noise: float, costs: FloatArray, budget: float
) -> list[int]:
    """Candidates to ask, greedily by what they teach about the targets for their cost.

    covariance [candidates + targets, candidates]: that of the answers, candidates first. An answer
    teaches as much as it lowers the targets' variance in sum. Ends when the budget is spent.
    """
    count = covariance.shape[1]
    targets, variance = covariance[count:].copy(), np.diag(covariance[:count]).copy()
    known, spent = np.empty((0, count)), 0.0  # what each chosen one tells [chosen, candidates]
    chosen: list[int] = []
    while len(chosen) < count and spent < budget:
        noisy = np.maximum(variance, 0.0) + noise
        gain = np.einsum("tc,tc->c", targets, targets) / noisy / costs
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        spent += float(costs[best])
        tells = (covariance[best] - known[:, best] @ known) / np.sqrt(noisy[best])
        targets -= np.outer(targets[:, best] / np.sqrt(noisy[best]), tells)
        variance -= tells**2
        known = np.vstack([known, tells])
    return chosen
