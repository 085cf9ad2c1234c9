"""Context: what every word contributes, alone and together with others, with error bars."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import FloatArray
from piste.decision import Decision
from piste.errors import choices
from piste.methods.base import Attribution, Method, agreement
from piste.methods.every_class import left_out
from piste.methods.context.asking import PASSES, Asked, Plan
from piste.methods.context.fit import Fit, alone_answers, final_fit, quick_fit
from piste.methods.sampling import check_size
from piste.methods.slalom.fit import Standing
from piste.result.explanation import Fidelity, Stopped
from piste.result.scores import CLASS
from piste.surrogates.slalom.model import lin
from piste.surrogates.slalom.posterior import spread

log = logging.getLogger(__name__)

FIRST = 0.45  # of what may be asked, before the process chooses
ROUNDS = 3  # after the first, where there is no tolerance
DRAWS = 64
MEANS = ("slalom", "constant")
CLASSES = ("one-vs-rest", "shared")


@dataclass(frozen=True)
class Context(Method):
    """What every word contributes in this text, and what words do together, with error bars.

    1. Ask the model for the text, the empty text, and every word alone and (in short texts) left
       out.
    2. Fit SLALOM to the answers, and a Gaussian process over parts of the text to what it misses.
    3. Ask more parts, those from which the process learns most, and fit again.
    4. Shapley values, interactions and their errors follow from the process in closed form.
    """

    name: ClassVar[str] = "context"

    effort: Literal["quick", "normal", "thorough"] = "normal"
    mean: Literal["slalom", "constant"] = "slalom"  # what the process starts from
    adaptive: bool = True  # rounds ask what teaches most; else at random
    classes: Literal["one-vs-rest", "shared"] = "one-vs-rest"

    def __post_init__(self) -> None:
        for name, given, names in (
            ("effort", self.effort, tuple(PASSES)),
            ("mean", self.mean, MEANS),
            ("way to treat classes", self.classes, CLASSES),
        ):
            if given not in names:
                raise choices(name, given, names)

    def for_every_class(self) -> Context:
        return replace(self, classes="shared")

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query = decision.query
        started, asking = time.perf_counter(), query.seconds
        check_size(decision.players)
        asked = Asked.on(decision, self.classes == "shared")
        fit, stopped = self._until_stable(asked, rng)
        scores, errors = _scores(asked, fit, rng)
        return Attribution(
            primary="effect",
            scores=scores,
            errors=errors,
            fidelity=_fidelity(asked, fit),
            fit=fit.slalom.report,
            fit_seconds=time.perf_counter() - started - (query.seconds - asking),
            surrogate_score=float(asked.target.score),
            stopped=stopped,
            formula=fit.slalom.formulas()[0],
            target=asked.target,
            notes=left_out(asked.target) if asked.classes is not None else (),
        )

    def _until_stable(self, asked: Asked, rng: np.random.Generator) -> tuple[Fit, Stopped | None]:
        """Ask in rounds, and fit, until the effects are known well enough or nothing is left."""
        plan = Plan.of(asked, self.effort)
        asked.ask(plan.first(rng, FIRST))
        patient = asked.query.tolerance is not None or asked.query.budget is not None
        before: Fit | None = None
        for count in range(1, 10**6):
            if count > ROUNDS and not patient:
                break
            if not plan.left:
                break
            before = quick_fit(asked, before)
            share = 1 / (ROUNDS + 1 - count) if count <= ROUNDS else 1.0
            process = before.process if self.adaptive else None
            if not asked.ask(plan.next(rng, process, share)):
                break
        return final_fit(asked, before, self.mean), None


def _scores(
    asked: Asked, fit: Fit, rng: np.random.Generator
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    surrogate, slalom, groups = fit.surrogate, fit.slalom, asked.players.groups
    effects, effect_errors = surrogate.effects(), surrogate.effect_errors()
    removals, removal_errors = surrogate.removals()
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
    for output, name in enumerate(asked.others, start=1):
        scores[f"effect{CLASS}{name}"] = effects[:, output]
        errors[f"effect{CLASS}{name}"] = effect_errors[:, output]
    return scores, errors


def _fidelity(asked: Asked, fit: Fit) -> Fidelity | None:
    residuals = fit.left_out[fit.near]
    if len(residuals) < 2:
        return None
    from piste.methods.context.fit import _inside

    true = asked.answers[_inside(asked), 0][fit.near]
    typical = float(np.std(asked.answers[:, 0]))
    return Fidelity({"parts": agreement(true - residuals, true, typical)})
