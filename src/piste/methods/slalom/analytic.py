"""SLALOM-Ana: the closed form. Few and short sequences; exact on a SLALOM, fragile elsewhere."""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
from piste.design import pairs, singles
from piste.methods.base import Attribution, Method
from piste.methods.game import Game, affordable
from piste.result.formula import Formula
from piste.surrogates.slalom.analytic import choose_references, solve_pairs
from piste.surrogates.slalom.model import count_matrix, slalom_scores


@dataclass(frozen=True)
class SlalomAna(Method):
    """Value and importance in closed form: cheap (two sequences a word), fragile (SLALOM-Ana).

    1. Each of the d distinct players alone: its value.
    2. Each with a reference player of another value: its importance against the reference.
    """

    name: ClassVar[str] = "slalom-ana"

    gamma: float = 0.0  # the importances' sum

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        distinct = len(players.first)
        needed = affordable(query, 2 * distinct - 1, kept_back=0, least=2 * distinct - 1)
        query.plan(needed)
        values = decision.margins(players.of_groups(singles(distinct)))
        references = choose_references(values)
        answers = values.copy()
        others = np.flatnonzero(references.partner >= 0)
        if len(others):
            partners = references.partner[others]
            rows = pairs(players.first[others], players.first[partners])
            answers[others] = decision.margins(rows)
        started = time.perf_counter()
        model, doubtful = solve_pairs(values, references, answers)
        model = model.normalised(self.gamma)
        scores = slalom_scores(model, players.groups, rng)
        seconds = time.perf_counter() - started

        def predict(keep: BoolArray) -> FloatArray:
            counts = count_matrix(Ragged.masked(keep), players.groups, distinct)
            return np.asarray(model.predict(counts)[:, 0])

        return Attribution(
            scores=scores,
            primary="lin",
            fidelity=Game(decision).checked(predict, rng, Ragged.of([])),
            fit_seconds=seconds,
            surrogate_score=float(predict(np.ones((1, len(players)), dtype=bool))[0]),
            formula=Formula.plain(model.values[players.groups, 0], scores["importance"]),
            notes=_notes(len(doubtful), distinct),
        )


def _notes(doubtful: int, distinct: int) -> tuple[str, ...]:
    if not doubtful:
        return ()
    return (
        f"The importances of {doubtful} of {distinct} words could not be estimated: they are"
        " bounds or guesses.",
    )
