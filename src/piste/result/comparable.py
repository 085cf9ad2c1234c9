"""Whether two explanations speak of the same number, and what the model decided in each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from piste.errors import SettingError
from piste.result.explanation import Explanation, Target
from piste.result.parts import PlayerSet
from piste.result.scores import score

IN_WINDOWS, CUT_OFF = "in windows", "the beginning only"


def comparable(before: Explanation, after: Explanation) -> tuple[Explanation, Explanation]:
    """Both towards the second's target, or a `SettingError` that says what keeps them apart.

    Of two labels that exclude each other, what speaks against one speaks for the other: an
    explanation of the other label is turned round.
    """
    if _is_opposite(before, after):
        before = opposite(before)
    one, other = before.target, after.target
    for what, was, now, remedy in (
        ("method", before.method, after.method, "Use the same method for both."),
        ("unit", before.unit, after.unit, "Use the same unit for both."),
        ("score", before.primary, after.primary, "Use the same method and settings for both."),
        ("target", one.title, other.title, _same_target(other)),
        ("scale", one.scale, other.scale, "Use the same target and against for both."),
        ("reading", *_readings(before, after), "Use the same --long (long=) for both."),
    ):
        if was != now:
            raise SettingError(
                f"The two explanations cannot be compared: the {what} of the first is {was!r},"
                f" that of the second {now!r}.",
                remedy,
            )
    return before, after


def _readings(before: Explanation, after: Explanation) -> tuple[str, str]:
    """How each text was read, where one was read in windows and of the other only the beginning.

    A text that the model reads at once is read alike either way.
    """
    one, other = (_reading(explanation) for explanation in (before, after))
    return (one, other) if {one, other} == {IN_WINDOWS, CUT_OFF} else ("", "")


def _reading(explanation: Explanation) -> str:
    if explanation.settings.get("long") == "windows":
        return IN_WINDOWS
    read = explanation.players[-1].end if explanation.players else len(explanation.text)
    return CUT_OFF if any(map(str.isalnum, explanation.text[read:])) else ""


def _same_target(target: Target) -> str:
    rival = "" if target.against is None else f", against={target.against!r}"
    return f"Explain both with target={target.label!r}{rival}."


def decided(explanation: Explanation) -> str | None:
    """What the model chose, as far as the explanation tells; None for a number."""
    target, kind = explanation.target, outputs_of(explanation)
    if target.probability is None:
        return None
    if target.against is not None:
        return target.label if target.score > 0 else target.against
    if kind == "labels":
        return target.label if target.score > 0 else f"not {target.label}"
    outputs = None if explanation.record is None else explanation.record.outputs
    if kind == "classes" and outputs is not None and len(outputs) == len(target.labels):
        return target.labels[int(np.argmax(outputs))]
    if target.probability > 0.5:
        return target.label
    others = [label for label in target.labels if label != target.label]
    return others[0] if kind == "classes" and len(others) == 1 else f"not {target.label}"


def opposite(explanation: Explanation) -> Explanation:
    """The same explanation of a decision between two labels, towards the other label.

    Log-odds of two labels differ in sign only, and so does everything that is linear in them.
    """
    parts, formula = explanation.parts, explanation.formula
    if parts is not None:
        parts = replace(parts, answers=-parts.answers)
    if formula is not None:
        frame = formula.frame
        formula = replace(
            formula,
            values=-formula.values,
            level=-formula.level,
            frame=None if frame is None else (-frame[0], frame[1]),
        )
    scores = {
        name: -values if score(name).signed else values
        for name, values in explanation.scores.items()
    }
    return replace(
        explanation,
        scores=scores,
        target=_other_label(explanation.target),
        base=_negative(explanation.base),
        surrogate_score=_negative(explanation.surrogate_score),
        parts=parts,
        formula=formula,
        flip=_turned(explanation.flip),
        core=_turned(explanation.core),
    )


def _is_opposite(before: Explanation, after: Explanation) -> bool:
    one, other = before.target, after.target
    two = len(one.labels) == 2 and one.labels == other.labels and one.index != other.index
    plain = one.scale == other.scale and one.against is None
    return two and plain and {outputs_of(before), outputs_of(after)} == {"classes"}


def outputs_of(explanation: Explanation) -> str | None:
    """What the model's outputs are (`models.protocol.Outputs`); None in files that do not tell."""
    record = explanation.record
    told = None if record is None else record.fingerprint.get("outputs")
    return "raw" if told is None and explanation.target.probability is None else told


def _other_label(target: Target) -> Target:
    index = 1 - target.index
    return replace(
        target,
        index=index,
        label=target.labels[index],
        score=-target.score,
        probability=None if target.probability is None else 1 - target.probability,
    )


def _negative(number: float | None) -> float | None:
    return None if number is None else -number


def _turned(players: PlayerSet | None) -> PlayerSet | None:
    if players is None:
        return None
    return replace(players, predicted=-players.predicted, score=-players.score)
