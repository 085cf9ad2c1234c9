"""Attention rollout (arXiv 2005.00928): attention followed through all layers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.methods.attention import attention, unsigned
from piste.methods.base import Attribution, Method
from piste.models.protocol import WithAttention


@dataclass(frozen=True)
class Rollout(Method):
    """Attention followed through all layers and their skips to each word: never negative.

    1. One pass over the text with its special tokens; each layer's weights, averaged over heads.
    2. Half of each position's content comes by the skip around the layer: A' = (A + I) / 2.
    3. The product of all layers' A', at the position that the classification is read from.
    4. A word's score is the sum over its tokens; words that share a score get their mean.
    """

    name: ClassVar[str] = "rollout"
    needs: ClassVar[tuple[type, ...]] = (WithAttention,)

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        players = decision.players
        weights, position = attention(decision)
        return unsigned({"rollout": rolled(weights.mean(axis=1), position)}, players)


def rolled(weights: FloatArray, position: int) -> FloatArray:
    """The row of the product [tokens] from layers' weights [layers, tokens, tokens].

    Only this row is carried from the last layer to the first: no matrix is multiplied by another.
    """
    row = np.eye(weights.shape[1])[position]
    for layer in weights[::-1]:
        row = (row @ layer + row) / 2
    return np.asarray(row)
