"""Leave one out: what the model says without each word."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
from piste.methods.base import Attribution, Method
from piste.methods.game import Game, affordable, check_removal


@dataclass(frozen=True)
class Occlusion(Method):
    """How far the log-odds fall without each word, one at a time (leave-one-out).

    1. Ask for the text without each occurrence of each player: exact, one sequence a player.
    """

    name: ClassVar[str] = "occlusion"

    removal: Literal["delete", "unk", "mask", "pad"] = "delete"

    def __post_init__(self) -> None:
        check_removal(self.removal)

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players, target = decision.query, decision.players, decision.target
        count = len(players)
        query.plan(affordable(query, count, kept_back=0, least=count))
        game = Game(decision, self.removal)
        without = ~np.eye(count, dtype=bool)
        falls, asked = target.score - game.play(without), Ragged.masked(without)

        def predict(keep: BoolArray) -> FloatArray:
            return np.asarray(target.score - ~keep @ falls)

        return Attribution(
            primary="removal", scores={"removal": falls}, fidelity=game.checked(predict, rng, asked)
        )
