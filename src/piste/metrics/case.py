"""What metrics need of a text, whichever explanation they measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from numpy import bool_
from numpy.typing import NDArray

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.metrics.normalised import Extremes, extremes
from piste.result.explanation import Explanation

OTHER_SEEDS = 3


@dataclass
class Case:
    """One decision, with the extra data that some metrics need.

    Its query remembers the answers: ten explanations judged by ten metrics never ask the same
    sequence twice.
    """

    decision: Decision
    seed: int = 0
    marked: NDArray[bool_] | None = None  # [players]: by all annotators
    reference: FloatArray | None = None  # [players]: Naive Bayes, towards the target
    # The explanation once more: with another seed, or of a model with other weights.
    again: Callable[[Explanation, int], Explanation] | None = None
    elsewhere: Callable[[Explanation], Explanation] | None = None

    @cached_property
    def extremes(self) -> Extremes | None:
        """The AOPC of the worst and the best deletion order that a beam search finds."""
        return extremes(self.decision)
