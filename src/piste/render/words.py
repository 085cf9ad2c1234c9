"""What an explanation says, in plain sentences; the same ones in every rendering."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from piste.decision import LOG_ODDS, RAW
from piste.methods import METHODS
from piste.render.clean import one_line
from piste.result.explanation import FEW_CHECKS, Agreement, Explanation, Stopped, Target
from piste.result.scores import CLASS, score

TEN = 10  # the strongest, of which `Stopped` speaks
HARDLY = 0.5  # an error of half the score and more
LOW = 0.5  # an R² below it earns a warning
_RATINGS = ((0.9, "very good"), (0.75, "good"), (LOW, "fair"), (-math.inf, "poor"))
_KINDS = {
    "short": ("new short sequence", "new short sequences"),
    "deletions": ("new shortened copy of the text", "new shortened copies of the text"),
    "known": ("shortened copy of the text", "shortened copies of the text (all were asked)"),
    "removals": ("new removal of a few words", "new removals of a few words"),
}
_SIDES = "Above 0 it speaks for {label}, below 0 against"
_BOTH = "Above 0 it speaks for “{label}”, below 0 for “{rival}”"
_UP = "Above 0 it speaks for a higher number, below 0 for a lower one"
_WARNING = "The explanation misses much of what the model does here; do not rely on it alone."
_WARNINGS = {
    "deletions": "Near the whole text the model reacts to the loss of words otherwise than the "
    "explanation predicts: take the scores for what the words do in short texts."
}
ERRORS = "the standard error: asking other sequences would move the score about so far"


@dataclass(frozen=True)
class Statement:
    """A sentence about the explanation, and whether it is a warning."""

    text: str
    warning: bool = False


def signed(number: float) -> str:
    """A score with its sign, short: +0.42, −3.10, 0, +1.2e5."""
    if not math.isfinite(number):
        return "–"
    if number == 0:
        return "0"
    if 0.005 <= abs(number) < 10_000:
        return f"{number:+.2f}".replace("-", "−")
    digits, power = f"{number:+.1e}".split("e")
    return f"{digits}e{int(power)}".replace("-", "−")


def percent(share: float) -> str:
    """A share as a percentage that never claims certainty."""
    if share > 0.9995:
        return "over 99.9 %"
    if 0 <= share < 0.0005:
        return "under 0.1 %"
    digits = 0 if 0.1 <= share < 0.99 else 1
    return f"{share * 100:.{digits}f} %"


def score_of(target: Target) -> str:
    """The model's score, on one line: "log-odds +3.90"."""
    scale = target.scale if target.against is None else LOG_ODDS  # the label says against whom
    return f"{scale} {signed(target.score)}"


def named(target: Target, limit: int = 40) -> str:
    """What scores above 0 speak for: "NUM", or "NUM rather than LOC"."""
    label = one_line(target.label, limit)
    return label if target.against is None else f"{label} rather than {one_line(target.against)}"


def decision(target: Target) -> str:
    """The explained answer: "positive, probability 98 %, log-odds +3.90".

    A contrast goes without: its probability is that of the two labels alone.
    """
    label = named(target)
    if target.probability is None or target.against is not None:
        return f"{label}, {score_of(target)}"
    return f"{label}, probability {percent(target.probability)}, {score_of(target)}"


def alternatives(target: Target) -> str:
    """Which labels the model chooses from, or nothing where there is only one."""
    known = (target.label, target.against)
    others = [one_line(label) for label in target.labels if label not in known]
    if not others:
        return ""
    if len(others) > 6:
        return f"one of {len(target.labels)} labels"
    return f"other label{'s' if len(others) > 1 else ''}: {', '.join(others)}"


def sides(target: Target) -> tuple[str, str]:
    """What scores below and above 0 do."""
    return ("lowers", "raises") if target.scale == RAW else ("against", "for")


def rating(r2: float | None) -> str:
    """One word for an R²."""
    if r2 is None:
        return "unknown"
    return next(word for least, word in _RATINGS if r2 >= least)


def give_or_take(error: float) -> str:
    """A standard error, short: ±0.05."""
    if not error:
        return "±0"
    if 0.005 <= error < 100:
        return f"±{error:.2f}"
    if 100 <= error < 10_000:
        return f"±{error:,.0f}"
    digits, power = f"{error:.0e}".split("e")
    return f"±{digits}e{int(power)}".replace("-", "−")


def told(explanation: Explanation) -> list[str]:
    """The scores for where there is little room: the two that explain, and the one that ranks."""
    names = [name for name in explanation.scores if not _of_class(name, explanation)]
    few = [name for name in names if name in ("value", "importance", explanation.primary)]
    return few if len(few) == 3 else names


def _of_class(name: str, explanation: Explanation) -> bool:
    """Whether a score is that of another class than the target."""
    return CLASS in name and name.split(CLASS, 1)[0] in explanation.scores


def by_class(explanation: Explanation) -> dict[str, str]:
    """Where every class was explained: the score of each, the target's first, by its label."""
    others = [name for name in explanation.scores if _of_class(name, explanation)]
    if not others:
        return {}
    own = others[0].split(CLASS, 1)[0]
    return {explanation.target.label: own} | {name.split(CLASS, 1)[1]: name for name in others}


def statements(explanation: Explanation) -> list[Statement]:
    """How far to trust the explanation, and what it has to say besides."""
    statements = _fidelity(explanation)
    if explanation.surrogate_score is not None:
        statements.append(_whole_text(explanation.surrogate_score, explanation.target))
    if explanation.frame_share is not None:
        share = percent(explanation.frame_share)
        text = f"In the explanation, {share} of the weight lies on the model's special tokens."
        statements.append(Statement(text))
    if explanation.stopped is not None:
        statements.append(Statement(_stopped(explanation.stopped, explanation)))
    if explanation.fit is not None and not explanation.fit.converged:
        steps = explanation.fit.iterations
        text = f"The fit had not settled after {steps:,} steps; the scores may be off."
        statements.append(Statement(text, warning=True))
    return [*statements, *(Statement(note) for note in explanation.notes)]


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
    return f"As usual for its length, asking ended {rounds}: {sure}. A tolerance makes them surer."


def _sure(stopped: Stopped, explanation: Explanation) -> str:
    """Of ten or fewer, the strongest are all there are: to be chosen again says nothing then."""
    unit, spread = explanation.unit, f"±{100 * stopped.spread:,.0f} %"
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
    if explanation.fidelity is None:
        return "Agreement with the model: not measured"
    parts = []
    for kind, check in explanation.fidelity.checks.items():
        if kind == "convergence":
            return _agreement(kind, check, explanation.target.scale)
        where = _KINDS.get(kind, (kind, f"sequences ({kind})"))[1]
        figure = "" if check.r2 is None else f" (R² {_r2(check.r2)})"
        parts.append(f"{rating(check.r2)} on {where}{figure}")
    return f"Agreement with the model: {', '.join(parts)}"


def _fidelity(explanation: Explanation) -> list[Statement]:
    if explanation.fidelity is None:
        return [_not_measured(explanation)]
    statements, scale = [], explanation.target.scale
    for kind, check in explanation.fidelity.checks.items():
        sentence = _agreement(kind, check, scale)
        rated = "" if kind == "convergence" else f"Agreement with the model: {rating(check.r2)}. "
        statements.append(Statement(f"{rated}{sentence}"))
        if check.r2 is not None and check.r2 < LOW:
            statements.append(Statement(_WARNINGS.get(kind, _WARNING), warning=True))
    return statements


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
    opposite = surrogate * target.score < 0
    return Statement(
        f"For the whole text the explanation says {signed(surrogate)}, "
        f"the model {signed(target.score)}" + (": the opposite." if opposite else "."),
        warning=opposite,
    )


def cost(explanation: Explanation) -> str:
    """What the explanation cost: "412 sequences, 2,310 tokens, 0.4 s"."""
    spent = explanation.cost
    seconds = spent.query_seconds + spent.fit_seconds
    if explanation.elsewhere:
        return f"not counted for {explanation.method}; {spent.forwards:,} sequences to check it"
    asked = "1 sequence" if spent.forwards == 1 else f"{spent.forwards:,} sequences"
    return f"{asked}, {spent.tokens:,} tokens, {seconds:.1f} s"


def meanings(explanation: Explanation) -> dict[str, str]:
    """What each score means, by name."""
    words = {
        "unit": explanation.unit,
        "scale": one_line(explanation.target.scale, 60),
        "label": f"“{named(explanation.target)}”",
        "method": explanation.method,
    }
    # A number goes up and down, and is not decided for.
    words["sides"] = _UP if explanation.target.scale == RAW else _SIDES.format(**words)
    if explanation.target.against is not None:
        words["sides"] = _BOTH.format(
            label=one_line(explanation.target.label), rival=one_line(explanation.target.against)
        )
    meanings = {name: _meaning(name, words) for name in explanation.scores}
    if explanation.second is not None and "value" in meanings:
        meanings["value"] = meanings["value"].replace(" alone ", ", with hardly a word beside it, ")
    meanings[explanation.primary] += "; it ranks and colours"
    return meanings


def _meaning(name: str, words: Mapping[str, str]) -> str:
    if CLASS not in name:
        return score(name).meaning.format(**words)
    own, label = name.split(CLASS, 1)
    return f"{own}, for “{one_line(label)}” in place of {words['label']}"


def facts(explanation: Explanation) -> dict[str, str]:
    """Where the explanation comes from: enough to make it again."""
    return {
        "Model": explanation.model,
        "Computed by": explanation.backend,
        "Method": explanation.method,
        "Settings": _pairs(explanation.settings) or "none",
        "Unit": f"{explanation.unit}, repeats {explanation.repeats}",
        "Seed": str(explanation.seed),
        "Budget": "by length" if explanation.budget is None else f"{explanation.budget:,}",
        "Tolerance": _tolerance(explanation),
        "Cost": cost(explanation),
        "Versions": _pairs(explanation.versions) or "not recorded",
    }


def _tolerance(explanation: Explanation) -> str:
    if explanation.stopped is None:
        return "none" if explanation.tolerance is None else "not used"
    return f"{explanation.stopped.tolerance:g}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
