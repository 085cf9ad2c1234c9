"""One text on trial: what the metrics need, whichever explanation they judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from numpy import bool_
from numpy.typing import NDArray

from piste.explanation import Explanation, FloatArray, Target
from piste.metrics.normalised import Extremes, extremes
from piste.models.query import Query
from piste.text.players import Players

OTHER_SEEDS = 3


@dataclass
class Trial:
    """The text's players and target, and one line to the model for all metrics.

    The line remembers its answers: ten explanations judged by ten metrics never ask the same
    sequence twice.
    """

    query: Query
    players: Players
    target: Target
    seed: int = 0
    marked: NDArray[bool_] | None = None  # [players]: by all annotators
    reference: FloatArray | None = None  # [players]: Naive Bayes, towards the target
    # The explanation once more: with another seed, or of a model with other weights.
    again: Callable[[Explanation, int], Explanation] | None = None
    elsewhere: Callable[[Explanation], Explanation] | None = None

    @cached_property
    def extremes(self) -> Extremes | None:
        """The worst and the best that any order of deletion could reach."""
        return extremes(self.query, self.players, self.target)
