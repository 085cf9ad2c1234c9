"""The linear surrogate of the SLALOM paper (its Table 6): word counts by least squares."""

import time
from dataclasses import dataclass

import numpy as np

from piste.design import subsets
from piste.errors import whole_number
from piste.explanation import FloatArray, Target
from piste.methods.base import TOO_FEW, Attribution, ask
from piste.methods.coalitions import BoolArray, Game, affordable
from piste.models.query import Query
from piste.ragged import Ragged
from piste.surrogates.linear import fit_linear
from piste.surrogates.slalom import count_matrix
from piste.text.players import Players


@dataclass(frozen=True)
class LinearSurrogate:
    """One weight a word: its count in random parts of the text, by plain least squares.

    1. Random parts of the text, of every size.
    2. Least squares of the log-odds on how often each distinct word occurs in them.
    """

    samples: int = 1000

    def __post_init__(self) -> None:
        whole_number("samples", self.samples, 2)

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        samples = affordable(query, self.samples)
        query.plan(samples)
        rows = parts_of_every_size(rng, samples, len(players))
        answers = ask(query, players, rows, target)
        started = time.perf_counter()
        counts = count_matrix(rows, players.groups, len(players.first)).toarray()
        fit = fit_linear(counts, answers, ridge=1e-6)
        seconds = time.perf_counter() - started
        weights = fit.weights[players.groups]

        def predict(keep: BoolArray) -> FloatArray:
            return np.asarray(fit.intercept + keep @ weights)

        game = Game(query, players, target)
        return Attribution(
            primary="weight",
            scores={"weight": weights},
            errors={"weight": fit.errors[players.groups]} if fit.determined else {},
            fidelity=game.checked(predict, rng, rows),
            fit_seconds=seconds,
            surrogate_score=fit.intercept + float(weights.sum()),
            notes=() if fit.determined else (TOO_FEW,),
        )


def parts_of_every_size(rng: np.random.Generator, rows: int, count: int) -> Ragged:
    """Random subsets of the text, in order, their sizes uniform from one player to all."""
    return subsets(rng, rng.integers(1, count + 1, size=rows), count)
