"""The model as a cooperative game: players are kept, or deleted or replaced."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
from piste.design import check_shares, portions, unseen
from piste.errors import SettingError, choices
from piste.methods.base import agreement
from piste.models.query import Query
from piste.result.facts import Fidelity
from piste.text.players import Players

REMOVALS = ("delete", "unk", "mask", "pad")
CHECKED = 8  # fresh shortened copies of the text


def check_removal(removal: str) -> None:
    """Raise an error unless `removal` is one of `REMOVALS`."""
    if removal not in REMOVALS:
        raise choices("removal", removal, REMOVALS)


@dataclass(frozen=True)
class Game:
    """The model as a function of coalitions: the margin of the text with only those players.

    Absent players are deleted, or their tokens are replaced in place by a token of the tokenizer.
    """

    decision: Decision
    removal: str = "delete"

    @property
    def players(self) -> Players:
        return self.decision.players

    @property
    def query(self) -> Query:
        return self.decision.query

    def play(self, keep: BoolArray) -> FloatArray:
        """Margins of coalitions [rows, players]."""
        return self._answers(keep, self.decision.target_scores)

    def decides(self, keep: BoolArray) -> BoolArray:
        """Whether the model decides for the target [rows]; an empty text decides nothing."""
        if self.query.classifier.outputs == "raw":
            raise SettingError(
                "This model gives a number, not a decision that words could keep.",
                "Use slalom, lime or occlusion.",
            )

        return self._answers(keep, lambda logits: self.decision.decides(logits).astype(float)) > 0

    def _answers(self, keep: BoolArray, read: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """What is read from the model's outputs for each coalition; 0 where there is no text."""
        answers = np.zeros(len(keep))
        known = keep.any(axis=1) | self.says_something_empty
        answers[known] = read(self.query.logits(self._rows(keep[known])))
        return answers

    @property
    def says_something_empty(self) -> bool:
        """Whether the empty coalition can be scored; else it counts as undecided, 0."""
        return self.removal != "delete" or self.query.reads_nothing

    def _rows(self, keep: BoolArray) -> Ragged:
        if self.removal == "delete":
            return self.players.tokens(Ragged.masked(keep))
        return self.players.replaced(keep, self._replacement())

    def _replacement(self) -> int:
        token = self.query.token_id(self.removal)
        if token is None:
            raise SettingError(
                f"This classifier has no {self.removal!r} token to put in a word's place.",
                'Use removal="delete".',
            )
        return token

    def checked(
        self,
        predict: Callable[[BoolArray], FloatArray],
        rng: np.random.Generator,
        seen: Ragged | None = None,
    ) -> Fidelity | None:
        """Agreement of predictions with the model on shortened copies of the text.

        They differ from each other and from what the fit has `seen`; None where there are no two.
        Without `seen` all copies were asked, and they are called so.
        """
        most = min(CHECKED, CHECKED if self.query.left is None else self.query.left)
        drawn = portions(rng, check_shares(3 * CHECKED), self.players.ids.lengths)
        drawn = self.players.complete(drawn, rng)
        known = Ragged.of([]) if seen is None else seen
        fresh = unseen(drawn, Ragged.concat([known, self.players.whole]), self.players.groups)
        rows = fresh.take(np.sort(rng.permutation(len(fresh))[:most]))
        if len(self.players) < 2 or len(rows) < 2:
            return None
        keep = np.zeros((len(rows), len(self.players)), dtype=bool)
        keep[np.repeat(np.arange(len(rows)), rows.lengths), rows.values] = True
        kind = "known" if seen is None else "deletions"
        return Fidelity({kind: agreement(predict(keep), self.play(keep))})


def affordable(query: Query, wanted: int, kept_back: int = CHECKED, least: int = 2) -> int:
    """How many sequences of those wanted the budget allows, with some kept back for the check."""
    if query.left is None:
        return wanted
    if query.left - kept_back < least:
        raise SettingError(
            f"A budget of {query.budget} sequences is too small for this method.",
            f"Give at least {query.forwards + least + kept_back}; a few hundred are usual.",
        )
    return min(wanted, query.left - kept_back)
