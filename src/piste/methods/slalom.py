"""SLALOM: two scores a word, fitted to the model's log-odds of sequences made of its words."""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from piste.design import deletions, keep_back, mixed_sizes, short, singles, subsets, unseen
from piste.errors import SettingError, choices
from piste.explanation import Fidelity, FitReport, FloatArray, Target
from piste.methods.base import Attribution, agreement, ask
from piste.models.query import Query
from piste.ragged import Ragged
from piste.surrogates.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom import SlalomModel, count_matrix, slalom_scores
from piste.text.players import Players

LEAST_SHORT = 180  # short sequences asked of even the shortest text
LEAST_BUDGET = 10  # below this there is nothing to fit
LEAST_CHECKED = 5  # fresh sequences; where there are fewer, some are kept from the fit
FITS = ("gauss-newton", "sgd")


@dataclass(frozen=True)
class Slalom:
    """Value and importance of every word, fitted to the model's answers: made for transformers.

    1. Ask the model for every distinct player alone, for short random sequences of players and
       for random subsets of the text (a mix of lengths, so that the fit holds across them).
    2. Fit SLALOM to the log-odds; the special tokens around a text are one player more.
    3. Check it on sequences of its own that the fit has not seen.
    """

    length: int = 3  # of the short sequences
    samples: int | None = None  # short sequences; None: three for each distinct player
    singles: bool = True
    subsets: int = 40  # random subsets of the text, from a few players to nearly all
    deletions: int = 0  # the text without 1 to 5 of its players (slow; the paper's SLALOM-fidel)
    frame: bool = True  # special tokens as one always-present player
    gamma: float = 0.0  # the importances' sum
    fit: Literal["gauss-newton", "sgd"] = "gauss-newton"

    def __post_init__(self) -> None:
        if self.fit not in FITS:
            raise choices("fit", self.fit, FITS)
        for name, least in (("length", 1), ("samples", 0), ("subsets", 0), ("deletions", 0)):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or number < least):
                raise SettingError(f"{name} is {number!r}.", f"Give a whole number from {least}.")

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        sizes = self._sizes(players, query.left)
        query.plan(sum(sizes.values()))
        rows, checks = self._design(players, sizes, rng)
        answers = ask(query, players, rows, target)
        started = time.perf_counter()
        model, report = self._fit(players, rows, answers, int(rng.integers(2**31)))
        scores = slalom_scores(model, players.groups, rng)
        seconds = time.perf_counter() - started
        counts = count_matrix(players.whole, players.groups, len(players.first))
        return Attribution(
            scores=scores,
            primary="lin",
            fidelity=_checked(query, players, target, model, checks, float(np.std(answers))),
            fit=report,
            fit_seconds=seconds,
            surrogate_score=float(model.predict(counts)[0, 0]),
            frame_share=model.attention(counts.toarray()[0])[1] if model.frame else None,
            notes=_notes(model, answers),
        )

    def _sizes(self, players: Players, left: int | None) -> dict[str, int]:
        """How many sequences of each kind, scaled down together when the budget is short."""
        distinct, single = len(players.first), len(players) == 1
        sizes = {
            "singles": distinct if self.singles else 0,
            "short": max(3 * distinct, LEAST_SHORT) if self.samples is None else self.samples,
            "subsets": 0 if single else self.subsets,
            "deletions": 0 if single else self.deletions,
            "fresh short": max(distinct // 2, 20),
            "fresh deletions": 0 if single else 8,
        }
        total = sum(sizes.values())
        if left is None or total <= left:
            return sizes
        if left < LEAST_BUDGET:
            raise SettingError(
                "The budget is too small to fit anything.", f"Give at least {LEAST_BUDGET + 1}."
            )
        return {kind: size * left // total for kind, size in sizes.items()}

    def _design(
        self, players: Players, sizes: dict[str, int], rng: np.random.Generator
    ) -> tuple[Ragged, dict[str, Ragged]]:
        """The sequences to fit, and fresh ones by kind to check the fit with."""
        distinct, count = len(players.first), len(players)
        alone = np.sort(rng.permutation(distinct)[: sizes["singles"]])
        fitted = [
            _of_groups(singles(distinct).take(alone), players),
            _of_groups(short(rng, distinct, sizes["short"], self.length), players),
            subsets(rng, mixed_sizes(rng, sizes["subsets"], count), count),
            deletions(rng, count, sizes["deletions"], 1, min(5, count - 1)),
        ]
        fresh = {
            "short": _of_groups(short(rng, distinct, sizes["fresh short"], self.length), players),
            "deletions": deletions(rng, count, sizes["fresh deletions"], 1, max(1, count // 2)),
        }
        return _apart(Ragged.concat(fitted), fresh, players.whole, rng)

    def _fit(
        self, players: Players, rows: Ragged, answers: FloatArray, seed: int
    ) -> tuple[SlalomModel, FitReport]:
        counts = count_matrix(rows, players.groups, len(players.first))
        frame = self.frame and players.frame.size > 0
        if self.fit == "sgd":
            from piste.surrogates.sgd import fit_sgd  # torch, only for the paper's experiments

            model, report = fit_sgd(counts, answers[:, None], frame=frame, seed=seed)
        else:
            model, report = fit_gauss_newton(counts, answers[:, None], frame=frame)
        return model.normalised(self.gamma), report


def _checked(
    query: Query,
    players: Players,
    target: Target,
    model: SlalomModel,
    checks: dict[str, Ragged],
    typical: float,
) -> Fidelity | None:
    """Agreement with the model on sequences the fit has not seen, by kind."""
    found = {}
    for kind, rows in checks.items():
        predicted = model.predict(count_matrix(rows, players.groups, len(players.first)))[:, 0]
        found[kind] = agreement(predicted, ask(query, players, rows, target), typical)
    return Fidelity(found) if found else None


def _of_groups(rows: Ragged, players: Players) -> Ragged:
    """Rows of groups as rows of players: each group by its first player."""
    return Ragged(players.first[rows.values], rows.starts)


def _apart(
    fitted: Ragged, fresh: dict[str, Ragged], whole: Ragged, rng: np.random.Generator
) -> tuple[Ragged, dict[str, Ragged]]:
    """Fitted rows and checks without a row in common; kinds with less than two rows are left out.

    A text of a few words has so few sequences that the fit would take them all: then some of its
    own are kept back for the check.
    """
    checks, seen = {}, Ragged.concat([fitted, whole])
    for kind, candidates in fresh.items():
        checks[kind] = unseen(candidates, seen)
        seen = Ragged.concat([seen, checks[kind]])
    if sum(map(len, checks.values())) < LEAST_CHECKED:
        fitted, checks["short"] = keep_back(fitted, rng)
    return fitted, {kind: rows for kind, rows in checks.items() if len(rows) > 1}


def _notes(model: SlalomModel, answers: FloatArray) -> tuple[str, ...]:
    notes = []
    spread = float(np.ptp(answers)) if len(answers) else 0.0
    if len(model.importances) == 1:
        notes.append("There is only one distinct word: its importance has nothing to compare with.")
    elif spread <= 1e-9 * max(1.0, float(np.abs(answers).max())):
        notes.append("The model gives the same answer whatever the words: importances are unknown.")
    return tuple(notes)
