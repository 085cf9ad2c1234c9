"""The linear surrogate of the SLALOM paper (its Table 6): word counts by least squares."""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
from piste.design import subsets
from piste.methods.base import TOO_FEW, Attribution, Method
from piste.methods.game import Game, affordable
from piste.options import whole_number
from piste.surrogates.linear import fit_linear
from piste.surrogates.slalom.model import count_matrix


@dataclass(frozen=True)
class LinearSurrogate(Method):
    """One weight a word: its count in random parts of the text, by plain least squares.

    1. Random parts of the text, of every size.
    2. Least squares of the log-odds on how often each distinct word occurs in them.
    """

    name: ClassVar[str] = "linear"

    samples: int = 1000

    def __post_init__(self) -> None:
        whole_number("samples", self.samples, 2)

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        samples = affordable(query, self.samples)
        query.plan(samples)
        rows = parts_of_every_size(rng, samples, len(players))
        answers = decision.margins(rows)
        started = time.perf_counter()
        counts = count_matrix(rows, players.groups, len(players.first)).toarray()
        fit = fit_linear(counts, answers, ridge=1e-6)
        seconds = time.perf_counter() - started
        weights = fit.weights[players.groups]

        def predict(keep: BoolArray) -> FloatArray:
            return np.asarray(fit.intercept + keep @ weights)

        game = Game(decision)
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
