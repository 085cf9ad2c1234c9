"""One text in front of one model, for experiments that question the model themselves."""

from __future__ import annotations

from papers.arrays import FloatArray
from piste.compare import on_trial
from piste.methods import ask
from piste.metrics import Extremes, deletion, extremes, insertion
from piste.models import Classifier
from piste.ragged import Ragged


class Decision:
    """A text's players, the explained target, and the model's answers to parts of the text.

    No sequence is sent to the model twice.
    """

    def __init__(
        self,
        text: str,
        classifier: Classifier,
        target: int | None = None,
        unit: str = "word",
        repeats: str = "shared",
    ) -> None:
        self.query, self.players, self.target = on_trial(text, classifier, target, unit, repeats)

    def margins(self, rows: Ragged) -> FloatArray:
        """The target's log-odds of each row of players [rows]."""
        return ask(self.query, self.players, rows, self.target)

    def deletion(self, scores: FloatArray, steps: int) -> float | None:
        """Mean fall of the probability as the highest-scored players go first."""
        return deletion(self.query, self.players, self.target, scores, steps)

    def insertion(self, scores: FloatArray, steps: int) -> float | None:
        """Mean of what is missing with only the highest-scored players."""
        return insertion(self.query, self.players, self.target, scores, steps)

    def extremes(self, steps: int) -> Extremes | None:
        """The deletion figures of the worst and of the best order that a search finds."""
        return extremes(self.query, self.players, self.target, steps)
