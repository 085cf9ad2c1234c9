"""One explanation of a long text from those of its windows, with stated weights.

What is explained is the mean of the model's answers to the windows, each weighed by its share of
the tokens. So a score that says how far an answer moves counts with its window's weight; what a
word is worth by itself (value, importance and so lin) does not depend on the window it stands in.
Importances are told against the special tokens, which all windows share, before they are averaged.
Words that share a score get the mean over their places; effects of places stay with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import percent
from piste.result.explanation import Explanation, Player
from piste.result.facts import (
    LOW,
    Agreement,
    Cost,
    Fidelity,
    FitReport,
    Record,
    Stopped,
    r2_text,
)
from piste.result.parts import NOT_TURNED
from piste.result.scores import score

# What all windows of a text have in common.
COMMON = (
    "text",
    "primary",
    "method",
    "settings",
    "unit",
    "repeats",
    "seed",
    "budget",
    "model",
    "backend",
    "versions",
    "tolerance",
    "second",
)
FEW = 12  # windows whose weights are told
OF_ONE_WINDOW = ("formula", "parts", "flip", "core")  # and of no other: left out


def merged(parts: Sequence[Explanation], weights: Sequence[float]) -> Explanation:
    """The explanation of all windows together; `weights` sum to 1."""
    first = parts[0]
    common = {name: getattr(first, name) for name in COMMON}
    return Explanation(**common, **merged_fields(parts, weights))


def merged_fields(parts: Sequence[Explanation], weights: Sequence[float]) -> dict[str, Any]:
    """Every field in which windows differ, from those of all; together with `COMMON` it is all."""
    first = parts[0]
    players = _players(parts)
    scores, errors = _scores(parts, weights, np.array([player.group for player in players]))
    target = replace(
        first.target,
        score=_mean([part.target.score for part in parts], weights),
        probability=_maybe_mean([part.target.probability for part in parts], weights),
    )
    return {
        "players": players,
        "scores": scores,
        "errors": errors,
        "target": target,
        "cost": sum((part.cost for part in parts), start=Cost(0, 0, 0.0, 0.0, 0)),
        "fidelity": _fidelity([part.fidelity for part in parts]),
        "fit": _fit([part.fit for part in parts], weights),
        "surrogate_score": _maybe_mean([part.surrogate_score for part in parts], weights),
        "frame_share": _maybe_mean([part.frame_share for part in parts], weights),
        "stopped": _stopped([part.stopped for part in parts]),
        "base": _maybe_mean([part.base for part in parts], weights),
        **dict.fromkeys(OF_ONE_WINDOW),
        "record": _record([part.record for part in parts]),
        "notes": (_weights_note(parts, weights), *_interactions_note(parts), *_notes(parts)),
    }


def _scores(
    parts: Sequence[Explanation], weights: Sequence[float], groups: IntArray
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Scores and errors of all windows' players; errors that every window has."""
    told = _aligned(parts)
    by_place = any(part.base is not None for part in parts)

    def joined(of_windows: Sequence[Mapping[str, FloatArray]], name: str) -> FloatArray:
        numbers = _joined(of_windows, name, weights)
        places = by_place and score(name).in_context
        return numbers if places else _shared(numbers, groups)

    scores = {name: joined(told, name) for name in _everywhere(told)}
    if {"value", "importance", "lin"} <= scores.keys():
        scores["lin"] = scores["value"] * np.exp(scores["importance"])
    # Parts of a mean may err together, as those of one window do: the mean of their errors.
    known = [part.errors for part in parts]
    return scores, {name: joined(known, name) for name in _everywhere(known)}


def _everywhere(of_windows: Sequence[Mapping[str, FloatArray]]) -> list[str]:
    """The names that all windows have."""
    return [name for name in of_windows[0] if all(name in one for one in of_windows)]


def _players(parts: Sequence[Explanation]) -> tuple[Player, ...]:
    """All players; equal ones of several windows are one group, unless repeats are separate."""
    groups: dict[object, int] = {}
    players = []
    for window, part in enumerate(parts):
        for player in part.players:
            same = player.ids if part.repeats == "shared" else (window, player.group)
            players.append(replace(player, group=groups.setdefault(same, len(groups))))
    return tuple(players)


def _aligned(parts: Sequence[Explanation]) -> list[dict[str, FloatArray]]:
    """The windows' scores, with importances that mean the same in all of them."""
    frames = [part.formula.frame for part in parts if part.formula is not None]
    known = [frame[1] for frame in frames if frame is not None]
    if len(known) < len(parts) or "importance" not in parts[0].scores:
        return [part.scores for part in parts]
    middle = float(np.mean(known))
    return [
        part.scores | {"importance": part.scores["importance"] + middle - own}
        for part, own in zip(parts, known, strict=True)
    ]


def _joined(
    scores: Sequence[Mapping[str, FloatArray]], name: str, weights: Sequence[float]
) -> FloatArray:
    """A score of all windows' players, in order."""
    by_itself = not score(name).in_context
    pairs = zip(scores, weights, strict=True)
    return np.concatenate([one[name] * (1.0 if by_itself else weight) for one, weight in pairs])


def _shared(scores: FloatArray, groups: IntArray) -> FloatArray:
    return np.asarray((np.bincount(groups, scores) / np.bincount(groups))[groups])


def _mean(numbers: Sequence[float], weights: Sequence[float]) -> float:
    return float(np.dot(numbers, weights))


def _maybe_mean(numbers: Sequence[float | None], weights: Sequence[float]) -> float | None:
    known = [number for number in numbers if number is not None]
    return _mean(known, weights) if len(known) == len(weights) else None


def _fidelity(fidelities: Sequence[Fidelity | None]) -> Fidelity | None:
    """The agreement that three quarters of the windows reach, by kind of check."""
    checks: dict[str, list[Agreement]] = {}
    for fidelity in fidelities:
        for kind, check in (fidelity.checks if fidelity is not None else {}).items():
            checks.setdefault(kind, []).append(check)
    return Fidelity({kind: _reached(some) for kind, some in checks.items()}) if checks else None


def _reached(checks: Sequence[Agreement]) -> Agreement:
    """What three quarters of the windows reach; of up to four that is the worst.

    Of a hundred windows one is nearly always explained badly. `samples` counts those of all.
    """
    r2s = sorted(check.r2 for check in checks if check.r2 is not None)
    errors = sorted((check.rmse for check in checks), reverse=True)
    return Agreement(
        r2=r2s[_quarter(r2s)] if r2s else None,
        rmse=errors[_quarter(errors)],
        samples=sum(check.samples for check in checks),
    )


def _quarter(ranked: Sequence[float]) -> int:
    return (len(ranked) - 1) // 4


def _fit(reports: Sequence[FitReport | None], weights: Sequence[float]) -> FitReport | None:
    fits = [fit for fit in reports if fit is not None]
    if len(fits) < len(reports):
        return None
    return FitReport(
        converged=all(fit.converged for fit in fits),
        iterations=max(fit.iterations for fit in fits),
        loss=_mean([fit.loss for fit in fits], weights),
    )


def _stopped(parts: Sequence[Stopped | None]) -> Stopped | None:
    """The stopping report of the least certain window."""
    known = [stopped for stopped in parts if stopped is not None]
    return max(known, key=lambda stopped: stopped.spread) if known else None


def _record(records: Sequence[Record | None]) -> Record | None:
    """That of the last window; no one answer is to the whole text."""
    last = records[-1]
    return None if last is None else replace(last, outputs=None)


def _weights_note(parts: Sequence[Explanation], weights: Sequence[float]) -> str:
    shares = f" ({', '.join(map(percent, weights))})" if len(weights) <= FEW else ""
    return (
        f"The text is longer than the model reads: it was explained in {len(weights)} windows. The"
        f" score is the mean of the model's answers to them, weighed by their tokens{shares}, and"
        " so is the probability (where windows disagree, it is not that of the score);"
        f" {_worst(parts)}."
    )


def _worst(parts: Sequence[Explanation]) -> str:
    """Whose fidelity is told, and how many windows are explained badly."""
    told = [part.fidelity.worst.r2 if part.fidelity is not None else None for part in parts]
    known = [r2 for r2 in told if r2 is not None]
    if not known or _quarter(known) == 0:
        return "fidelity is that of the worst window"
    bad, lowest = sum(r2 < LOW for r2 in known), min(known)
    where = (
        f"{bad} {'windows have' if bad > 1 else 'window has'} an R² below {LOW}, the"
        if bad
        else "the"
    )
    return (
        f"three quarters of the windows reach the fidelity that is told; {where} lowest R² is"
        f" {r2_text(lowest)}, in window {told.index(lowest) + 1}"
    )


def _interactions_note(parts: Sequence[Explanation]) -> list[str]:
    if all(part.parts is None for part in parts):
        return []
    return [
        "Which words act together, and which would change the decision, is known within windows"
        " only: explain one of them separately to see it."
    ]


def _notes(parts: Sequence[Explanation]) -> list[str]:
    """The notes of all windows, each kind once."""
    said: dict[str, list[tuple[int, str]]] = {}
    for window, part in enumerate(parts, start=1):
        for note in part.notes:
            if note.startswith(NOT_TURNED):
                continue  # of one window: the others may turn it
            said.setdefault(" ".join(note.split()[:3]), []).append((window, note))
    return [_told(notes, len(parts)) for notes in said.values()]


def _told(notes: Sequence[tuple[int, str]], windows: int) -> str:
    """One note, with the number of windows that have a similar one."""
    window, note = notes[0]
    if len({text for _, text in notes}) == 1 and len(notes) == windows:
        return note
    others = (
        f", and similarly in {len(notes) - 1} other window{'s' if len(notes) > 2 else ''}"
        if len(notes) > 1
        else ""
    )
    return f"In window {window}{others}: {note}"
