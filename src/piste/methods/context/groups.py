"""What is known where only groups of words were asked, and no part near the text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.methods.base import agreement
from piste.methods.context.asked import Asked
from piste.result.facts import FEW_CHECKS, Agreement


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of words, and SLALOM's predictions of those that it has not seen."""

    parts: BoolArray  # [groups, players]
    answers: FloatArray  # [groups]: the target's
    predictions: FloatArray  # [groups]
    spread: float  # deviation of the model's answers

    @classmethod
    def of(cls, asked: Asked, means: FloatArray) -> Groups | None:
        """None where more is known, or too little."""
        some = (asked.parts.sum(axis=1) > 1) & ~asked.parts.all(axis=1)
        if asked.near.any() or some.sum() < FEW_CHECKS:
            return None
        answers = asked.answers[:, 0]
        return cls(asked.parts[some], answers[some], means[some, 0], float(np.std(answers)))

    def agreement(self) -> Agreement:
        """How well they are predicted."""
        return agreement(self.predictions, self.answers, self.spread)

    @property
    def error(self) -> float:
        """The standard error of a word's effect, beside that of the process.

        The process is fitted to few answers here and believes SLALOM. But groups that SLALOM has
        not seen are off, and so, in equal shares, are the effects of their words.
        """
        shares = (self.answers - self.predictions) ** 2 / self.parts.sum(axis=1)
        return float(np.sqrt(np.mean(shares)))
