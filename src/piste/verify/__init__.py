"""Whether an explanation still holds: the model asked again with the recorded settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from piste.arrays import Ragged
from piste.decision import LOG_ODDS
from piste.errors import PisteError, few, several
from piste.lexicon import Lexicon
from piste.methods.base import Method
from piste.models.fingerprint import difference, identity
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.progress import Progress, watching
from piste.result.checks import (
    ADDED_UP,
    FAILS,
    HOLDS,
    UNKNOWN,
    Check,
    adds_up,
    asked_about,
    of_answers,
    of_errors,
    of_fidelity,
    of_pairs,
    of_scores,
    of_sets,
    of_versions,
    signed,
    sum_problem,
)
from piste.result.comparable import decided
from piste.result.explanation import Explanation
from piste.result.parts import PlayerSet
from piste.result.written import AsJson
from piste.verify.new_parts import new_parts
from piste.verify.trial import Trial, recorded

__all__ = ["Check", "Verification", "verify"]


@dataclass(frozen=True, eq=False, repr=False)
class Verification(AsJson):
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
    recorded parts of the text and to the sets that turn or keep the decision; all scores, each of
    which may move by three standard errors; their errors, R² and the strongest interactions; and
    whether the explanation predicts parts that were never asked as well as it claims.

    explanation: what `explain` returned, or the JSON file of it.
    classifier: the model to try it on; by default the embedded one.
    method: where it is not one of `METHODS`. lexicon: where it was made with one.
    """
    if not isinstance(explanation, Explanation):
        explanation = Explanation.from_json(explanation)
    trial = Trial.of(explanation, as_classifier(classifier))
    own = (_file(explanation), _model(explanation, trial.decision.query.classifier))
    if trial.decision.target.labels != explanation.target.labels:
        others = Check("decision", FAILS, "the model chooses from other labels", OTHER_LABELS)
        rest = [Check(name, UNKNOWN, "not tried: the labels differ") for name in TRIED[1:]]
        untried = [others, *rest]
        return _verified(explanation, (*own, *untried, of_versions(explanation)), None)
    again, why = None, None
    try:
        with watching(progress, "Asking the model") as told:
            again = trial.explained(method, lexicon, told)
    except PisteError as error:
        why = error
    tried = (_decided(trial, again), _answers(trial), _sets(trial, again))
    made = _made_again(explanation, again, why)
    return _verified(
        explanation, (*own, *tried, *made, new_parts(trial, again), of_versions(explanation)), again
    )


def _verified(
    explanation: Explanation, checks: tuple[Check, ...], again: Explanation | None
) -> Verification:
    """The checks with one remedy where the model is another: it explains whatever else differs."""
    failed = {check.name for check in checks if check.outcome == FAILS}
    cause = next((name for name in CAUSES if name in failed), None)
    own = (
        checks
        if cause is None
        else tuple(
            check if check.name in (cause, "file") else replace(check, advice="")
            for check in checks
        )
    )
    return Verification(explanation, own, again)


def _made_again(
    then: Explanation, again: Explanation | None, why: PisteError | None
) -> list[Check]:
    """What was computed from the answers, compared: errors only where the scores are the same."""
    if again is None:
        advice = "" if why is None else why.remedy
        found = f"not made again: {'' if why is None else why.cause}"
        rest = [Check(name, UNKNOWN, "not made again") for name in COMPUTED]
        return [of_answers(then) or Check("scores", UNKNOWN, found, advice), *rest]
    scores = of_scores(then, again)
    if scores.outcome != HOLDS:
        return [scores, *(Check(name, UNKNOWN, "the scores differ") for name in COMPUTED)]
    return [scores, *(check(then, again) for check in COMPUTED.values())]


Comparing = Callable[[Explanation, Explanation], Check]
COMPUTED: dict[str, Comparing] = {
    "errors": of_errors,
    "fidelity": of_fidelity,
    "pairs": of_pairs,
}
TRIED = ("decision", "answers", "sets", "scores", *COMPUTED, "new parts")
CAUSES = ("model", "answers")  # where the first of them fails, others fail because it does
OTHER_ANSWERS = (
    "The model or the software around it has changed: do not rely on this explanation. Explain the"
    " text again, and look at both with piste diff."
)
OTHER_LABELS = "Use the model that was explained, or explain again."


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
    in_windows = explanation.settings.get("long") == "windows"  # a mean, as the score is
    if target.probability is None or target.scale != LOG_ODDS or in_windows:
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


def _decided(trial: Trial, again: Explanation | None) -> Check:
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
    within = trial.rounding
    if was == is_now and abs(shares[0] - shares[1]) > within:
        found = f"{shares[0]:.4g} recorded, {shares[1]:.4g} now"
        told = f"the same label ({was}), another probability: {found}"
        return Check("decision", FAILS, told, OTHER_ANSWERS)
    if was == is_now:
        return Check("decision", HOLDS, f"{was}, as recorded")
    advice = "The decision has changed: explain it again, and compare both with piste diff."
    return Check("decision", FAILS, f"{is_now} now, {was} recorded", advice)


def _answers(trial: Trial) -> Check:
    """Whether the model answers the recorded parts, and the text, as it did."""
    then, within = trial.explanation, trial.rounding
    if trial.in_windows:
        return Check("answers", UNKNOWN, "none are recorded of a text in windows")
    if len(trial.decision.players) != len(then.players):
        count = several(len(then.players), then.unit)
        found = f"{count} recorded, {len(trial.decision.players)} now"
        advice = "The model reads the text differently: explain it again."
        return Check("answers", FAILS, found, advice)
    parts, answers = zip(*recorded(then, trial.decision.query), strict=True)
    was = np.array(answers)
    apart = np.abs(trial.scores(Ragged.of(parts)) - was)
    wrong = apart > within * (1 + np.abs(was))
    count = several(len(was), "recorded answer")
    if not wrong.any():
        return Check("answers", HOLDS, f"{count}, equal within {float(apart.max()):.1g}")
    found = f"{int(wrong.sum()):,} of {count} differ, by up to {float(apart.max()):.3g}"
    return Check("answers", FAILS, found, OTHER_ANSWERS)


def _sets(trial: Trial, again: Explanation | None) -> Check:
    """Whether the words that turn the decision, and those that keep it, still do."""
    then = trial.explanation
    sets = [(name, one) for name in ("flip", "core") if (one := getattr(then, name)) is not None]
    same_words = len(then.players) == len(trial.decision.players)
    other = _other_sets(trial, sets) if sets and same_words else []
    if other:
        return Check("sets", FAILS, "; ".join(other), OTHER_ANSWERS)
    wrong = None if again is None else of_sets(then, again)
    if wrong is not None:
        return wrong
    if not sets or not same_words:
        return Check("sets", UNKNOWN, "none are recorded" if not sets else "the words are others")
    return Check("sets", HOLDS, "what turns or keeps the decision, as recorded")


def _other_sets(trial: Trial, sets: list[tuple[str, PlayerSet]]) -> list[str]:
    """To which of the sets the model answers otherwise than recorded, in words."""
    every = range(len(trial.explanation.players))
    left = {
        name: [i for i in every if (i in one.players) == (name == "core")] for name, one in sets
    }
    now = trial.scores(Ragged.of(list(left.values()))).tolist()
    return [
        f"{asked_about(name, one)} the score is {signed(one.score)} recorded, {signed(answer)} now"
        for (name, one), answer in zip(sets, now, strict=True)
        if abs(answer - one.score) > trial.rounding * (1 + abs(one.score))
    ]
