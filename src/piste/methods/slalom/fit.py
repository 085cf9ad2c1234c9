"""A fitted SLALOM and what follows from it: predictions, scores and their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray, Ragged
from piste.methods.sampling import counted
from piste.result.explanation import FitReport
from piste.result.formula import Formula
from piste.surrogates.slalom.lengths import LengthScale
from piste.surrogates.slalom.local import LocalEffects
from piste.surrogates.slalom.model import SlalomModel, lin, slalom_scores
from piste.surrogates.slalom.posterior import Posterior, score_errors
from piste.text.players import Players


@dataclass(frozen=True)
class Fit:
    """SLALOM with its level and scale by length, as fitted to one text's answers."""

    players: Players
    model: SlalomModel
    report: FitReport
    posterior: Posterior | None
    lengths: LengthScale
    others: tuple[str, ...] = ()  # names of the outputs beside the target's, which is the first

    def predict(self, rows: Ragged) -> FloatArray:
        """The margins of rows of players [rows]."""
        scores = self.model.predict(counted(rows, self.players))
        return self.lengths.apply(rows.lengths, scores)[:, 0]

    def change(self, rows: Ragged) -> FloatArray:
        """How much less than the whole text these rows score [rows]."""
        return np.asarray(self.predict(self.players.whole)[0] - self.predict(rows))

    def frame_share(self) -> float | None:
        """The special tokens' share of the attention, for the whole text."""
        if self.model.frame is None:
            return None
        counts = counted(self.players.whole, self.players).toarray()[0]
        return self.model.attention(counts)[1]

    def so_far(self) -> dict[str, FloatArray]:
        """The scores that need no random draws: watching must not change what is found."""
        groups = self.players.groups
        return {
            "value": self.model.alone()[groups, 0],
            "importance": self.model.importances[groups],
            "lin": lin(self.model)[groups],
        }

    def scores(self, local: LocalEffects | None, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Every score of every player; those of the whole text as its length scales them."""
        raw = slalom_scores(self.model, self.players.groups, rng, others=self.others)
        found = self.scaled(raw, local)
        if local is not None:
            found["removal"] = found["removal"] + local.effects
        return found

    def errors(
        self, local: LocalEffects | None, rng: np.random.Generator, gamma: float
    ) -> dict[str, FloatArray]:
        """Standard errors of the scores; none where the fit has no posterior."""
        if self.posterior is None:
            return {}
        raw = score_errors(self.posterior, self.players.groups, rng, gamma, self.others)
        found = self.scaled(raw, local)
        if local is not None:
            found["removal"] = np.hypot(found["removal"], local.errors)
        return found

    def scaled(
        self, found: dict[str, FloatArray], local: LocalEffects | None = None
    ) -> dict[str, FloatArray]:
        """Removals and Shapley values happen to the whole text; the others are those of words."""
        scale = float(self.lengths.at(self.players.whole.lengths)[1][0, 0])
        calibrated = scale * (1.0 if local is None else local.scale)
        whole = {"removal": calibrated * found["removal"], "shapley": scale * found["shapley"]}
        return found | whole

    def formula(self, local: LocalEffects | None) -> Formula:
        """The fit by itself, for predictions without the model."""
        groups, frame = self.players.groups, self.model.frame
        return Formula(
            values=self.model.values[groups, 0],
            importances=self.model.importances[groups],
            frame=None if frame is None else (float(frame.value[0]), frame.importance),
            lengths=np.exp(self.lengths.knots),
            level=self.lengths.level[:, 0],
            scale=self.lengths.scale,
            removal_scale=1.0 if local is None else local.scale,
            removal_effects=None if local is None else local.effects,
        )


def removed(rows: Ragged, count: int) -> FloatArray:
    """1 where a player is missing from the row [rows, players]."""
    missing = np.ones((len(rows), count))
    missing[np.repeat(np.arange(len(rows)), rows.lengths), rows.values] = 0.0
    return missing
