"""Leave one out: what the model says without each word."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from piste.explanation import FloatArray, Target
from piste.methods.base import Attribution
from piste.methods.coalitions import BoolArray, Game, affordable, check_removal
from piste.models.query import Query
from piste.ragged import Ragged
from piste.text.players import Players


@dataclass(frozen=True)
class Occlusion:
    """How far the log-odds fall without each word, one at a time (leave-one-out).

    1. Ask for the text without each occurrence of each player: exact, one sequence a player.
    """

    removal: Literal["delete", "unk", "mask", "pad"] = "delete"

    def __post_init__(self) -> None:
        check_removal(self.removal)

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        count = len(players)
        query.plan(affordable(query, count, kept_back=0, least=count))
        game = Game(query, players, target, self.removal)
        without = ~np.eye(count, dtype=bool)
        falls, asked = target.score - game.play(without), Ragged.masked(without)

        def predict(keep: BoolArray) -> FloatArray:
            return np.asarray(target.score - ~keep @ falls)

        return Attribution(
            primary="removal", scores={"removal": falls}, fidelity=game.checked(predict, rng, asked)
        )
