"""Whether an explanation still holds: the model asked again with the recorded settings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from piste.arrays import FloatArray, Ragged
from piste.decision import CENTRED, LOG_ODDS, Decision, resolve_target
from piste.errors import PisteError, SettingError, few
from piste.explain import explain
from piste.extras import versions
from piste.files import also_written
from piste.lexicon import Lexicon
from piste.methods import remade
from piste.methods.base import Method
from piste.methods.every_class import Classes
from piste.models.fingerprint import difference, identity, rounding
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.models.query import Meter, Query
from piste.options import ALL, Options
from piste.progress import Progress, watching
from piste.result.checks import (
    ADDED_UP,
    FAILS,
    HOLDS,
    UNKNOWN,
    Check,
    adds_up,
    of_scores,
    signed,
    sum_problem,
)
from piste.result.comparable import decided
from piste.result.explanation import Explanation
from piste.text.encoding import BETWEEN

__all__ = ["Check", "Verification", "verify"]

_Words = Lexicon | str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """Whether an explanation still holds: its answers or scores do, and nothing fails."""

    explanation: Explanation
    checks: tuple[Check, ...]
    again: Explanation | None  # the same made anew; None where that was not possible

    @property
    def holds(self) -> bool:
        compared = any(
            check.outcome == HOLDS for check in self.checks if check.name in ("answers", "scores")
        )
        return compared and not any(check.outcome == FAILS for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        record = self.explanation.record
        return {
            "holds": self.holds,
            "checks": [asdict(check) for check in self.checks],
            "model": self.explanation.model,
            "made": None if record is None else record.made,
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The checks as JSON text, also written to `path` when given."""
        return also_written(json.dumps(self.to_dict(), indent=1), path, "\n")

    def __repr__(self) -> str:
        failed = [check.name for check in self.checks if check.outcome == FAILS]
        return f"<Verification: {'fails on ' + few(failed) if failed else 'holds'}>"

    def __str__(self) -> str:
        from piste.render.verification import as_text

        return as_text(self)


def verify(
    explanation: Explanation | str | os.PathLike[str],
    classifier: Classifier | str | None = None,
    *,
    method: Method | None = None,
    lexicon: Lexicon | str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
) -> Verification:
    """Ask the model again and make the explanation again, with the recorded settings.

    Tried are the file itself, the model's digests, its decision and probability, its answers to the
    recorded parts of the text and to the sets that turn or keep the decision, and all scores, each
    of which may move by three standard errors.

    explanation: what `explain` returned, or the JSON file of it.
    classifier: the model to try it on; by default the embedded one.
    method: where it is not one of `METHODS`. lexicon: where it was made with one.
    """
    if not isinstance(explanation, Explanation):
        explanation = Explanation.from_json(explanation)
    trial = _Trial.of(explanation, as_classifier(classifier))
    own = (_file(explanation), _model(explanation, trial.decision.query.classifier))
    if trial.decision.target.labels != explanation.target.labels:
        others = Check("decision", FAILS, "the model chooses from other labels", OTHER_LABELS)
        rest = [Check(name, UNKNOWN, "not tried: the labels differ") for name in TRIED[1:]]
        untried = [others, *rest]
        return Verification(explanation, (*own, *untried, _versions(explanation)), None)
    again, failed = None, None
    try:
        with watching(progress, "Asking the model") as told:
            again = trial.explained(method, lexicon, told)
    except PisteError as error:
        failed = Check("scores", UNKNOWN, f"not made again: {error.cause}", error.remedy)
    scores = failed or of_scores(explanation, again or explanation)
    tried = (_decided(trial, again), _answers(trial), _sets(trial), scores)
    return Verification(explanation, (*own, *tried, _versions(explanation)), again)


TRIED = ("decision", "answers", "sets", "scores")
OTHER_ANSWERS = "The model or the software around it has changed: do not rely on this explanation."
OTHER_LABELS = "Use the model that was explained, or explain again."


@dataclass(frozen=True)
class _Trial:
    """The explained text in front of the model of today."""

    explanation: Explanation
    decision: Decision  # towards what the model predicts now, of as much as it reads at once
    options: Options

    @classmethod
    def of(cls, explanation: Explanation, classifier: Classifier) -> _Trial:
        options = _options(explanation)
        plain = replace(options, target=None, against=None, long="truncate")
        text, pair = _texts(explanation)
        return cls(explanation, Decision.on(text, classifier, plain, pair), options)

    @property
    def in_windows(self) -> bool:
        return self.explanation.settings.get("long") == "windows"

    @property
    def whole(self) -> FloatArray:
        """The model's answer to the text now [outputs]."""
        answers = self.decision.logits(self.decision.players.whole)
        return np.asarray(answers[0])

    def towards(self) -> Decision:
        """The decision towards what was explained, whatever is predicted now."""
        target, classifier = self.explanation.target, self.decision.query.classifier
        same = resolve_target(classifier, self.whole, target.index, target.against_index)
        return replace(self.decision, target=same)

    def scores(self, rows: Ragged) -> FloatArray:
        """The explained number for rows of players [rows], on the scale of the explanation."""
        decision = self.towards()
        logits = decision.logits(rows)
        if self.explanation.target.scale != CENTRED:
            return decision.target_scores(logits)
        classes = Classes.of(decision.query.classifier, self.whole, decision.target)
        return classes.scores(logits)[:, 0]

    def explained(
        self,
        method: Method | None,
        lexicon: _Words,
        progress: Progress | None,
    ) -> Explanation:
        """The explanation made again, of the same target."""
        then = self.explanation
        used = _lexicon(then, lexicon)
        settings = replace(self.options, lexicon=used, refine=_refine(then, used)).named()
        if settings["target"] != ALL:
            settings |= {"target": then.target.index, "against": then.target.against_index}
        text, pair = _texts(then)
        chosen = method or remade(then.method, {} if used is not None else then.settings)
        classifier = self.decision.query.classifier
        return explain(text, classifier, chosen, pair=pair, progress=Meter(progress), **settings)


def _texts(explanation: Explanation) -> tuple[str, str | None]:
    if explanation.second is None:
        return explanation.text, None
    first = explanation.text[: explanation.second - len(BETWEEN)]
    return first, explanation.text[explanation.second :]


def _options(explanation: Explanation) -> Options:
    """The recorded options without the lexicon; of old files, what stands in the explanation."""
    if explanation.record is not None:
        return Options.of(**{**explanation.record.options, "lexicon": None, "refine": None})
    every = explanation.settings.get("target") == ALL
    return Options.of(
        target=ALL if every else explanation.target.index,
        against=explanation.target.against_index,
        unit=explanation.unit,
        repeats=explanation.repeats,
        long=explanation.settings.get("long", "truncate"),
        seed=explanation.seed,
        budget=explanation.budget,
        tolerance=explanation.tolerance,
    )


def _lexicon(explanation: Explanation, given: _Words) -> _Words:
    recorded = None if explanation.record is None else explanation.record.options.get("lexicon")
    if given is None and "lexicon" in explanation.settings:
        raise SettingError(
            f"it was made with a lexicon ({recorded or 'not recorded'}).",
            "Give the lexicon too (lexicon=, --lexicon FILE).",
        )
    return given


def _refine(explanation: Explanation, lexicon: object) -> int | None:
    return None if lexicon is None else explanation.settings.get("refine")


def _file(explanation: Explanation) -> Check:
    """Whether the file agrees with itself."""
    problem = sum_problem(explanation) or _probability_problem(explanation)
    if problem is not None:
        advice = "The file was changed after it was written: use the original."
        return Check("file", FAILS, problem, advice)
    if not adds_up(explanation):
        return Check("file", UNKNOWN, f"the scores of {explanation.method} need not add up")
    return Check("file", HOLDS, "base and scores add up to the model's score")


def _probability_problem(explanation: Explanation) -> str | None:
    """The probability that log-odds mean, where it is not the recorded one."""
    target = explanation.target
    if target.probability is None or target.scale != LOG_ODDS:
        return None
    meant = float(expit(target.score))
    if abs(meant - target.probability) <= ADDED_UP:
        return None
    return (
        f"log-odds {signed(target.score)} mean a probability of {meant:.4g}, and the recorded one"
        f" is {target.probability:.4g}"
    )


def _model(explanation: Explanation, classifier: Classifier) -> Check:
    now, why = identity(classifier)
    if explanation.record is None:
        return Check("model", UNKNOWN, "the file records no digest of the model")
    problem = difference(explanation.record.fingerprint, now)
    if problem is not None:
        advice = f"Use the model that was explained ({explanation.model}), or explain again."
        return Check("model", FAILS, f"another model: {problem}", advice)
    if why is not None:
        return Check("model", UNKNOWN, f"{why}; those are compared below")
    return Check("model", HOLDS, f"the same digests (weights {now['weights'][:16]})")


def _decided(trial: _Trial, again: Explanation | None) -> Check:
    """Whether the model still chooses the same label."""
    then = trial.explanation
    if trial.in_windows:
        now = again
    else:
        record = then.record and replace(then.record, outputs=tuple(trial.whole.tolist()))
        now = replace(then, target=trial.towards().target, record=record)
    if now is None:
        return Check("decision", UNKNOWN, "not made again")
    was, is_now = decided(then), decided(now)
    if was is None:
        return Check("decision", UNKNOWN, "a number is predicted, and compared below")
    shares = [one.target.probability or 0.0 for one in (then, now)]
    within = rounding(trial.decision.query.classifier)
    if was == is_now and abs(shares[0] - shares[1]) > within:
        found = (
            f"{was}, as recorded, at a probability of {shares[1]:.4g} ({shares[0]:.4g} recorded)"
        )
        return Check("decision", FAILS, found, OTHER_ANSWERS)
    if was == is_now:
        return Check("decision", HOLDS, f"{was}, as recorded")
    advice = "The decision has changed: explain it again, and compare both with piste diff."
    return Check("decision", FAILS, f"{is_now} now, {was} recorded", advice)


def _answers(trial: _Trial) -> Check:
    """Whether the model answers the recorded parts, and the text, as it did."""
    then, within = trial.explanation, rounding(trial.decision.query.classifier)
    if trial.in_windows:
        return Check("answers", UNKNOWN, "none are recorded of a text in windows")
    if len(trial.decision.players) != len(then.players):
        found = f"{len(then.players)} {then.unit}s recorded, {len(trial.decision.players)} now"
        advice = "The model reads the text differently: explain it again."
        return Check("answers", FAILS, found, advice)
    known = list(_recorded(then, trial.decision.query))
    recorded = np.array([score for _, score in known])
    now = trial.scores(Ragged.of([kept for kept, _ in known]))
    apart = np.abs(now - recorded)
    wrong = apart > within * (1 + np.abs(recorded))
    count = f"{len(recorded):,} recorded answer{'s' if len(recorded) > 1 else ''}"
    if not wrong.any():
        return Check("answers", HOLDS, f"{count}, equal within {float(apart.max()):.1g}")
    found = f"{int(wrong.sum()):,} of {count} differ, by up to {float(apart.max()):.3g}"
    return Check("answers", FAILS, found, OTHER_ANSWERS)


def _sets(trial: _Trial) -> Check:
    """Whether the words that turn the decision, and those that keep it, still do."""
    then = trial.explanation
    count = len(then.players)
    kept = []
    if then.flip is not None:
        kept.append((then.flip, [i for i in range(count) if i not in then.flip.players]))
    if then.core is not None:
        kept.append((then.core, list(then.core.players)))
    if not kept or count != len(trial.decision.players):
        return Check("sets", UNKNOWN, "none are recorded" if not kept else "the words are others")
    rows = Ragged.of([players for _, players in kept])
    now, recorded = trial.scores(rows), np.array([known.score for known, _ in kept])
    within = rounding(trial.decision.query.classifier)
    if (np.abs(now - recorded) <= within * (1 + np.abs(recorded))).all():
        return Check("sets", HOLDS, "what turns or keeps the decision, as recorded")
    pairs = zip(recorded, now, strict=True)
    told = ", ".join(f"{signed(was)} recorded, {signed(is_now)} now" for was, is_now in pairs)
    return Check("sets", FAILS, f"what turns or keeps the decision: {told}", OTHER_ANSWERS)


def _recorded(explanation: Explanation, query: Query) -> Iterator[tuple[list[int], float]]:
    """The parts whose answers are recorded; the whole text is one of them.

    The empty one only where the model reads it: else what is recorded is no answer of the model.
    """
    if explanation.parts is None:
        yield list(range(len(explanation.players))), explanation.target.score
        return
    kept = (np.flatnonzero(part).tolist() for part in explanation.parts.parts)
    for players, answer in zip(kept, explanation.parts.answers.tolist(), strict=True):
        if players or query.reads_nothing:
            yield players, answer


def _versions(explanation: Explanation) -> Check:
    """Other versions are no fault: they are named for whoever looks for a reason."""
    now = versions()
    other = [
        f"{name} {was} recorded, {now.get(name, 'none')} now"
        for name, was in explanation.versions.items()
        if now.get(name) != was
    ]
    return Check("versions", UNKNOWN if other else HOLDS, few(other) if other else "the same")
