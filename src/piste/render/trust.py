"""How far to trust an explanation, in plain sentences; the same ones in every rendering."""

import math
from dataclasses import dataclass

from piste.decision import RAW
from piste.methods import METHODS
from piste.options import EFFORTS
from piste.render.words import percent, signed
from piste.result.explanation import Explanation, Target
from piste.result.facts import FEW_CHECKS, Agreement, Stopped
from piste.result.scores import score

THOROUGH = EFFORTS[-1]
TEN = 10  # the strongest, of which `Stopped` speaks
HARDLY = 0.5  # an error of half the score and more
LOW = 0.5  # an R² below it earns a warning
_RATINGS = ((0.9, "very good"), (0.75, "good"), (LOW, "fair"), (-math.inf, "poor"))
_KINDS = {
    "parts": (
        "part of this text, left out of the fit,",
        "parts of this text, each left out of the fit,",
    ),
    "groups": (
        "group of words of this text",
        "groups of words of this text, each left out of the fit,",
    ),
    "short": ("new short sequence", "new short sequences"),
    "deletions": ("new shortened copy of the text", "new shortened copies of the text"),
    "known": ("shortened copy of the text", "shortened copies of the text (all were asked)"),
    "removals": ("new removal of a few words", "new removals of a few words"),
}
_WARNING = "The explanation misses much of what the model does here; do not rely on it alone."
_EXACT = "The model was asked every part of this text: the effects are exact, not estimated."
_COMPARE = "`piste compare --measure` to see which method holds here"
_WARNINGS = {
    "deletions": "Near the whole text the model reacts to the loss of words otherwise than the "
    "explanation predicts: take the scores for what the words do in short texts."
}


@dataclass(frozen=True)
class Statement:
    """A sentence about the explanation, and whether it is a warning."""

    text: str
    warning: bool = False


def statements(explanation: Explanation) -> list[Statement]:
    """How far to trust the explanation, and what it has to say besides."""
    statements = _fidelity(explanation)
    if explanation.surrogate_score is not None:
        statements.append(_whole_text(explanation.surrogate_score, explanation.target))
    if explanation.frame_share is not None:
        share = percent(explanation.frame_share)
        text = f"In the explanation, {share} of the weight lies on the model's special tokens."
        statements.append(Statement(text))
    if explanation.stopped is not None and not exact(explanation):
        statements.append(Statement(_stopped(explanation.stopped, explanation)))
    if explanation.fit is not None and not explanation.fit.converged:
        steps = explanation.fit.iterations
        # What lies on top of SLALOM makes up for it in the effects, and is checked itself.
        which = "the scores" if explanation.parts is None else "importances"
        text = f"The fit had not settled after {steps:,} steps; {which} may be off."
        statements.append(Statement(text, warning=explanation.parts is None))
    return [*statements, *(Statement(note) for note in explanation.notes)]


def exact(explanation: Explanation) -> bool:
    """Whether the model was asked every part of the text: then nothing is estimated."""
    return explanation.parts is not None and explanation.parts.complete


def _stopped(stopped: Stopped, explanation: Explanation) -> str:
    """Why no more was asked, how sure the strongest scores are, and what would make them surer."""
    rounds = f"after {stopped.rounds} round{'s' if stopped.rounds > 1 else ''} of questions"
    sure = _sure(stopped, explanation)
    if stopped.reason == "stable":
        return f"Stable {rounds}: {sure}."
    if stopped.reason == "exhausted":
        return f"{rounds.capitalize()} hardly a new sequence was left to ask: {sure}."
    if explanation.budget is not None:
        return f"The budget ended {rounds}: {sure}. A larger one makes them surer."
    if explanation.tolerance is not None:
        most = "the most that a tolerance asks for without a budget"
        return f"Asking ended {rounds}, {most}: {sure}. A larger budget makes them surer."
    usual = f"Asking ended at the usual number for this length, {rounds}: {sure}."
    return f"{usual} {_surer(explanation)}".strip()


def _surer(explanation: Explanation) -> str:
    """What to change for smaller errors: the one knob where there is one."""
    effort = explanation.settings.get("effort")
    if effort is None:
        return "A tolerance makes them surer."
    return "A budget makes them surer." if effort == THOROUGH else "More effort makes them surer."


def _sure(stopped: Stopped, explanation: Explanation) -> str:
    """Of ten or fewer, the strongest are all there are: to be chosen again says nothing then."""
    unit, spread = explanation.unit, f"±{max(1.0, 100 * stopped.spread):,.0f} %"
    hardly = stopped.spread > HARDLY and stopped.reason != "stable"
    sure = f"the strongest {unit}s are {'hardly known,' if hardly else 'known within'} {spread}"
    if len({player.group for player in explanation.players}) <= TEN:
        return sure
    again = "all" if stopped.ranking > 0.9995 else percent(stopped.ranking)
    return f"{sure}, and {again} of them would be chosen again"


def warnings(explanation: Explanation) -> list[Statement]:
    """What must be read before the scores."""
    return [one for one in statements(explanation) if one.warning]


def headline(explanation: Explanation) -> str:
    """The fidelity in one short line, for where there is room for no more."""
    if exact(explanation):
        return _EXACT
    if explanation.fidelity is None:
        return "Agreement with the model: not measured"
    parts = []
    for kind, check in explanation.fidelity.checks.items():
        if kind == "convergence":
            return _agreement(kind, check, explanation.target.scale)
        where = _KINDS.get(kind, (kind, f"sequences ({kind})"))[1]
        figure = "" if check.r2 is None else f" (R² {_r2(check.r2)})"
        where = where.removesuffix(",")
        parts.append(f"{rating(check.r2)} on {where}{figure}")
    return f"Agreement with the model: {', '.join(parts)}"


def _fidelity(explanation: Explanation) -> list[Statement]:
    if exact(explanation):
        return [Statement(_EXACT)]
    if explanation.fidelity is None:
        return [_not_measured(explanation)]
    statements, scale = [], explanation.target.scale
    for kind, check in explanation.fidelity.checks.items():
        sentence = _agreement(kind, check, scale)
        rated = "" if kind == "convergence" else f"Agreement with the model: {rating(check.r2)}. "
        statements.append(Statement(f"{rated}{sentence}"))
        if check.r2 is not None and check.r2 < LOW:
            statements.append(Statement(_low(kind, check.r2, explanation), warning=True))
    return statements


def _low(kind: str, r2: float, explanation: Explanation) -> str:
    """What a low R² means, and what to do about it."""
    if kind != "parts":
        return _WARNINGS.get(kind, _WARNING)
    return (
        f"Do not rely on this explanation: it does not predict what the model says about parts of "
        f"this text (R² {_r2(r2)}). Try {more_effort(explanation)}."
    )


def more_effort(explanation: Explanation) -> str:
    """What to do about a low R²."""
    effort = explanation.settings.get("effort")
    if effort is None:
        more = 'method="context" (--method context)'
    elif effort == THOROUGH:
        more = "a larger budget (--budget)"
    else:
        more = f'effort="{THOROUGH}" (--effort {THOROUGH})'
    return f"{more}, or {_COMPARE}"


def _not_measured(explanation: Explanation) -> Statement:
    method = METHODS.get(explanation.method)
    if (method and not method.checked) or not score(explanation.primary).predicts:
        text = f"The scores of {explanation.method} predict no answers that could be checked"
        return Statement(f"{text}; `piste compare --measure` tries them on the model.")
    text = "How well the explanation agrees with the model was not measured"
    few = explanation.budget is None or len(explanation.players) < 2
    reason = (
        f"the text has too few {explanation.unit}s" if few else "the budget left nothing to ask"
    )
    return Statement(f"{text}: {reason}.", warning=True)


def _agreement(kind: str, check: Agreement, scale: str) -> str:
    if kind == "convergence":
        return f"The scores add up to the difference from the baseline within {check.rmse:.2g}."
    one, many = _KINDS.get(kind, (f"new sequence ({kind})", f"new sequences ({kind})"))
    where = f"On {check.samples:,} {one if check.samples == 1 else many}"
    if check.r2 is None and check.samples < FEW_CHECKS:
        return f"{where}, too few for an R², the typical error is {check.rmse:.2g}."
    if check.r2 is None:
        return (
            f"{where} the model's {scale} hardly changes, so there is no R²; "
            f"the typical error is {check.rmse:.2g}."
        )
    return (
        f"{where} the explanation predicts the model's {scale} "
        f"with R² {_r2(check.r2)} (typical error {check.rmse:.2g})."
    )


def _r2(r2: float) -> str:
    # Rounded down, so that 0.998 never reads as perfect and 0.499 never as fair.
    if r2 < -10:
        return "below −10"
    return f"{math.floor(r2 * 100) / 100:.2f}".replace("-", "−")


def _whole_text(surrogate: float, target: Target) -> Statement:
    # A number is not decided for or against: below 0 is not the opposite of above.
    opposite = surrogate * target.score < 0 and target.scale != RAW
    return Statement(
        f"For the whole text the explanation says {signed(surrogate)}, "
        f"the model {signed(target.score)}" + (": the opposite." if opposite else "."),
        warning=opposite,
    )


def rating(r2: float | None) -> str:
    """One word for an R²."""
    if r2 is None:
        return "unknown"
    return next(word for least, word in _RATINGS if r2 >= least)
