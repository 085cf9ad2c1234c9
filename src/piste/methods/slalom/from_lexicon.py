"""A text explained by a lexicon of known words, with few questions to the model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from piste.arrays import FloatArray, IntArray, Ragged
from piste.decision import Decision
from piste.design import apart, check_shares, favoured, portions, singles
from piste.errors import SettingError
from piste.lexicon import Lexicon
from piste.methods.base import Attribution, Method, agreement
from piste.methods.every_class import columns
from piste.methods.sampling import check_size, counted
from piste.methods.slalom.fit import Fit
from piste.models.fingerprint import check_lexicon
from piste.models.query import Query
from piste.options import whole_number
from piste.result.explanation import Target
from piste.result.facts import Agreement, Fidelity, FitReport
from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
from piste.surrogates.slalom.model import FramePlayer, LengthScale, SlalomModel, slalom_scores
from piste.surrogates.slalom.posterior import Known, Prior, spread
from piste.text.players import Players

REFINED = 60  # sequences for a text whose words mean something else in it
FAR = 3.0  # typical errors of the lexicon: a text that is off by more has a context that counts
PER_NEW_WORD = 3  # sequences, besides the word alone
DRAWS, STEPS = 24, 4_000  # for the errors of scores that come from the lexicon alone


@dataclass(frozen=True)
class FromLexicon(Method):
    """Value and importance of every word from a lexicon; asked again only where that is needed.

    1. Look up the words. Those that the lexicon does not know are asked about, in company.
    2. Compare what the lexicon says of the whole text with what the model says.
    3. Where they differ by more than the lexicon's texts do, ask short sequences and subsets of
       this text, and fit them with the lexicon as prior.
    """

    name: ClassVar[str] = "slalom"

    lexicon: Lexicon
    refine: int | None = None  # sequences to ask; 0: none at all; None: where it is needed

    def __post_init__(self) -> None:
        if self.refine is not None:
            whole_number("refine", self.refine, 0)

    def settings(self) -> dict[str, Any]:
        return {"lexicon": f"{len(self.lexicon):,} words", "refine": self.refine}

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        started, asking = time.perf_counter(), query.away
        check_size(players)
        check_words(self.lexicon, query, players)
        text = TextByLexicon.of(self.lexicon, decision)
        wanted = self._wanted(text)
        query.plan(wanted)
        fit, checks, report = text.known, {"text": text.gap}, None
        if wanted:
            fit, checks, report = text.refitted(rng, wanted)
        return Attribution(
            primary="lin",
            scores=fit.scores(rng),
            errors=fit.errors(rng, 0.0) if wanted else text.errors(rng),
            fidelity=Fidelity(checks),
            fit=report,
            fit_seconds=time.perf_counter() - started - (query.away - asking),
            surrogate_score=float(fit.predict(players.whole)[0]),
            frame_share=fit.frame_share(),
            formula=fit.formula(),
            target=text.target,
            notes=self._notes(text, wanted),
        )

    def _wanted(self, text: TextByLexicon) -> int:
        """How many sequences to ask."""
        if self.refine is not None or len(text.players.first) < 2:
            return self.refine or 0
        return REFINED if text.is_off else text.for_unknown

    def _notes(self, text: TextByLexicon, wanted: int) -> tuple[str, ...]:
        notes = text.unknown_note(bool(wanted))
        if not wanted and text.is_off:
            notes.append(
                "The lexicon fits this text worse than others: its words may mean something else"
                " here. Use --refine 200 to ask about this text too."
            )
        if wanted and self.refine is None and text.is_off:
            notes.append("The lexicon fitted this text worse than others, so it was refined here.")
        return tuple(notes)


def check_words(lexicon: Lexicon, query: Query, players: Players) -> None:
    """Raise where the lexicon is not of this model, or not of such texts."""
    if players.paired:
        raise SettingError(
            "A lexicon holds words of single texts, but this is a pair.", "Leave it out."
        )
    labels = query.classifier.labels
    if labels != lexicon.labels or players.unit != lexicon.unit:
        raise SettingError(
            f"The lexicon holds {lexicon.unit}s for the labels"
            f" {', '.join(lexicon.labels)[:200]}, of {lexicon.model}.",
            "Use it with the model and the unit it was built for.",
        )
    check_lexicon(lexicon, query.classifier)


@dataclass(frozen=True)
class TextByLexicon:
    """One text as the lexicon sees it."""

    lexicon: Lexicon
    decision: Decision
    target: Target  # on the lexicon's scale
    mixture: FloatArray  # [columns]: what each counts for the target
    places: IntArray  # [groups]: places in the lexicon, -1 where it has none

    @classmethod
    def of(cls, lexicon: Lexicon, decision: Decision) -> TextByLexicon:
        players, target = decision.players, decision.target
        mixture = lexicon.mixture(target.index, target.against_index)
        places = lexicon.find([players.items[index] for index in players.first])
        text = cls(lexicon, decision, target, mixture, places)
        score = float(text.answers(players.whole)[0])
        scale = lexicon.scale if target.against is None else target.scale
        return replace(text, target=replace(target, scale=scale, score=score))

    @property
    def players(self) -> Players:
        return self.decision.players

    def answers(self, rows: Ragged) -> FloatArray:
        """What the model says of rows of players [rows], on the lexicon's scale."""
        return self.of_outputs(self.decision.logits(rows))

    def of_outputs(self, logits: FloatArray) -> FloatArray:
        """The target's score [rows] in the model's outputs [rows, outputs], on that scale."""
        classifier = self.decision.query.classifier
        return np.asarray(columns(logits, classifier)[0] @ self.mixture)

    @property
    def for_unknown(self) -> int:
        """How many sequences to ask about words that the lexicon does not know."""
        return int((self.places < 0).sum()) * (1 + PER_NEW_WORD)

    def unknown_note(self, asked: bool) -> list[str]:
        """Which words the lexicon does not know, and what was done about them."""
        unknown = [self.players.items[i].text for i in self.players.first[self.places < 0]]
        if not unknown:
            return []
        some = ", ".join(map(repr, unknown[:5])) + (" ..." if len(unknown) > 5 else "")
        what = "asked about here" if asked else "given average scores; use a larger --refine"
        return [f"Not in the lexicon, and {what}: {len(unknown):,} of the words ({some})."]

    @cached_property
    def known(self) -> Fit:
        """The lexicon's own model of the text; unknown words are taken for average ones."""
        values = self._of_words(self.lexicon.values @ self.mixture)
        importances = self._of_words(self.lexicon.importances)
        shift = importances.mean()
        frame = None
        if self.lexicon.frame is not None:
            worth = np.array([self.lexicon.frame @ self.mixture])
            frame = FramePlayer(worth, -shift)
        model = SlalomModel(values[:, None], importances - shift, frame)
        return Fit(self.players, model, FitReport(True, 0, 0.0), None, self._lengths())

    def _of_words(self, scores: FloatArray) -> FloatArray:
        """Scores [words] of the lexicon for the groups of the text [groups]."""
        known = self.places >= 0
        if known.all():  # as a rule; the lexicon is far larger than the text
            return scores[self.places]
        return np.where(known, scores[self.places], _typical(scores, self.lexicon.counts))

    def _lengths(self) -> LengthScale:
        level = self.lexicon.level @ self.mixture[:, None]
        return LengthScale(np.log(self.lexicon.lengths), level, self.lexicon.length_scale)

    @cached_property
    def gap(self) -> Agreement:
        """How far the lexicon is off on the text itself."""
        said = float(self.known.predict(self.players.whole)[0])
        return Agreement(None, abs(said - self.target.score), 1)

    @property
    def is_off(self) -> bool:
        """Whether the gap is larger than on the texts that the lexicon was built from."""
        return self.gap.rmse > FAR * self.lexicon.errors.get("texts", np.inf)

    def errors(self, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Standard errors of the scores, from those of the lexicon."""
        model, groups = self.known.model, self.players.groups
        wide = self._errors(self.lexicon.mixed_errors(self.mixture))
        weight = self._errors(self.lexicon.importance_errors)
        seed = int(rng.integers(2**31))
        drawn = []
        for _ in range(DRAWS):
            values = model.values + wide[:, None] * rng.normal(size=model.values.shape)
            importances = model.importances + weight * rng.normal(size=len(weight))
            one = SlalomModel(values, importances, model.frame)
            same = np.random.default_rng(seed)
            drawn.append(slalom_scores(one, groups, same, steps=STEPS))
        spreads = {name: spread(np.array([scores[name] for scores in drawn])) for name in drawn[0]}
        return self.known.scaled(spreads)

    def _errors(self, errors: FloatArray) -> FloatArray:
        """Standard errors by group; unknown words get the largest of the lexicon, 1 at least."""
        known = self.places >= 0
        if known.all():
            return errors[self.places]
        return np.where(known, errors[self.places], np.max(errors, initial=1.0))

    def refitted(
        self, rng: np.random.Generator, wanted: int
    ) -> tuple[Fit, dict[str, Agreement], FitReport]:
        """A fit of this text's own answers, with the lexicon as prior; checked on others."""
        rows, held = self._drawn(rng, wanted)
        answers, lengths = self.answers(rows), self._lengths()
        scores, weights = lengths.undo(rows.lengths, answers[:, None])
        model, report, posterior = fit_gauss_newton(
            counted(rows, self.players),
            scores,
            frame=self.lexicon.frame is not None,
            prior=Prior(known=self._prior()),
            weights=weights,
        )
        fit = Fit(self.players, model.normalised(), report, posterior, lengths)
        checks = {
            kind: agreement(fit.predict(part), self.answers(part))
            for kind, part in held.items()
            if len(part) > 1
        }
        return fit, checks or {"text": self.gap}, report

    def _drawn(self, rng: np.random.Generator, wanted: int) -> tuple[Ragged, dict[str, Ragged]]:
        """Short sequences in which unknown words come often, some subsets; and fresh ones."""
        players, distinct = self.players, len(self.players.first)
        unknown = np.flatnonzero(self.places < 0)
        odds = np.where(self.places < 0, 8.0, 1.0)
        fresh = max(4, wanted // 10)
        alone = singles(distinct).take(unknown)
        few = favoured(rng, odds, max(0, wanted - fresh - len(alone)) * 5 // 6, 3)
        part = portions(rng, np.full(max(2, wanted // 20), 0.3), players.ids.lengths)
        fitted = Ragged.concat([players.of_groups(Ragged.concat([alone, few])), part])
        held = {
            "short": players.of_groups(favoured(rng, odds, fresh - 2, 3)),
            "deletions": portions(rng, check_shares(2), players.ids.lengths),
        }
        held = {kind: players.complete(rows, rng) for kind, rows in held.items()}
        rows = players.complete(Ragged.concat([fitted, players.whole]), rng)
        return apart(rows, Ragged.concat(list(held.values())), players.groups), held

    def _prior(self) -> Known:
        known = self.places >= 0
        values = (self.lexicon.values @ self.mixture)[self.places]
        errors = self.lexicon.mixed_errors(self.mixture)[self.places]
        errors = np.where(known, errors, np.nan)
        if self.lexicon.frame is not None:
            frame = self.lexicon.frame @ self.mixture
            values, errors = np.append(values, frame), np.append(errors, np.median(_told(errors)))
        return Known(
            values=values[:, None],
            value_errors=np.maximum(errors, 1e-3),
            importances=self.lexicon.importances[self.places],
            importance_errors=np.where(
                known, np.maximum(self.lexicon.importance_errors[self.places], 1e-3), np.nan
            ),
        )


def _typical(scores: FloatArray, counts: IntArray) -> float:
    return float(np.average(scores, weights=counts)) if counts.sum() else 0.0


def _told(errors: FloatArray) -> Sequence[float]:
    return [error for error in errors.tolist() if np.isfinite(error)] or [1.0]
