"""What a method is: settings, and one verb from players to scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from piste.explanation import (
    FEW_CHECKS,
    Agreement,
    Fidelity,
    FitReport,
    FloatArray,
    Stopped,
    Target,
)
from piste.formula import Formula
from piste.models.query import Query
from piste.models.target import margins
from piste.ragged import Ragged
from piste.text.players import Players

TOO_FEW = "There are fewer answers than scores to fit: raise the budget."


@dataclass(frozen=True)
class Attribution:
    """What a method found; `explain()` adds text, target, cost and provenance."""

    scores: Mapping[str, FloatArray]  # each [players]
    primary: str
    errors: Mapping[str, FloatArray] = field(default_factory=dict)  # standard errors, as scores
    fidelity: Fidelity | None = None
    fit: FitReport | None = None
    fit_seconds: float = 0.0
    surrogate_score: float | None = None
    frame_share: float | None = None
    stopped: Stopped | None = None
    formula: Formula | None = None
    target: Target | None = None  # where another number is explained than was asked for
    notes: tuple[str, ...] = ()


class Method(Protocol):
    """A frozen dataclass whose fields are its settings."""

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        """Score every player. The model is reached through `query` only."""
        ...


def ask(query: Query, players: Players, rows: Ragged, target: Target) -> FloatArray:
    """The model's margin for each row of players [rows]."""
    return margins(query.logits(players.tokens(rows)), query.classifier, target.index)


def agreement(predicted: FloatArray, true: FloatArray, typical: float = 0.0) -> Agreement:
    """R2 and RMSE of predictions [rows].

    There is no R2 of a few rows, nor where the truth hardly moves: by less than a hundredth of
    `typical`, the deviation of the model's answers elsewhere.
    """
    error = float(np.mean((predicted - true) ** 2))
    deviation = float(np.std(true))
    unsaid = len(true) < FEW_CHECKS or deviation <= max(1e-9, 0.01 * typical)
    r2 = None if unsaid else 1 - error / deviation**2
    return Agreement(r2, float(np.sqrt(error)), len(true))
