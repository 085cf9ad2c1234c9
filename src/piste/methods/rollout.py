"""Attention rollout (arXiv 2005.00928): attention followed through all layers."""

from dataclasses import dataclass

import numpy as np

from piste.explanation import FloatArray, Target
from piste.methods.attention import attention, unsigned
from piste.methods.base import Attribution
from piste.models.query import Query
from piste.text.players import Players


@dataclass(frozen=True)
class Rollout:
    """Attention followed through all layers and their skips to each word: never negative.

    1. One pass over the text with its special tokens; each layer's weights, averaged over heads.
    2. Half of each position's content comes by the skip around the layer: A' = (A + I) / 2.
    3. The product of all layers' A', at the position that the classification is read from.
    4. A word's score is the sum over its tokens; words that share a score get their mean.
    """

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        weights, position = attention(query, players)
        return unsigned({"rollout": rolled(weights.mean(axis=1), position)}, players)


def rolled(weights: FloatArray, position: int) -> FloatArray:
    """The row of the product [tokens] from layers' weights [layers, tokens, tokens].

    Only this row is carried from the last layer to the first: no matrix is multiplied by another.
    """
    row = np.eye(weights.shape[1])[position]
    for layer in weights[::-1]:
        row = (row @ layer + row) / 2
    return np.asarray(row)
