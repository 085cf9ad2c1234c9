"""The GAM surrogate of the SLALOM paper (its Table 6): token and position by lasso."""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
from piste.errors import SettingError
from piste.methods.base import Attribution, Method
from piste.methods.game import Game, affordable
from piste.methods.linear import parts_of_every_size
from piste.options import whole_number
from piste.surrogates.gam import fit_gam, placed

OFTEN = 10  # times that a typical word must have stood at its place
_SELDOM = "A typical {unit} was seen in its place only {seen:.0f} times: gam is for short texts."


@dataclass(frozen=True)
class GamSurrogate(Method):
    """One weight for each word at each place, by lasso: additive, but not blind to position.

    1. Random parts of the text, of every size.
    2. Lasso of the log-odds on which distinct word stands at which place of the part.
    3. A player's score is the weight of its word at its place in the whole text. Without it, all
       later words move up: `removal` says what the surrogate makes of that.
    """

    name: ClassVar[str] = "gam"

    samples: int = 1000
    penalty: float = 0.01  # of the lasso, as a share of the one that leaves no weight at all

    def __post_init__(self) -> None:
        whole_number("samples", self.samples, 2)
        if not 0 < self.penalty < 1:
            raise SettingError(f"penalty is {self.penalty!r}.", "Give a number between 0 and 1.")

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        samples, count = affordable(query, self.samples), len(players)
        query.plan(samples)
        rows = parts_of_every_size(rng, samples, count)
        answers = decision.margins(rows)
        started = time.perf_counter()
        shape = (len(players.first), count)
        fit = fit_gam(rows, players.groups, answers, shape, self.penalty)
        seconds = time.perf_counter() - started
        at_home = placed(rows, players.groups, shape).sum(axis=0).reshape(shape)
        seen = float(np.median(at_home[players.groups, np.arange(count)]))

        def predict(keep: BoolArray) -> FloatArray:
            return fit.predict(Ragged.masked(keep), players.groups)

        whole = float(fit.predict(players.whole, players.groups)[0])
        return Attribution(
            primary="weight",
            scores={
                "weight": fit.weights[players.groups, np.arange(count)],
                "removal": whole - predict(~np.eye(count, dtype=bool)),
            },
            fidelity=Game(decision).checked(predict, rng, rows),
            fit_seconds=seconds,
            surrogate_score=whole,
            notes=() if seen >= OFTEN else (_SELDOM.format(seen=seen, unit=players.unit),),
        )
