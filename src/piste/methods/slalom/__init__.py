"""SLALOM: two scores a word, fitted to the model's log-odds of sequences made of its words."""

from __future__ import annotations

import logging
import time
from dataclasses import InitVar, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import FloatArray, Ragged
from piste.decision import Decision
from piste.design import apart, check_shares, deletions, portions, short, singles
from piste.errors import SettingError, choices
from piste.lexicon import Lexicon
from piste.methods.base import MORE_BUDGET, TOO_FEW, Attribution, Method, agreement
from piste.methods.every_class import Classes, left_out
from piste.methods.sampling import ROUND, Rounds, Samples, check_size, set_apart, within
from piste.methods.slalom.fit import Fit, Standing
from piste.models.query import Query
from piste.options import whole_number
from piste.result.facts import Fidelity, Stopped
from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom.model import LengthScale
from piste.surrogates.slalom.posterior import Prior
from piste.text.players import Players

log = logging.getLogger(__name__)

LEAST_SHORT = 180  # short sequences asked of even the shortest text
NEWS = 0.7  # of the drawn sequences; where fewer are new, few are left to ask
SETTLED = 1e-7  # a smaller gain of the loss, relative to it, ends a fit: rounding then hardly shows
PATIENCE = 10  # times the usual number of sequences, for a tolerance without a budget
FITS = ("gauss-newton", "sgd")
CLASSES = ("one-vs-rest", "shared")
UNIDENTIFIED = 0.6  # of the prior's width: an error above it says that little was learnt


@dataclass(frozen=True)
class Slalom(Method):
    """Value and importance of every word, fitted to the model's answers: made for transformers.

    1. Ask the model for every distinct player alone, for short random sequences of players and
       for random subsets of the text (a mix of lengths, so that the fit holds across them).
    2. Fit SLALOM to the log-odds; the special tokens around a text are one player more.
    3. Ask more where the scores are least certain, and fit again, until the strongest are
       within the tolerance or the budget ends.
    4. Check it on sequences of its own that the fit has not seen.
    """

    name: ClassVar[str] = "slalom"

    length: int = 3  # of the short sequences
    samples: int | None = None  # short sequences; None: three for each distinct player, in rounds
    singles: bool = True
    subsets: int = 40  # random subsets of the text: a fifth and a half of it
    deletions: int = 0  # the text without 1 to 5 of its players (slow; the paper's SLALOM-fidel)
    adaptive: bool = True  # later rounds ask what the fit is least sure of; else at random
    frame: bool = True  # special tokens as one always-present player
    by_length: bool = True  # a level and a scale of the scores for long sequences
    gamma: float = 0.0  # the importances' sum
    fit: Literal["gauss-newton", "sgd"] = "gauss-newton"
    # shared: all classes at once, one importance and a value for each class a word (they sum to 0)
    classes: Literal["one-vs-rest", "shared"] = "one-vs-rest"
    focus: InitVar[str | None] = None  # of version 0.1

    def __post_init__(self, focus: str | None) -> None:
        if focus is not None:
            raise SettingError(
                f"Slalom has no focus={focus!r} any more.",
                'Use method="context", the default, which predicts removals; for focus="tokens"'
                " leave it out.",
            )
        if self.fit not in FITS:
            raise choices("fit", self.fit, FITS)
        if self.classes not in CLASSES:
            raise choices("way to treat classes", self.classes, CLASSES)
        for name, least in (("length", 1), ("samples", 0), ("subsets", 0), ("deletions", 0)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least)
        if not (self.singles or self.samples != 0 or self.subsets or self.deletions):
            raise SettingError("There is nothing to fit.", "Ask for sequences of some kind.")
        if not abs(self.gamma) <= 100:
            raise SettingError(f"gamma is {self.gamma!r}.", "Give a number from -100 to 100.")

    def for_every_class(self) -> Slalom:
        return replace(self, classes="shared")

    def with_lexicon(self, lexicon: Lexicon, refine: int | None) -> Method:
        if self != Slalom():
            raise SettingError(
                "A lexicon replaces Slalom's own settings.",
                'Leave them out (method="slalom"), or explain without a lexicon.',
            )
        from piste.methods.slalom.from_lexicon import (
            FromLexicon,  # which fits with this file's parts
        )

        return FromLexicon(lexicon, refine)

    @classmethod
    def paper(cls, variant: Literal["eff", "fidel"] = "eff") -> Slalom:
        """The settings of the paper: no frame player, one kind of sequence, no rounds.

        "eff": 5,000 sequences of three tokens, fitted by SGD. "fidel": 1,000 copies of the text
        without one to five of its tokens (fitted by Gauss-Newton; the paper alternates least
        squares).
        """
        if variant not in ("eff", "fidel"):
            raise choices("variant", variant, ("eff", "fidel"))
        plain = cls(singles=False, subsets=0, frame=False, by_length=False, samples=0, deletions=1)
        if variant == "fidel":
            return replace(plain, deletions=1000)
        return replace(plain, samples=5000, deletions=0, fit="sgd")

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        started, asking = time.perf_counter(), query.away
        check_size(players)
        sizes = self._sizes(players, query)
        query.plan(sum(sizes.values()))
        first, checks = self._first_round(players, sizes, rng)
        limit = _limit(sizes, checks, query)
        samples = self._samples(decision)
        samples.ask(first)
        fit, stopped = self._until_stable(samples, self._rounds(players, sizes), limit, checks, rng)
        errors = fit.errors(rng, self.gamma)
        return Attribution(
            primary="lin",
            scores=fit.scores(rng),
            errors=errors,
            fidelity=_checked(samples, fit, checks),
            fit=fit.report,
            fit_seconds=time.perf_counter() - started - (query.away - asking),
            stopped=stopped,
            surrogate_score=float(fit.predict(players.whole)[0]),
            frame_share=fit.frame_share(),
            formula=fit.formula(),
            target=samples.target,
            notes=(*_notes(samples), *_unidentified(errors, players)),
        )

    def _samples(self, decision: Decision) -> Samples:
        if self.classes == "one-vs-rest":
            return Samples(decision)
        whole = decision.logits(decision.players.whole)[0]
        return Samples(decision, Classes.of(decision.query.classifier, whole, decision.target))

    def _sizes(self, players: Players, query: Query) -> dict[str, int]:
        """How many sequences of each kind, scaled down together when the budget is short."""
        distinct, several = len(players.first), len(players) > 1
        samples = max(3 * distinct, LEAST_SHORT) if self.samples is None else self.samples
        sizes = {
            "singles": distinct if self.singles else 0,
            "short": samples if distinct > 1 else 0,
            "subsets": self.subsets if several else 0,
            "deletions": self.deletions if several else 0,
            "fresh short": max(distinct // 2, 20) if distinct > 1 else 0,
            "fresh deletions": 8 if several else 0,
        }
        return within(sizes, query.left)

    def _first_round(
        self, players: Players, sizes: dict[str, int], rng: np.random.Generator
    ) -> tuple[Ragged, dict[str, Ragged]]:
        """The first sequences to fit, and fresh ones by kind to check the fit with."""
        distinct, count = len(players.first), len(players)
        alone = np.sort(rng.permutation(distinct)[: sizes["singles"]])
        share = ROUND if self._in_rounds else 1.0
        if not any(sizes[kind] for kind in ("singles", "short", "subsets", "deletions")):
            alone = np.arange(distinct)  # a single word has no other sequences
        fitted = [
            players.of_groups(singles(distinct).take(alone)),
            self._rounds(players, sizes).draw(rng, share),
            deletions(rng, count, sizes["deletions"], 1, min(5, count - 1)),
        ]
        fresh = {
            "short": players.of_groups(short(rng, distinct, sizes["fresh short"], self.length)),
            "deletions": portions(rng, check_shares(sizes["fresh deletions"]), players.ids.lengths),
        }
        fresh = {kind: players.complete(rows, rng) for kind, rows in fresh.items()}
        return set_apart(players.complete(Ragged.concat(fitted), rng), fresh, players, rng)

    @property
    def _in_rounds(self) -> bool:
        """A number of samples, or a fit that knows no errors, leaves nothing to decide."""
        return self.samples is None and self.fit == "gauss-newton"

    def _rounds(self, players: Players, sizes: dict[str, int]) -> Rounds:
        return Rounds(players, self.length, sizes["short"], sizes["subsets"])

    def _until_stable(
        self,
        samples: Samples,
        rounds: Rounds,
        limit: int,
        checks: dict[str, Ragged],
        rng: np.random.Generator,
    ) -> tuple[Fit, Stopped | None]:
        """Fit, and ask more where the scores are least certain, until that is enough."""
        fit = self._fit(samples, None, rng)
        if fit.posterior is None or not self._in_rounds or len(samples.players.first) == 1:
            return fit, None
        held = Ragged.concat(list(checks.values()))
        for count in range(1, 10**6):
            left = limit - len(samples.rows)
            draws = [drawn.normalised(self.gamma) for drawn in fit.posterior.draws(rng)]
            standing = Standing.of(fit.model, draws)
            stopped = standing.stopped(samples.query.tolerance, count, left > 0)
            log.debug(
                "Round %d: %d sequences, the strongest scores within %.0f %%.",
                count,
                len(samples.rows),
                100 * stopped.spread,
            )
            if stopped.reason != "unstable":
                break
            odds = standing.odds() if self.adaptive else None
            more = rounds.next(rng, odds, len(samples.rows), left)
            if not samples.ask(apart(more, held, samples.players.groups)):
                # A whole round without news: all was asked. A few last rows prove nothing.
                reason = "exhausted" if len(more) < left else "budget"
                stopped = replace(stopped, reason=reason)
                break
            fit = self._fit(samples, fit, rng)
        said = samples.query.budget is not None or samples.query.tolerance is not None
        if said and stopped.reason == "budget" and len(samples.known) < NEWS * len(samples.rows):
            stopped = replace(stopped, reason="exhausted")  # what was drawn had been asked before
        return fit, stopped

    def _fit(self, samples: Samples, before: Fit | None, rng: np.random.Generator) -> Fit:
        """Fit all answers so far, going on from the fit before."""
        frame = self.frame and samples.players.frame.size > 0
        longest, outputs = len(samples.players) if self.by_length else 0, samples.answers.shape[1]
        lengths = LengthScale.plain(self.length, longest, outputs)
        if before is not None:
            lengths = before.lengths
        scores, weights = lengths.undo(samples.lengths, samples.answers)
        counts, posterior = samples.counts, None
        if self.fit == "sgd":
            from piste.surrogates.slalom.sgd import (
                fit_sgd,  # torch, only for the paper's experiments
            )

            seed = int(rng.integers(2**31))
            model, report = fit_sgd(counts, scores, frame=frame, seed=seed)
        else:
            start = before.posterior if before is not None else None
            model, report, posterior = fit_gauss_newton(
                counts, scores, frame=frame, weights=weights, start=start, tolerance=SETTLED
            )
        lengths = lengths.refitted(samples.lengths, model.predict(counts), samples.answers)
        others = () if samples.classes is None else samples.classes.others
        normalised = model.normalised(self.gamma)
        fitted = Fit(samples.players, normalised, report, posterior, lengths, others)
        if samples.query.rounds is not None:
            samples.query.rounds(fitted.so_far())
        return fitted


def _limit(sizes: dict[str, int], checks: dict[str, Ragged], query: Query) -> int:
    """How many rows the fit may have in all; the budget is counted before the first is asked."""
    if query.budget is not None:  # less one for the whole text, asked here or known before
        return query.budget - 1 - sum(len(rows) for rows in checks.values())
    fitted = sum(sizes[kind] for kind in ("singles", "short", "subsets", "deletions"))
    return fitted if query.tolerance is None else PATIENCE * fitted


def _checked(samples: Samples, fit: Fit, checks: dict[str, Ragged]) -> Fidelity | None:
    """Agreement with the model on sequences the fit has not seen, by kind."""
    typical = float(np.std(samples.margins))
    agreements = {
        kind: agreement(fit.predict(rows), samples.answered(rows)[:, 0], typical)
        for kind, rows in checks.items()
    }
    return Fidelity(agreements) if agreements else None


def _notes(samples: Samples) -> list[str]:
    distinct, answers = len(samples.players.first), samples.answers
    unasked = distinct - len(np.unique(samples.players.groups[samples.rows.values]))
    if distinct == 1:
        return ["The model sees only one distinct word, so there is nothing to compare it with."]
    notes = [] if samples.classes is None else list(left_out(samples.target))
    if len(samples.known) == 1:  # a pair of one word each
        return ["Only one sequence leaves neither text empty, so there is nothing to compare."]
    if float(np.ptp(answers, axis=0).max()) <= 1e-9 * max(1.0, float(np.abs(answers).max())):
        notes.append(
            "The model gives the same answer to any of these words: importances are unknown."
        )
    if unasked:
        notes.append(
            f"The budget ran out before {unasked:,} of {distinct:,} distinct words were asked"
            f" about: their scores are averages. {MORE_BUDGET}"
        )
    elif len(answers) < 2 * distinct:
        notes.append(TOO_FEW)
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
        f"The importance of {len(words):,} of {len(wide):,} distinct {players.unit}s could not"
        f" be estimated: {named}."
    ]
