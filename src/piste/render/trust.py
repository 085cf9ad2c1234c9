"""How far to trust an explanation, in plain sentences; the same ones in every rendering."""

import math
from dataclasses import dataclass
from enum import Enum

from piste.decision import LOG_ODDS, RAW
from piste.methods import METHODS
from piste.methods.base import MORE_BUDGET
from piste.methods.lime import NEAR
from piste.models.backends.function import UNSTEADY
from piste.models.pairs import MISREAD
from piste.options import EFFORTS
from piste.render.words import percent, signed, typical
from piste.result.explanation import Explanation, Target
from piste.result.facts import FEW_CHECKS, GROUPS, LOW, Agreement, Stopped, r2_text
from piste.result.scores import score
from piste.text.encoding import UNREAD, UNTOLD

THOROUGH = EFFORTS[-1]
TEN = 10  # the strongest, of which `Stopped` speaks
HARDLY = 0.5  # an error of half the score and more
_RATINGS = ((0.9, "very good"), (0.75, "good"), (LOW, "fair"), (-math.inf, "poor"))
_KINDS = {
    "parts": ("held-out part of this text", "held-out parts of this text"),
    "groups": ("held-out group of words", "held-out groups of words"),
    "short": ("new short sequence", "new short sequences"),
    "deletions": ("new shortened copy of the text", "new shortened copies of the text"),
    "known": ("shortened copy of the text", "shortened copies of the text, all seen by the fit"),
    "removals": ("new removal of a few words", "new removals of a few words"),
}
_EXACT = "Fidelity: exact. The model was asked about every part of this text."
_ALL_BUT_NOTHING = "Fidelity: exact. The model was asked about every part but the empty one."
_UNTESTED = "Fidelity: unknown for the text itself; only small groups of its words were checked"
_COMPARE = "`piste compare --measure` to see which method holds here"
_LOW = {
    "parts": "Do not rely on this explanation: it does not predict the model's answers to parts of"
    " this text",
    "groups": "Do not rely on this explanation: it does not predict the model's answers to groups"
    " of words of this text",
    "deletions": "These scores don't hold for the full text",
    "known": "These scores don't hold for the full text",
    "removals": "These scores don't hold for the full text",
    "short": "These scores don't hold even for short sequences of these words",
}


class Topic(Enum):
    """What a statement is about: where there is little room, not every one is shown."""

    FIDELITY = "fidelity"
    SAMPLING = "sampling"  # why no more was asked, and how sure the scores are
    DETAIL = "detail"
    NOTE = "note"  # what the method or the text has to say


@dataclass(frozen=True)
class Statement:
    """A sentence about the explanation, and whether it is a warning."""

    text: str
    warning: bool = False
    topic: Topic = Topic.NOTE


def statements(explanation: Explanation) -> list[Statement]:
    """How far to trust the explanation, and what it has to say besides."""
    fidelity = _fidelity(explanation)
    return [
        *fidelity,
        *_whole_text(explanation, advised=any(one.warning for one in fidelity)),
        *_frame(explanation),
        *_sampling(explanation),
        *_fit(explanation),
        *(Statement(note, warning=_warns(note)) for note in explanation.notes),
    ]


def _warns(note: str) -> bool:
    """Whether a note says that the scores are not to be taken as they are."""
    return any(phrase in note for phrase in (UNREAD, UNTOLD, MORE_BUDGET, NEAR, UNSTEADY, MISREAD))


def _frame(explanation: Explanation) -> list[Statement]:
    if explanation.frame_share is None:
        return []
    text = f"{percent(explanation.frame_share)} of the weight lies on the model's special tokens."
    return [Statement(text, topic=Topic.DETAIL)]


def _fit(explanation: Explanation) -> list[Statement]:
    if explanation.fit is None or explanation.fit.converged:
        return []
    end = f"The fit did not converge in {explanation.fit.iterations:,} steps"
    if explanation.parts is None:
        return [Statement(f"{end}: scores may be off. {_act(explanation)}", warning=True)]
    # What lies on top of SLALOM makes up for it in the effects, and is checked itself.
    return [Statement(f"{end}: importances may be off.")]


def exact(explanation: Explanation) -> bool:
    """Whether the model was asked about every part of the text that it can read."""
    return explanation.parts is not None and explanation.parts.complete


def _exactly(explanation: Explanation) -> str:
    given = explanation.parts is not None and explanation.parts.base_is_given
    return _ALL_BUT_NOTHING if given else _EXACT


def _sampling(explanation: Explanation) -> list[Statement]:
    """Why no more was asked, how sure the strongest scores are, and what makes them surer."""
    stopped = explanation.stopped
    if stopped is None or exact(explanation):
        return []
    sure = _sure(stopped, explanation)
    if stopped.reason == "stable":
        rounds = f"{stopped.rounds} round{'s' if stopped.rounds > 1 else ''}"
        text = f"Stopped when stable, after {rounds} of questions: {sure}."
        return [Statement(text, topic=Topic.SAMPLING)]
    if stopped.reason == "exhausted":
        text = f"Stopped because nothing new was left to ask: {sure}."
        return [Statement(text, topic=Topic.SAMPLING)]
    text = f"Stopped at the {_budget(explanation)}: {sure}. {tighter(explanation)}"
    return [Statement(text, warning=stopped.spread > HARDLY, topic=Topic.SAMPLING)]


def _budget(explanation: Explanation) -> str:
    if explanation.budget is not None:
        return "given budget"
    effort = explanation.settings.get("effort", "normal")
    return "default budget" if effort == "normal" else f"budget of effort {effort}"


def tighter(explanation: Explanation) -> str:
    """What to change for smaller errors: the one knob where there is one."""
    effort = explanation.settings.get("effort")
    if explanation.budget is not None or explanation.tolerance is not None:
        knob = "a larger --budget"
    elif effort is None:
        knob = "--tolerance 0.1"
    else:
        knob = "--budget 2000" if effort == THOROUGH else f"--effort {THOROUGH}"
    return f"Use {knob} for tighter errors."


def _sure(stopped: Stopped, explanation: Explanation) -> str:
    """Of ten or fewer, the strongest are all there are: to be chosen again says nothing then."""
    spread = f"±{max(1.0, 100 * stopped.spread):,.0f} %"
    sure = f"the strongest scores are known within {spread}"
    if stopped.spread > HARDLY and stopped.reason != "stable":
        sure = f"even the strongest scores are uncertain ({spread})"
    if len({player.group for player in explanation.players}) <= TEN:
        return sure
    again = "all" if stopped.ranking > 0.9995 else percent(stopped.ranking)
    return f"{sure}, and another sample would choose {again} of them again"


def warnings(explanation: Explanation) -> list[Statement]:
    """What must be read before the scores."""
    return [one for one in statements(explanation) if one.warning]


def headline(explanation: Explanation) -> str:
    """The fidelity in one short line, for where there is room for no more."""
    if exact(explanation):
        return _exactly(explanation)
    if explanation.fidelity is None:
        return "Fidelity: not measured"
    parts = []
    for kind, check in explanation.fidelity.checks.items():
        if kind == "convergence":
            return _agreement(kind, check, explanation.target)
        figure = "" if check.r2 is None else f"R² {r2_text(check.r2)} "
        if kind == GROUPS:
            parts.append(f"unknown for the text itself ({figure}on {_where(kind, 2)})")
            continue
        parts.append(f"{rating(check.r2)} ({figure}on {_where(kind, 2)})")
    return f"Fidelity: {', '.join(parts)}"


def _fidelity(explanation: Explanation) -> list[Statement]:
    if exact(explanation):
        return [Statement(_exactly(explanation), topic=Topic.FIDELITY)]
    if explanation.fidelity is None:
        return [_not_measured(explanation)]
    statements, target = [], explanation.target
    for kind, check in explanation.fidelity.checks.items():
        statements.append(Statement(_agreement(kind, check, target), topic=Topic.FIDELITY))
        if check.r2 is not None and check.r2 < LOW:
            statements.append(Statement(_low(kind, check.r2, explanation), warning=True))
    return statements


def _low(kind: str, r2: float, explanation: Explanation) -> str:
    """What a low R² means, and what to do about it."""
    meaning = _LOW.get(kind, "Do not rely on this explanation alone: it misses what the model does")
    return f"{meaning} (R² {r2_text(r2)}). {_act(explanation)}"


def _act(explanation: Explanation) -> str:
    return f"Try {more_effort(explanation)}."


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
        text = f"Fidelity: cannot be measured; scores of {explanation.method} predict no answers."
        advice = "`piste compare --measure` tests them on the model."
        return Statement(f"{text} {advice}", topic=Topic.FIDELITY)
    if explanation.budget is None or len(explanation.players) < 2:
        text = f"Fidelity: not measured; the text has too few {explanation.unit}s."
        return Statement(text, topic=Topic.FIDELITY)
    text = (
        "Fidelity was not measured: the budget left nothing to check with. Use a larger --budget."
    )
    return Statement(text, warning=True, topic=Topic.FIDELITY)


def _agreement(kind: str, check: Agreement, target: Target) -> str:
    size, scale = typical(check.rmse, target.score), target.scale
    error = f"typical error {size}"
    if kind == "convergence":
        return f"The scores add up to the difference from the baseline (off by {size})."
    where = f"{check.samples:,} {_where(kind, check.samples)}"
    if check.r2 is None and check.samples < FEW_CHECKS:
        verb = "is" if check.samples == 1 else "are"
        return f"Fidelity: unknown. {where} {verb} too few for an R² ({error})."
    if check.r2 is None:
        verb = "change" if scale.startswith(LOG_ODDS) else "changes"
        flat = f"The model's {scale} hardly {verb} on {where}, so there is no R²"
        return f"Fidelity: unknown. {flat} ({error})."
    if kind == GROUPS:
        return f"{_UNTESTED} (R² {r2_text(check.r2)} on {where}, {error})."
    return f"Fidelity: {rating(check.r2)}. R² {r2_text(check.r2)} on {where} ({error})."


def _where(kind: str, samples: int) -> str:
    one, many = _KINDS.get(kind, (f"new sequence ({kind})", f"new sequences ({kind})"))
    return one if samples == 1 else many


def _whole_text(explanation: Explanation, advised: bool) -> list[Statement]:
    """What the explanation says of the full text; no advice where a warning has given it."""
    if explanation.surrogate_score is None:
        return []
    surrogate, target = explanation.surrogate_score, explanation.target
    predicted = f"predicts {target.scale} {signed(surrogate)} for the full text"
    text = f"The explanation {predicted}; the model says {signed(target.score)}."
    # A number is not decided for or against: below 0 is not the opposite of above.
    if surrogate * target.score >= 0 or target.scale == RAW:
        return [Statement(text, topic=Topic.DETAIL)]
    advice = "" if advised else f" Don't rely on it. {_act(explanation)}"
    return [Statement(f"{text}{advice}", warning=True)]


def rating(r2: float | None) -> str:
    """One word for an R²."""
    if r2 is None:
        return "unknown"
    return next(word for least, word in _RATINGS if r2 >= least)
