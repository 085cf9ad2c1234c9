"""shapiq's estimators of Shapley values and interactions, on the words of the text.

They have no default budget. All are as they come, but for the number of samples and the seed.
"""

from typing import Any

import numpy as np
from shapiq import approximator

from contenders.base import Answer, Game, Masks, TooLittle, TorchModel, additive

Moebius = dict[tuple[int, ...], float]


class Shapiq:
    def explain(self, game: Game, settings: dict[str, Any], passes: float | None) -> Answer:
        name, budget = settings["algorithm"], game.samples(passes or 0)
        if game.words <= 12:
            budget = min(budget, 2**game.words)
        if name.endswith("SPEX"):
            return sparse(game, name, budget)
        if name == "KernelSHAPIQ":
            return with_pairs(game, budget)
        if budget < settings.get("least", 4):
            raise TooLittle
        estimator = getattr(approximator, name)(n=game.words, random_state=0)
        found = estimator.approximate(budget=budget, game=game)
        values = np.array([found[(word,)] for word in range(game.words)])
        return additive(game, values, is_shapley=True)


def with_pairs(game: Game, budget: int) -> Answer:
    """Shapley interactions of words and pairs: k-SII, whose sums predict parts."""
    if budget < game.words + 2:
        raise TooLittle
    estimator = approximator.KernelSHAPIQ(n=game.words, max_order=2, index="k-SII", random_state=0)
    found = estimator.approximate(budget=budget, game=game)
    singles = np.array([found[(word,)] for word in range(game.words)])
    pairs = np.zeros((game.words, game.words))
    for first, second in zip(*np.triu_indices(game.words, k=1), strict=True):
        pairs[first, second] = pairs[second, first] = found[(int(first), int(second))]
    empty = float(game(np.zeros((1, game.words)))[0])

    def predict(masks: Masks) -> np.ndarray:
        kept = masks.astype(float)
        return empty + kept @ singles + np.einsum("ri,ij,rj->r", kept, pairs, kept) / 2

    values = singles + pairs.sum(axis=1) / 2  # aggregated to order 1: Shapley values
    return Answer(values, predict, is_shapley=True, pairs=pairs)


def sparse(game: Game, name: str, budget: int) -> Answer:
    """SPEX and ProxySPEX find a sparse polynomial; Shapley values and pairs follow from it."""
    if budget < 10:
        raise TooLittle
    estimator = getattr(approximator, name)(n=game.words, index="SV", max_order=1, random_state=0)
    polynomial: Moebius = {}
    converted = estimator._process_moebius

    def kept(moebius_transform: Moebius) -> np.ndarray:
        polynomial.update(moebius_transform)
        return converted(moebius_transform=moebius_transform)

    estimator._process_moebius = kept  # the polynomial itself is not among what it returns
    try:
        estimator.approximate(budget=budget, game=game)
    except ValueError as error:
        if name == "SPEX":  # its transform needs a least number of samples, which grows with words
            raise TooLittle from error
        raise
    return of_polynomial(game, polynomial)


def of_polynomial(game: Game, polynomial: Moebius) -> Answer:
    """Predictions, Shapley values and interactions of a game given by its Möbius coefficients."""
    values, pairs = np.zeros(game.words), np.zeros((game.words, game.words))
    for words, weight in polynomial.items():
        members = list(words)
        if members:
            values[members] += weight / len(members)
        if len(members) > 1:
            pairs[np.ix_(members, members)] += weight / (len(members) - 1)
    np.fill_diagonal(pairs, 0.0)

    def predict(masks: Masks) -> np.ndarray:
        scores = np.zeros(len(masks))
        for words, weight in polynomial.items():
            scores += weight * masks[:, list(words)].all(axis=1)
        return scores

    return Answer(values, predict, is_shapley=True, pairs=pairs)


def make(model: TorchModel) -> Shapiq:
    return Shapiq()
