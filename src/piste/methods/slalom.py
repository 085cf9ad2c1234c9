"""SLALOM: two scores a word, fitted to the model's log-odds of sequences made of its words."""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from piste.design import deletions, mixed_sizes, short, singles, subsets
from piste.errors import SettingError
from piste.explanation import Fidelity, FitReport, FloatArray, Target
from piste.methods.base import Attribution, agreement, ask
from piste.models.query import Query
from piste.ragged import Ragged
from piste.surrogates.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom import SlalomModel, count_matrix, slalom_scores
from piste.text.players import Players

LEAST_SHORT = 180  # short sequences asked of even the shortest text
LEAST_BUDGET = 10  # below this there is nothing to fit


@dataclass(frozen=True)
class Slalom:
    """Value and importance of every player: the surrogate made for transformers.

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

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        sizes = self._sizes(players, query.left)
        query.plan(sum(sizes.values()))
        rows = self._design(players, sizes, rng)
        answers = ask(query, players, rows, target)
        started = time.perf_counter()
        model, report = self._fit(players, rows, answers, int(rng.integers(2**31)))
        scores = slalom_scores(model, players.groups, rng)
        seconds = time.perf_counter() - started
        counts = count_matrix(players.whole, players.groups, len(players.first))
        return Attribution(
            scores=scores,
            primary="lin",
            fidelity=self._check(query, players, target, model, rows, sizes, rng),
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

    def _design(self, players: Players, sizes: dict[str, int], rng: np.random.Generator) -> Ragged:
        distinct = len(players.first)
        sizes_of_subsets = mixed_sizes(rng, sizes["subsets"], len(players))
        alone = rng.permutation(distinct)[: sizes["singles"]]
        return Ragged.concat(
            [
                _of_groups(singles(distinct).take(np.sort(alone)), players),
                _of_groups(short(rng, distinct, sizes["short"], self.length), players),
                subsets(rng, sizes_of_subsets, len(players)),
                deletions(rng, len(players), sizes["deletions"], 1, min(5, len(players) - 1)),
            ]
        )

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

    def _check(
        self,
        query: Query,
        players: Players,
        target: Target,
        model: SlalomModel,
        fitted: Ragged,
        sizes: dict[str, int],
        rng: np.random.Generator,
    ) -> Fidelity | None:
        """Agreement with the model on fresh sequences, by kind."""
        distinct, most = len(players.first), max(1, len(players) // 2)
        fresh = {
            "short": _of_groups(short(rng, distinct, sizes["fresh short"], self.length), players),
            "deletions": deletions(rng, len(players), sizes["fresh deletions"], 1, most),
        }
        checks, seen = {}, Ragged.concat([fitted, players.whole])
        for kind, candidates in fresh.items():
            rows = _unseen(candidates, seen)
            seen = Ragged.concat([seen, rows])
            if len(rows) > 1:
                counts = count_matrix(rows, players.groups, distinct)
                true = ask(query, players, rows, target)
                checks[kind] = agreement(model.predict(counts)[:, 0], true)
        return Fidelity(checks) if checks else None


def _of_groups(rows: Ragged, players: Players) -> Ragged:
    """Rows of groups as rows of players: each group by its first player."""
    return Ragged(players.first[rows.values], rows.starts)


def _unseen(candidates: Ragged, seen: Ragged) -> Ragged:
    """The distinct candidates that are not among the seen rows."""
    keys = {seen.row(index).tobytes() for index in range(len(seen))}
    fresh = []
    for index in range(len(candidates)):
        key = candidates.row(index).tobytes()
        if key not in keys:
            keys.add(key)
            fresh.append(index)
    return candidates.take(np.array(fresh, dtype=np.int64))


def _notes(model: SlalomModel, answers: FloatArray) -> tuple[str, ...]:
    notes = []
    spread = float(np.ptp(answers)) if len(answers) else 0.0
    if len(model.importances) == 1:
        notes.append("There is only one distinct word: its importance has nothing to compare with.")
    elif spread <= 1e-9 * max(1.0, float(np.abs(answers).max())):
        notes.append("The model gives the same answer whatever the words: importances are unknown.")
    return tuple(notes)
