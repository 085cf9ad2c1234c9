"""Raw attention weights of the token that the classification is read from."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.errors import SettingError
from piste.methods.base import Attribution, Method
from piste.methods.gradients import by_player
from piste.models.protocol import WithAttention
from piste.text.players import Players

UNSIGNED = "Attention has no sign: it shows where the model looks, not which label a word supports."


@dataclass(frozen=True)
class Attention(Method):
    """How much the token that is classified attends to each word: never negative, for any label.

    1. One pass over the text with its special tokens; the weights of one layer's heads, from the
       position that the classification is read from ([CLS], or a decoder's last token).
    2. A token's scores: alpha-avg the mean over heads, alpha-max the largest.
    3. A word's score is the sum over its tokens; words that share a score get their mean.

    Attention does not see what the layers after it make of a word: it is the same for every
    label, and a high weight may speak for or against.
    """

    name: ClassVar[str] = "attention"
    needs: ClassVar[tuple[type, ...]] = (WithAttention,)

    layer: int = -1  # 0 is the first, -1 the last

    def __post_init__(self) -> None:
        if isinstance(self.layer, bool) or not hasattr(self.layer, "__index__"):
            raise SettingError(
                f"layer is {self.layer!r}.", "Give a whole number: 0 is the first, -1 the last."
            )

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        players = decision.players
        weights, position = attention(decision)
        heads = self._chosen(weights)[:, position]  # [heads, tokens]
        return unsigned({"alpha-avg": heads.mean(axis=0), "alpha-max": heads.max(axis=0)}, players)

    def _chosen(self, weights: FloatArray) -> FloatArray:
        """The layer's weights [heads, tokens, tokens]."""
        layers = len(weights)
        if not -layers <= self.layer < layers:
            raise SettingError(
                f"There is no layer {self.layer}.", f"Give 0 to {layers - 1}, or -1 for the last."
            )
        return np.asarray(weights[self.layer])


def attention(decision: Decision) -> tuple[FloatArray, int]:
    """The whole text's weights [layers, heads, tokens, tokens], and the classified position."""
    query, players = decision.query, decision.players
    query.plan(1)
    weights, position = query.attentions(query.sequence(players.tokens(players.whole)))
    return weights[:, 0], position


def unsigned(tokens: dict[str, FloatArray], players: Players) -> Attribution:
    """Scores of words from shares of tokens; the first ranks, and its rest lies on the frame."""
    primary = next(iter(tokens))
    scores = {name: by_player(shares, players) for name, shares in tokens.items()}
    framed = players.frame.size > 0
    rest = float(tokens[primary].sum() - scores[primary].sum())
    return Attribution(
        primary=primary,
        scores=scores,
        frame_share=min(1.0, max(0.0, rest)) if framed else None,
        notes=(UNSIGNED,),
    )
