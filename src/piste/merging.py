"""One explanation of a long text from those of its windows, with stated weights.

What is explained is the mean of the model's answers to the windows, each weighed by its share of
the tokens. So a score that says how far an answer moves counts with its window's weight; what a
word is worth by itself (value, importance) does not depend on the window it stands in. Words that
share a score get the mean over their places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit

from piste.explanation import (
    SIDELESS,
    Agreement,
    Cost,
    Explanation,
    Fidelity,
    FitReport,
    FloatArray,
    Player,
    Stopped,
)
from piste.ragged import IntArray

BY_ITSELF = frozenset({"value", "importance"})


def merged(parts: Sequence[Explanation], weights: Sequence[float]) -> Explanation:
    """The explanation of all windows together; `weights` sum to 1."""
    first = parts[0]
    players = _players(parts)
    groups = np.array([player.group for player in players])
    scores = {
        name: _shared(_joined([part.scores for part in parts], name, weights), groups)
        for name in first.scores
    }
    known = all(part.errors for part in parts)
    errors = {
        # Parts of a mean may err together, as those of one window do: the mean of their errors.
        name: _shared(_joined([part.errors for part in parts], name, weights), groups)
        for name in (first.errors if known else {})
    }
    target = replace(first.target, score=_mean([part.target.score for part in parts], weights))
    if target.probability is not None:
        likely = _mean([part.target.probability or 0.0 for part in parts], weights)
        odds = target.scale == "log-odds"
        target = replace(target, probability=float(expit(target.score)) if odds else likely)
    return replace(
        first,
        players=players,
        scores=scores,
        errors=errors,
        target=target,
        cost=_cost([part.cost for part in parts]),
        fidelity=_fidelity([part.fidelity for part in parts]),
        fit=_fit([part.fit for part in parts], weights),
        surrogate_score=_maybe_mean([part.surrogate_score for part in parts], weights),
        frame_share=_maybe_mean([part.frame_share for part in parts], weights),
        stopped=_stopped([part.stopped for part in parts]),
        formula=None,  # of one window only
        notes=(_weights_note(weights), *_notes(parts)),
    )


def _players(parts: Sequence[Explanation]) -> tuple[Player, ...]:
    """All players; equal ones of several windows are one group, unless repeats are separate."""
    groups: dict[object, int] = {}
    players = []
    for window, part in enumerate(parts):
        for player in part.players:
            same = player.ids if part.repeats == "shared" else (window, player.group)
            players.append(replace(player, group=groups.setdefault(same, len(groups))))
    return tuple(players)


def _joined(
    found: Sequence[Mapping[str, FloatArray]], name: str, weights: Sequence[float]
) -> FloatArray:
    """A score of all windows' players, in order."""
    by_itself = name.split(":")[0] in BY_ITSELF or name in SIDELESS
    pairs = zip(found, weights, strict=True)
    return np.concatenate([one[name] * (1.0 if by_itself else weight) for one, weight in pairs])


def _shared(scores: FloatArray, groups: IntArray) -> FloatArray:
    return np.asarray((np.bincount(groups, scores) / np.bincount(groups))[groups])


def _mean(numbers: Sequence[float], weights: Sequence[float]) -> float:
    return float(np.dot(numbers, weights))


def _maybe_mean(numbers: Sequence[float | None], weights: Sequence[float]) -> float | None:
    known = [number for number in numbers if number is not None]
    return _mean(known, weights) if len(known) == len(weights) else None


def _cost(costs: Sequence[Cost]) -> Cost:
    return Cost(
        forwards=sum(cost.forwards for cost in costs),
        tokens=sum(cost.tokens for cost in costs),
        query_seconds=sum(cost.query_seconds for cost in costs),
        fit_seconds=sum(cost.fit_seconds for cost in costs),
    )


def _fidelity(found: Sequence[Fidelity | None]) -> Fidelity | None:
    """By kind, the figures of the window that is explained worst: they must not flatter."""
    checks: dict[str, list[Agreement]] = {}
    for fidelity in found:
        for kind, check in (fidelity.checks if fidelity is not None else {}).items():
            checks.setdefault(kind, []).append(check)
    return Fidelity({kind: _worst(some) for kind, some in checks.items()}) if checks else None


def _worst(checks: Sequence[Agreement]) -> Agreement:
    """The lowest R2 and the largest error; `samples` counts those of all windows."""
    known = [check.r2 for check in checks if check.r2 is not None]
    return Agreement(
        r2=min(known, default=None),
        rmse=max(check.rmse for check in checks),
        samples=sum(check.samples for check in checks),
    )


def _fit(found: Sequence[FitReport | None], weights: Sequence[float]) -> FitReport | None:
    fits = [fit for fit in found if fit is not None]
    if len(fits) < len(found):
        return None
    return FitReport(
        converged=all(fit.converged for fit in fits),
        iterations=max(fit.iterations for fit in fits),
        loss=_mean([fit.loss for fit in fits], weights),
    )


def _stopped(found: Sequence[Stopped | None]) -> Stopped | None:
    """The least sure of the windows speaks for all."""
    known = [stopped for stopped in found if stopped is not None]
    return max(known, key=lambda stopped: stopped.spread) if known else None


def _weights_note(weights: Sequence[float]) -> str:
    shares = ", ".join(f"{weight:.0%}" for weight in weights[:12])
    more = " ..." if len(weights) > 12 else ""
    return (
        f"The text is longer than the model reads: it was explained in {len(weights)} windows. The"
        f" score is the mean of the model's answers to them, weighed by their tokens ({shares}"
        f"{more}); agreement is that of the worst window."
    )


def _notes(parts: Sequence[Explanation]) -> list[str]:
    """What the windows have to say, each kind of thing once."""
    said: dict[str, list[tuple[int, str]]] = {}
    for window, part in enumerate(parts, start=1):
        for note in part.notes:
            said.setdefault(" ".join(note.split()[:3]), []).append((window, note))
    return [_told(found, len(parts)) for found in said.values()]


def _told(found: Sequence[tuple[int, str]], windows: int) -> str:
    """One note, and in how many windows there is the like."""
    window, note = found[0]
    if len({text for _, text in found}) == 1 and len(found) == windows:
        return note
    others = f", and the like in {len(found) - 1} other windows" if len(found) > 1 else ""
    return f"In window {window}{others}: {note}"
