"""LIME for text, as "Attention Meets Post-hoc Interpretability" defines it (arXiv 2402.03485)."""

import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray, Ragged
from piste.decision import Decision
from piste.errors import SettingError, percent
from piste.methods.base import Attribution, Method
from piste.methods.game import Game, affordable, check_removal
from piste.options import whole_number
from piste.surrogates.linear import Linear, fit_linear
from piste.text.players import Players

HELD_BACK = 0.2  # by the ridge: worth a word


@dataclass(frozen=True)
class Lime(Method):
    """One weight a word, by weighted ridge regression on random deletions (LIME).

    1. Remove a random number of distinct words (uniform from 1 to all), chosen at random, every
       occurrence; the first sample is the text itself.
    2. Weigh each sample by exp(-distance^2 / (2 width^2)), with the cosine distance between the
       text and what is left of it: 1 - sqrt(share of the distinct words kept).
    3. Fit the log-odds by ridge regression on which words are there.
    """

    name: ClassVar[str] = "lime"

    samples: int = 1000
    width: float = 0.25  # lime's own: 25, on distances times 100
    ridge: float = 1.0
    removal: Literal["delete", "unk", "mask", "pad"] = "delete"

    def __post_init__(self) -> None:
        whole_number("samples", self.samples, 2)
        check_removal(self.removal)
        if not (self.width > 0 and self.ridge >= 0):
            raise SettingError(
                f"width is {self.width!r} and ridge is {self.ridge!r}.",
                "Give width > 0 and ridge >= 0.",
            )

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        samples = affordable(query, self.samples)
        query.plan(samples)
        game = Game(decision, self.removal)
        kept = lime_samples(rng, len(players.first), samples)
        answers = game.play(kept[:, players.groups])
        started = time.perf_counter()
        fit = fit_linear(kept.astype(np.float64), answers, self.weights(kept), self.ridge)
        seconds = time.perf_counter() - started
        occurrences = np.bincount(players.groups).astype(np.int64)

        def predict(keep: BoolArray) -> FloatArray:
            shares = keep @ (fit.weights / occurrences)[players.groups]
            return np.asarray(fit.intercept + shares)

        return Attribution(
            primary="weight",
            scores=_scores(fit.weights, players, occurrences),
            errors=_scores(fit.errors, players, occurrences) if fit.determined else {},
            fidelity=game.checked(predict, rng, Ragged.masked(kept[:, players.groups])),
            fit_seconds=seconds,
            surrogate_score=fit.intercept + float(fit.weights.sum()),
            notes=_notes(fit),
        )

    def weights(self, kept: BoolArray) -> FloatArray:
        """The samples' weights [rows] by what they keep [rows, distinct players]."""
        distance = 1 - np.sqrt(kept.mean(axis=1))
        return np.asarray(np.exp(-(distance**2) / (2 * self.width**2)))


NEAR = "Too few samples are near the text"


def _notes(fit: Linear) -> tuple[str, ...]:
    notes = []
    if not fit.determined:
        notes.append(f"{NEAR}; use more samples or a larger width.")
    if fit.held_back > HELD_BACK:
        notes.append(
            f"The ridge penalty shrinks the weights by about {percent(fit.held_back)}, because few"
            " samples are near the text; use a smaller ridge, more samples or a larger width."
        )
    return tuple(notes)


def lime_samples(rng: np.random.Generator, distinct: int, samples: int) -> BoolArray:
    """Which distinct players each sample keeps; the first keeps all."""
    removed = rng.integers(1, distinct + 1, size=samples)
    removed[0] = 0
    ranks = rng.random((samples, distinct)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks >= removed[:, None])


def _scores(weights: FloatArray, players: Players, occurrences: IntArray) -> dict[str, FloatArray]:
    """The weight of each word, and the share of one of its occurrences."""
    shared = weights[players.groups]
    return {"weight": shared, "removal": shared / occurrences[players.groups]}
