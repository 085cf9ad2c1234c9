"""Context: what every word contributes, alone and together with others, with error bars."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import FloatArray
from piste.decision import RAW, Decision
from piste.errors import SettingError, choices
from piste.lexicon import Lexicon
from piste.methods.base import Attribution, Method
from piste.methods.context.asked import Asked
from piste.methods.context.asking import Plan
from piste.methods.context.fit import (
    DRAWS,
    Fit,
    alone_answers,
    final_fit,
    parameter_errors,
    quick_fit,
)
from piste.methods.context.turning import LARGEST, Search
from piste.methods.every_class import left_out
from piste.methods.sampling import check_size
from piste.methods.slalom.fit import Standing
from piste.options import EFFORTS, Effort
from piste.result.facts import FEW_CHECKS, GROUPS, Fidelity, Stopped
from piste.result.parts import NOT_TURNED, PlayerSet
from piste.result.scores import CLASS
from piste.surrogates import algebra
from piste.surrogates.slalom.model import lin

log = logging.getLogger(__name__)

FIRST = 0.45  # of what may be asked, before the process chooses
TOLERANCE = 0.02  # of the effects, and of R² from 1, with which asking ends early
FEW_WORDS = 2
MEANS = ("auto", "slalom", "constant")
CLASSES = ("one-vs-rest", "shared")
QUICK = (
    "Quick look: interactions and words that would change the decision were not searched for, and"
    " words were asked in small groups only: in the whole text they may count for more or less."
    ' Use effort="normal" (--effort normal) to know.'
)


@dataclass(frozen=True)
class Context(Method):
    """What every word contributes in this text, and what words do together, with error bars.

    1. Ask the model for the text, the empty text, and every word alone and (in short texts) left
       out.
    2. Fit SLALOM to the answers, and a Gaussian process over parts of the text to what it misses.
    3. Ask more parts, those from which the process learns most, and fit again.
    4. Shapley values, interactions and their errors follow from the process in closed form.
    5. Search on it for the words that would turn the decision, and verify them on the model.
    """

    name: ClassVar[str] = "context"

    effort: Effort = "normal"
    mean: Literal["auto", "slalom", "constant"] = "auto"  # what the process is added to
    adaptive: bool = True  # rounds ask what teaches most; else at random
    classes: Literal["one-vs-rest", "shared"] = "one-vs-rest"

    def __post_init__(self) -> None:
        for name, given, names in (
            ("effort", self.effort, EFFORTS),
            ("mean", self.mean, MEANS),
            ("way to treat classes", self.classes, CLASSES),
        ):
            if given not in names:
                raise choices(name, given, names)

    def for_every_class(self) -> Context:
        return replace(self, classes="shared")

    def with_effort(self, effort: str) -> Context:
        return replace(self, effort=effort)  # type: ignore[arg-type]  # checked when made

    def with_lexicon(self, lexicon: Lexicon, refine: int | None) -> Method:
        if replace(self, effort="normal") != Context():
            raise SettingError(
                "A lexicon replaces the settings of Context, except the effort.",
                'Leave them out (method="context"), or explain without a lexicon.',
            )
        from piste.methods.context.from_lexicon import with_words  # which builds on this file

        return with_words(lexicon, refine, self.effort)

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query = decision.query
        started, asking = time.perf_counter(), query.away
        check_size(decision.players)
        asked = Asked.on(decision, self.classes == "shared")
        plan = Plan.of(asked, self.effort)
        known = self._in_groups if plan.in_groups else self._until_stable
        fit, stopped = known(asked, plan, rng)
        attribution = attributed(asked, fit, rng, in_groups=plan.in_groups)
        seconds = time.perf_counter() - started - (query.away - asking)
        return replace(attribution, stopped=stopped, fit_seconds=seconds)

    def _in_groups(self, asked: Asked, plan: Plan, rng: np.random.Generator) -> tuple[Fit, Stopped]:
        """Ask once and fit once. Small groups tell the process nothing: it stays on SLALOM."""
        asked.query.plan(plan.expected)
        asked.ask(plan.groups(rng))
        fit = final_fit(asked, None, "slalom")
        self._report(asked, fit)
        return fit, self._stopped(asked, fit, 1, False, rng)

    def _until_stable(
        self, asked: Asked, plan: Plan, rng: np.random.Generator
    ) -> tuple[Fit, Stopped]:
        """Ask in rounds, and fit, until the effects are known well enough or nothing is left."""
        asked.query.plan(plan.expected)
        asked.ask(plan.first(rng, FIRST / plan.patience))
        fit: Fit | None = None
        for count in range(1, 10**6):
            fit = quick_fit(asked, fit)
            self._report(asked, fit)
            log.debug("Round %d: %d parts.", count, len(asked.parts))
            if asked.exhausted or not plan.worth_a_round:
                break
            if self._stable(asked, fit, count, rng) is not None:  # as far as the quick fit can tell
                final = final_fit(asked, fit, self.mean)
                stable = self._stable(asked, final, count, rng)
                if stable is not None:
                    return final, stable
            process = fit.process if self.adaptive else None
            if not asked.ask(plan.next(rng, process, plan.share(count))):
                break
        # worth a round: there is no part that was not asked
        nothing_left = asked.exhausted or plan.repetitive or plan.worth_a_round
        final = final_fit(asked, fit, self.mean)
        stopped = self._stopped(asked, final, count, False, rng)
        return final, replace(stopped, reason="exhausted") if nothing_left else stopped

    def _stable(
        self, asked: Asked, fit: Fit, rounds: int, rng: np.random.Generator
    ) -> Stopped | None:
        """How asking ends where R² and the effects are known well enough; None where they are not.

        The draws that decide are those that are told: others might say otherwise.
        """
        if not _faithful(fit, _tolerance(asked)):
            return None
        stopped = self._stopped(asked, fit, rounds, True, rng)
        return stopped if stopped.reason == "stable" else None

    def _stopped(
        self, asked: Asked, fit: Fit, rounds: int, more: bool, rng: np.random.Generator
    ) -> Stopped:
        """Stable: the strongest effects within the tolerance."""
        tolerance = _tolerance(asked)
        stopped = _standing(fit, rng).stopped(tolerance, rounds, more)
        # Idle words among the ten strongest trade places for ever: their order does not count.
        return replace(stopped, reason="stable") if stopped.spread <= tolerance else stopped

    def _report(self, asked: Asked, fit: Fit) -> None:
        """Tell who watches the scores so far."""
        if asked.query.rounds is not None:
            asked.query.rounds({"effect": fit.surrogate.effects[:, 0]})


def attributed(
    asked: Asked, fit: Fit, rng: np.random.Generator, *, in_groups: bool = False
) -> Attribution:
    """Everything that follows from a fit; what would turn the decision only after a full one."""
    scores, errors = all_scores(asked, fit, rng)
    flip, core, notes = (None, None, [QUICK]) if in_groups else turning(asked, fit)
    return Attribution(
        primary="effect",
        scores=scores,
        errors=errors,
        fidelity=_fidelity(fit),
        fit=fit.slalom.report,
        formula=fit.slalom.formula(),
        parts=fit.surrogate.stored(),
        base=fit.base,
        flip=flip,
        core=core,
        target=asked.target,
        notes=(*remarks(asked), *notes),
    )


def _tolerance(asked: Asked) -> float:
    given = asked.query.tolerance
    return TOLERANCE if given is None else given


def _fidelity(fit: Fit) -> Fidelity | None:
    """On parts near the text; where none was asked, on groups of words."""
    checks = {
        "parts": fit.agreement(),
        GROUPS: None if fit.groups is None else fit.groups.agreement(),
    }
    known = {kind: check for kind, check in checks.items() if check is not None}
    return Fidelity(known) if known else None


def _faithful(fit: Fit, tolerance: float) -> bool:
    """Whether parts near the text are predicted well, or hardly differ."""
    checked = fit.agreement()
    if checked is None or checked.samples < FEW_CHECKS:
        return False
    return checked.r2 is None or checked.r2 >= 1 - tolerance


@algebra.one_thread
def _standing(fit: Fit, rng: np.random.Generator) -> Standing:
    """The effects, and what else the answers allow them to be."""
    effects, errors = fit.surrogate.effects[:, 0], fit.effect_errors[:, 0]
    return Standing(effects, effects + errors * rng.normal(size=(DRAWS, len(effects))))


@algebra.one_thread
def all_scores(
    asked: Asked, fit: Fit, rng: np.random.Generator
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """All scores of all players, and the standard errors of those that have one."""
    surrogate, slalom, groups = fit.surrogate, fit.slalom, asked.players.groups
    effects, effect_errors = surrogate.effects, fit.effect_errors
    removals, removal_errors = surrogate.removals()
    removal_errors = fit.with_groups(removal_errors)
    answers, known = alone_answers(asked)
    values = np.where(known[:, None], answers, slalom.model.alone()[groups])
    scores = {
        "effect": effects[:, 0],
        "value": values[:, 0],
        "importance": slalom.model.importances[groups],
        "relevance": fit.process.kernel.relevances,
        "removal": removals[:, 0],
        "lin": lin(slalom.model)[groups],
    }
    errors = {"effect": effect_errors[:, 0], "removal": removal_errors[:, 0]}
    errors |= parameter_errors(slalom, rng)
    if "value" in errors:
        errors["value"] = np.where(known, 0.0, errors["value"])
    for output, name in enumerate(asked.others, start=1):
        scores[f"effect{CLASS}{name}"] = effects[:, output]
        errors[f"effect{CLASS}{name}"] = effect_errors[:, output]
    return scores, errors


def turning(asked: Asked, fit: Fit) -> tuple[PlayerSet | None, PlayerSet | None, list[str]]:
    """What would turn the decision, what keeps it, and what to say where there is neither."""
    if asked.target.scale == RAW or len(asked.players) < 2:
        return None, None, []  # a number is not decided
    search, units = Search(asked, fit.surrogate), f"{asked.players.unit}s"
    flip, ended = search.flip(), search.ended
    core, notes = search.core(), []
    does = f"make it {asked.target.label}" if search.for_target else "change the decision"
    if flip is None and ended:
        notes.append(f"The search for {units} to remove, to {does}, stopped after a few checks.")
    elif flip is None:
        most = min(LARGEST, len(asked.players) - 1)
        some = f"one {asked.players.unit}" if most == 1 else f"up to {most} {units}"
        notes.append(f"{NOT_TURNED} {some} was found to {does}.")
    if core is None and search.ended:
        notes.append(
            f"The search for {units} that are enough by themselves stopped after a few checks."
        )
    return flip, core, notes


def _counted_from(asked: Asked) -> str:
    """What stands for the score of the empty text."""
    count, unit = len(asked.players), asked.players.unit
    if count == 1:
        return "0 (undecided)."
    best = f"the score at which its {unit}s add up best"
    if count > FEW_WORDS:
        return f"{best}."
    return f"{best}; of a text this short that hides what they do together."


def remarks(asked: Asked) -> list[str]:
    """What to know of the text and the model before the scores are read."""
    notes = list(left_out(asked.target)) if asked.classes is not None else []
    answers, unit = asked.answers, asked.players.unit
    if len(asked.players) == 1:
        notes.append(f"The text is a single {unit}: its effect is the score minus the base.")
    elif float(np.ptp(answers, axis=0).max()) <= 1e-9 * max(1.0, float(np.abs(answers).max())):
        notes.append(
            f"The model gives the same answer to any of these {unit}s: they have no effect."
        )
    if asked.base_is_given:
        notes.append(
            f"The model cannot read an empty text: effects are counted from {_counted_from(asked)}"
            " Errors hold if that base does."
        )
    return notes
