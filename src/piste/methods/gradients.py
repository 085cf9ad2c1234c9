"""Gradients of the log-odds with respect to the embeddings, reduced to a number a word."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.methods.base import Attribution, Method
from piste.models.protocol import WithGradients
from piste.result.explanation import Target
from piste.text.players import Players

ALIKE = 1e-2  # how far the answers to ids and to their embeddings may lie apart
ROUNDING = 1e-4  # of the mean absolute gradient: below it, a mean is what float32 left over


@dataclass(frozen=True)
class Gradients(Method):
    """How the log-odds answer to a nudge of each word's embedding: gradient × input, and norms.

    1. One pass forth and back over the text with its special tokens: the gradient g of the
       target's log-odds with respect to the embedding e of every token.
    2. A token's scores: grad-input g·e, grad-avg the mean of g, grad-l1 and grad-l2 its norms.
    3. A word's score is the sum over its tokens; words that share a score get their mean.

    The norms say how sensitive the model is to a word, not which way it speaks: never negative.
    A layer norm does not see a shift of all dimensions alike: where every way to the answer leads
    through one (BERT, GPT-2), grad-avg is 0 for all words, and a note says so.
    """

    name: ClassVar[str] = "gradients"
    checked: ClassVar[bool] = False
    needs: ClassVar[tuple[type, ...]] = (WithGradients,)

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players, target = decision.query, decision.players, decision.target
        query.plan(1)
        ids = query.sequence(players.tokens(players.whole))
        embeddings = query.embed(ids)
        margins, gradients = query.gradients(embeddings, target.index, ids, target.against_index)
        tokens = _reduced(gradients[0], embeddings[0])
        return Attribution(
            primary="grad-input",
            scores={name: by_player(scores, players) for name, scores in tokens.items()},
            notes=(*differing(float(margins[0]), target), *_flat(tokens["grad-avg"])),
        )


def _reduced(gradient: FloatArray, embedding: FloatArray) -> dict[str, FloatArray]:
    """Scores of tokens by name, from [tokens, width]."""
    mean, size = gradient.mean(axis=1), np.abs(gradient)
    rounding = np.abs(mean).max() <= ROUNDING * size.mean(axis=1).max()
    return {
        "grad-input": np.einsum("tw,tw->t", gradient, embedding),
        "grad-avg": np.zeros_like(mean) if rounding else mean,
        "grad-l1": size.sum(axis=1),
        "grad-l2": np.linalg.norm(gradient, axis=1),
    }


def _flat(means: FloatArray) -> tuple[str, ...]:
    if means.any():
        return ()
    return ("The gradient's mean (grad-avg) is 0 for every word, as usual with a layer norm.",)


def by_player(tokens: FloatArray, players: Players) -> FloatArray:
    """Scores of players from those of a framed text's tokens: the sum over a player's tokens.

    Players of one group share their mean, so the sum over the text stays what it was.
    """
    body = tokens[players.positions]  # the frame is never scored
    own = np.add.reduceat(body, players.ids.starts[:-1])  # [players]
    occurrences = np.bincount(players.groups)
    return np.asarray((np.bincount(players.groups, own) / occurrences)[players.groups])


def differing(margin: float, target: Target) -> tuple[str, ...]:
    """A note where the model answers differently to embeddings than to their tokens."""
    if abs(margin - target.score) <= ALIKE * max(1.0, abs(target.score)):
        return ()
    return (
        f"With embeddings instead of tokens the model says {margin:.2f}, not {target.score:.2f}:"
        " the scores explain a slightly different answer.",
    )
