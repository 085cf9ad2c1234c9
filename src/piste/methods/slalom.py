"""SLALOM: two scores a word, fitted to the model's log-odds of sequences made of its words."""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from piste.design import deletions, keep_back, mixed_sizes, short, singles, subsets, unseen
from piste.errors import InputError, SettingError, choices, whole_number
from piste.explanation import Fidelity, FitReport, FloatArray, Target
from piste.methods.base import Attribution, agreement, ask
from piste.models.query import Query
from piste.ragged import IntArray, Ragged
from piste.surrogates.gauss_newton import Prior, fit_gauss_newton
from piste.surrogates.posterior import Posterior, score_errors
from piste.surrogates.slalom import SlalomModel, count_matrix, slalom_scores
from piste.text.players import Players

LEAST_SHORT = 180  # short sequences asked of even the shortest text
LEAST_BUDGET = 10  # below this there is nothing to fit
MOST_PLAYERS = 2000  # the fit's matrices have that many rows and columns
LEAST_CHECKED = 5  # fresh short sequences; where there are fewer, some are kept from the fit
FITS = ("gauss-newton", "sgd")
UNIDENTIFIED = 0.6  # of the prior's width: an error above it says that little was learnt


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
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least)
        if not (self.singles or self.samples != 0 or self.subsets or self.deletions):
            raise SettingError("There is nothing to fit.", "Ask for sequences of some kind.")
        if not abs(self.gamma) <= 100:
            raise SettingError(f"gamma is {self.gamma!r}.", "Give a number from -100 to 100.")

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        sizes = self._sizes(players, query.left)
        query.plan(sum(sizes.values()))
        rows, checks = self._design(players, sizes, rng)
        answers = ask(query, players, rows, target)
        started = time.perf_counter()
        model, report, posterior = self._fit(players, rows, answers, int(rng.integers(2**31)))
        scores = slalom_scores(model, players.groups, rng)
        errors = score_errors(posterior, players.groups, rng, self.gamma) if posterior else {}
        seconds = time.perf_counter() - started
        counts = count_matrix(players.whole, players.groups, len(players.first))
        return Attribution(
            scores=scores,
            primary="lin",
            errors=errors,
            fidelity=_checked(query, players, target, model, checks, float(np.std(answers))),
            fit=report,
            fit_seconds=seconds,
            surrogate_score=float(model.predict(counts)[0, 0]),
            frame_share=model.attention(counts.toarray()[0])[1] if model.frame else None,
            notes=(*_notes(model, answers, rows, players.groups), *_unidentified(errors, players)),
        )

    def _sizes(self, players: Players, left: int | None) -> dict[str, int]:
        """How many sequences of each kind, scaled down together when the budget is short."""
        distinct, several = len(players.first), len(players) > 1
        if distinct > MOST_PLAYERS:
            raise InputError(
                f"The text has {distinct:,} distinct {players.unit}s, and {MOST_PLAYERS:,} are the"
                " most that are fitted at once.",
                'Explain it by sentence (unit="sentence"), or in parts.',
            )
        samples = max(3 * distinct, LEAST_SHORT) if self.samples is None else self.samples
        sizes = {
            "singles": distinct if self.singles else 0,
            "short": samples if distinct > 1 else 0,
            "subsets": self.subsets if several else 0,
            "deletions": self.deletions if several else 0,
            "fresh short": max(distinct // 2, 20) if distinct > 1 else 0,
            "fresh deletions": 8 if several else 0,
        }
        return sizes if left is None or sum(sizes.values()) <= left else _scaled(sizes, left)

    def _design(
        self, players: Players, sizes: dict[str, int], rng: np.random.Generator
    ) -> tuple[Ragged, dict[str, Ragged]]:
        """The sequences to fit, and fresh ones by kind to check the fit with."""
        distinct, count = len(players.first), len(players)
        alone = np.sort(rng.permutation(distinct)[: sizes["singles"]])
        fitted = [
            players.of_groups(singles(distinct).take(alone)),
            players.of_groups(short(rng, distinct, sizes["short"], self.length)),
            subsets(rng, mixed_sizes(rng, sizes["subsets"], count), count),
            deletions(rng, count, sizes["deletions"], 1, min(5, count - 1)),
        ]
        fresh = {
            "short": players.of_groups(short(rng, distinct, sizes["fresh short"], self.length)),
            "deletions": deletions(rng, count, sizes["fresh deletions"], 1, max(1, count // 2)),
        }
        return _apart(Ragged.concat(fitted), fresh, players, rng)

    def _fit(
        self, players: Players, rows: Ragged, answers: FloatArray, seed: int
    ) -> tuple[SlalomModel, FitReport, Posterior | None]:
        counts = count_matrix(rows, players.groups, len(players.first))
        frame = self.frame and players.frame.size > 0
        if self.fit == "sgd":
            from piste.surrogates.sgd import fit_sgd  # torch, only for the paper's experiments

            model, report = fit_sgd(counts, answers[:, None], frame=frame, seed=seed)
            return model.normalised(self.gamma), report, None
        model, report, posterior = fit_gauss_newton(counts, answers[:, None], frame=frame)
        return model.normalised(self.gamma), report, posterior


def _scaled(sizes: dict[str, int], left: int) -> dict[str, int]:
    """Sizes within the budget: words alone come first, they are cheap and say the most."""
    if left < LEAST_BUDGET:
        raise SettingError(
            "The budget is too small to fit anything.", f"Give at least {LEAST_BUDGET + 1}."
        )
    alone = min(sizes["singles"], left // 2)
    others = {kind: size for kind, size in sizes.items() if kind != "singles"}
    total = sum(others.values())
    return {"singles": alone} | {k: n * (left - alone) // total for k, n in others.items()}


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


def _apart(
    fitted: Ragged, fresh: dict[str, Ragged], players: Players, rng: np.random.Generator
) -> tuple[Ragged, dict[str, Ragged]]:
    """Fitted rows and checks without a row in common; kinds with less than two rows are left out.

    A text of a few words has so few sequences that the fit would take them all: then some of its
    own are kept back for the check.
    """
    checks, seen = {}, Ragged.concat([fitted, players.whole])
    for kind, candidates in fresh.items():
        checks[kind] = unseen(candidates, seen, players.groups)
        seen = Ragged.concat([seen, checks[kind]])
    if len(checks["short"]) < LEAST_CHECKED:
        fitted, checks["short"] = keep_back(fitted, players.groups, rng)
    return fitted, {kind: rows for kind, rows in checks.items() if len(rows) > 1}


def _notes(model: SlalomModel, answers: FloatArray, rows: Ragged, groups: IntArray) -> list[str]:
    distinct = len(model.importances)
    unasked = distinct - len(np.unique(groups[rows.values]))
    if distinct == 1:
        return ["To the model there is only one distinct word: nothing to compare its weight with."]
    notes = []
    if float(np.ptp(answers)) <= 1e-9 * max(1.0, float(np.abs(answers).max())):
        notes.append("The model gives the same answer whatever the words: importances are unknown.")
    if unasked:
        notes.append(
            f"The budget did not reach {unasked:,} of {distinct:,} distinct words: they were never"
            " asked about, and their scores are averages."
        )
    elif len(answers) < 2 * distinct:
        notes.append("There are fewer answers than scores to fit: raise the budget.")
    return notes


def _unidentified(errors: dict[str, FloatArray], players: Players) -> list[str]:
    """Importances that the answers leave as open as the prior did."""
    if not errors or len(players.first) == 1:
        return []
    wide = errors["importance"][players.first] > UNIDENTIFIED * Prior().importance
    words = [players.items[index].text for index in players.first[wide]]
    if not words:
        return []
    named = ", ".join(repr(word) for word in words[:5]) + (" ..." if len(words) > 5 else "")
    return [
        f"The importance of {len(words):,} of {len(wide):,} distinct {players.unit}s cannot be told"
        f" from the model's answers: {named}."
    ]
