"""Whether two explanations have the same scores, up to sampling and rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.errors import PisteError, few, several
from piste.extras import versions
from piste.result.explanation import Explanation
from piste.result.facts import Fidelity, r2_text
from piste.result.parts import Pair, PlayerSet
from piste.result.scores import score

BEYOND = 3.0  # standard errors: with the same seed, scores of the same model differ by rounding
FIT_ROUNDING = 0.01  # of the strongest score: what a fit on another machine makes of rounding
ADDED_UP = 1e-6  # of the scores' size: what rounding leaves of a sum
# OpenVINO in place of torch moved errors by an eighth, R² by .0006, the typical error by 1 % and
# interactions by 3 % of the strongest (`benchmarks/verification.py`); the limits leave room.
SAME_ERROR = 0.5  # of the larger of two standard errors
SMALL_ERROR = 0.1  # of the largest: smaller ones are compared with it
SAME_R2, SAME_REST = 0.001, 0.05  # and of what R² leaves unexplained
SAME_RMSE = 0.1
PAIRS, FOUND_PAIRS = 10, 500  # compared, and among which they are looked for
SAME_PAIR = 0.1  # of the strongest interaction
EDGE = 1e-3  # of the score: nearer to 0, rounding decides on the label
CHANGED = "The file was changed: use the original."
NOT_MADE = "The file was changed, or made by another version: use the original, or explain again."
OPTIONS = ("seed", "unit", "repeats", "budget", "tolerance")  # recorded beside the record, too
HOLDS, FAILS, UNKNOWN = "holds", "fails", "unknown"


@dataclass(frozen=True)
class Check:
    """One thing that was tried: whether it holds, what was found, what to do about it."""

    name: str
    outcome: str  # "holds", "fails" or "unknown"
    found: str
    advice: str = ""


def adds_up(explanation: Explanation) -> bool:
    """Whether base and scores are to add up to the model's score."""
    return explanation.base is not None and score(explanation.primary).adds_up


def sum_problem(explanation: Explanation) -> str | None:
    """What base and scores add up to, where that is not the recorded score."""
    if not adds_up(explanation):
        return None
    base, scores = explanation.base or 0.0, explanation.scores[explanation.primary]
    total, size = base + float(scores.sum()), abs(base) + float(np.abs(scores).sum())
    target = explanation.target.score
    if abs(total - target) <= ADDED_UP * max(1.0, size):
        return None
    return f"base and scores add up to {signed(total)}, and the recorded score is {signed(target)}"


def of_scores(then: Explanation, again: Explanation) -> Check:
    """Whether all scores are the same within their standard errors."""
    other = _other_form(then, again)
    if other is not None:
        return other
    wrong = {name: _beyond(then, again, name) for name in then.scores}
    for name, beyond in wrong.items():  # the primary one, which is the first, before others
        if beyond.any():
            return _other_scores(then, again, name, beyond)
    if _other_base(then, again):
        bases = ["none" if one.base is None else signed(one.base) for one in (then, again)]
        found = f"the base differs: {bases[0]} recorded, {bases[1]} now"
        return Check("scores", FAILS, found, NOT_MADE)
    apart = max(float(_apart(then, again, name).max(initial=0.0)) for name in then.scores)
    count = several(sum(map(len, then.scores.values())), "score")
    return Check("scores", HOLDS, f"{count}, equal within {apart:.1g}")


def of_answers(then: Explanation) -> Check | None:
    """The check that fails where the recorded answers give other effects than the recorded ones.

    For explanations that cannot be made again: the answers are compared with the model's.
    """
    surrogate, was = then._surrogate, then.scores.get("effect")
    if surrogate is None or was is None:
        return None
    follow = surrogate.effects[:, 0]
    room = FIT_ROUNDING * max(float(np.abs(follow).max(initial=0.0)), 1e-9)
    if (np.abs(was - follow) <= room).all():
        return None
    worst = int(np.argmax(np.abs(was - follow)))
    word = few([then.players[worst].text])
    found = f"the effect of “{word}” is {signed(was[worst])}, by the recorded answers"
    return Check("scores", FAILS, f"{found} {signed(follow[worst])}", CHANGED)


def _other_form(then: Explanation, again: Explanation) -> Check | None:
    """The check that fails where the scores are of other words, or of another kind."""
    if [player.text for player in then.players] != [player.text for player in again.players]:
        return Check("scores", FAILS, f"the {then.unit}s differ now", "Explain again.")
    missing = [name for name in then.scores if name not in again.scores]
    if missing:
        found = f"{again.method} makes no score {few(missing)!r}"
    elif then.primary != again.primary:
        found = f"{again.method} ranks by {again.primary}, not by {then.primary}"
    elif other := [name for name in OPTIONS if getattr(then, name) != getattr(again, name)]:
        was, now = getattr(then, other[0]), getattr(again, other[0])
        found = f"the {other[0]} is {was} in one place of the file, and {now} in another"
    elif _places(then) != _places(again):
        found = f"the {then.unit}s stand in other places of the text"
    else:
        return None
    return Check("scores", FAILS, found, CHANGED)


def _places(explanation: Explanation) -> list[tuple[int, int, int]]:
    return [(player.start, player.end, player.segment) for player in explanation.players]


def _other_base(then: Explanation, again: Explanation) -> bool:
    """Whether the bases differ by more than a fit makes of rounding; effects share what is taken
    from a base, and each of them may move too little to be seen.
    """
    if then.base is None or again.base is None:
        return then.base is not again.base
    size = abs(again.base) + float(np.abs(again.scores[again.primary]).sum())
    return abs(then.base - again.base) > FIT_ROUNDING * max(size, 1e-9)


def _apart(then: Explanation, again: Explanation, name: str) -> FloatArray:
    return np.abs(then.scores[name] - again.scores[name])


def _beyond(then: Explanation, again: Explanation, name: str) -> BoolArray:
    """Which scores differ by more than sampling and rounding explain."""
    apart = _apart(then, again, name)
    # The file's own errors could have been changed with its scores.
    error = math.sqrt(2) * again.errors.get(name, np.zeros_like(apart))
    largest = float(np.abs(then.scores[name]).max(initial=0.0))
    return np.asarray(apart > BEYOND * error + FIT_ROUNDING * max(largest, 1e-9))


def _other_scores(then: Explanation, again: Explanation, name: str, beyond: BoolArray) -> Check:
    worst = int(np.argmax(np.where(beyond, _apart(then, again, name), 0.0)))
    was, now = float(then.scores[name][worst]), float(again.scores[name][worst])
    word = few([then.players[worst].text])
    found = f"{int(beyond.sum()):,} of {several(len(beyond), name)} differ, most “{word}”"
    advice = "Explain the text again, and look at both with piste diff."
    return Check("scores", FAILS, f"{found}: {signed(was)} recorded, {signed(now)} now", advice)


def of_errors(then: Explanation, again: Explanation) -> Check:
    """Whether standard errors, and how sure the strongest are said to be, come out again."""
    lacking = [name for name in again.errors if name in then.scores and name not in then.errors]
    if lacking:
        return Check("errors", FAILS, f"no standard errors of {few(lacking)} recorded", NOT_MADE)
    if not then.errors:
        return Check("errors", UNKNOWN, f"{then.method} knows none")
    for name, was in then.errors.items():
        if name not in again.errors:
            return Check("errors", FAILS, f"{again.method} knows none of {name}", NOT_MADE)
        now, size = again.errors[name], float(np.abs(again.scores[name]).max(initial=0.0))
        other = _other_errors(was, now, size)
        if other.any():
            worst = int(np.argmax(np.where(other, np.abs(was - now), 0.0)))
            word, pair = few([then.players[worst].text]), f"±{was[worst]:.2g} recorded"
            found = f"those of {name} differ, most “{word}”: {pair}, ±{now[worst]:.2g} now"
            return Check("errors", FAILS, found, NOT_MADE)
    sure = [None if one.stopped is None else one.stopped.spread for one in (then, again)]
    if _other_number(*sure):
        told = ["not said" if one is None else f"±{100 * one:.2g} %" for one in sure]
        found = f"how sure the strongest scores are: {told[0]} recorded, {told[1]} now"
        return Check("errors", FAILS, found, NOT_MADE)
    count = several(sum(map(len, then.errors.values())), "standard error")
    return Check("errors", HOLDS, f"{count}, as made again")


def _other_errors(was: FloatArray, now: FloatArray, size: float) -> BoolArray:
    """Which standard errors differ by more than rounding makes of them, for scores of this size."""
    both = np.maximum(was, now)
    least = SMALL_ERROR * float(both.max(initial=0.0)) + ADDED_UP * size
    return np.asarray(np.abs(was - now) > SAME_ERROR * np.maximum(both, least))


def _other_number(was: float | None, now: float | None) -> bool:
    if was is None or now is None:
        return was is not now
    return abs(was - now) > SAME_ERROR * max(was, now) + ADDED_UP


def of_fidelity(then: Explanation, again: Explanation) -> Check:
    """Whether the recorded R² and typical errors come out again."""
    was, now = then.fidelity, again.fidelity
    if was is None and now is None:
        return Check("fidelity", UNKNOWN, "none is recorded")
    if was is None or now is None or _other_fidelity(was, now):
        told = f"{_fidelity(was)} recorded, {_fidelity(now)} now"
        return Check("fidelity", FAILS, told, NOT_MADE)
    return Check("fidelity", HOLDS, f"{_fidelity(was)}, as measured again")


def _other_fidelity(was: Fidelity, now: Fidelity) -> bool:
    if was.checks.keys() != now.checks.keys():
        return True
    for kind, one in was.checks.items():
        other = now.checks[kind]
        if one.samples != other.samples or (one.r2 is None) != (other.r2 is None):
            return True
        r2, other_r2 = one.r2 or 0.0, other.r2 or 0.0
        if abs(r2 - other_r2) > SAME_R2 + SAME_REST * (1 - max(r2, other_r2)):
            return True
        if abs(one.rmse - other.rmse) > SAME_RMSE * max(one.rmse, other.rmse) + ADDED_UP:
            return True
    return False


def _fidelity(fidelity: Fidelity | None) -> str:
    if fidelity is None:
        return "none"
    worst = fidelity.worst
    r2 = "no R²" if worst.r2 is None else f"R² {r2_text(worst.r2, 4)}"
    return f"{r2} on {worst.samples:,} (typical error {worst.rmse:.2g})"


def of_pairs(then: Explanation, again: Explanation) -> Check:
    """Whether the strongest interactions come out again, with their errors."""
    was, now = _known_pairs(then, PAIRS), _known_pairs(again, FOUND_PAIRS)
    if now and not was:
        return Check("pairs", FAILS, "answers to parts that tell them are missing", NOT_MADE)
    if not was:
        return Check("pairs", UNKNOWN, "none are known")
    known = {(pair.first, pair.second): pair for pair in now}
    largest = max(abs(pair.effect) for pair in (*was, *now[:1]))
    for pair in was:
        other = known.get((pair.first, pair.second))
        if other is None or _other_pair(pair, other, largest):
            told = "none" if other is None else f"{signed(other.effect)} ±{other.error:.2g}"
            words = " + ".join(f"“{few([word])}”" for word in pair.words)
            found = f"{words}: {signed(pair.effect)} ±{pair.error:.2g} recorded, {told} now"
            return Check("pairs", FAILS, found, NOT_MADE)
    return Check("pairs", HOLDS, f"the {len(was)} strongest, as made again")


def _known_pairs(explanation: Explanation, most: int) -> list[Pair]:
    try:
        return explanation.pairs(most)
    except PisteError:  # it knows too little
        return []


def _other_pair(was: Pair, now: Pair, largest: float) -> bool:
    """Whether two forms of one interaction differ by more than sampling and rounding explain."""
    room = BEYOND * math.sqrt(2) * now.error + SAME_PAIR * largest
    errors = (np.array([was.error]), np.array([now.error]))
    return abs(was.effect - now.effect) > room or bool(_other_errors(*errors, largest).any())


def of_sets(then: Explanation, again: Explanation) -> Check | None:
    """The check that fails where a set was found again that the file has not, or not like that."""
    for name, what in (("flip", "turns"), ("core", "keeps")):
        was, found = getattr(then, name), getattr(again, name)
        if was is None and found is not None:
            told = f"none {what} the decision, says the file; {_words(found)} does"
            return Check("sets", FAILS, told, NOT_MADE)
        if was is not None and found is not None and _other_set(was, found, again.target.score):
            told = f"{asked_about(name, found)} {_otherwise(was, found)}"
            return Check("sets", FAILS, told, NOT_MADE)
    return None


def asked_about(name: str, one: PlayerSet) -> str:
    """What the model is asked to try a set: the text without what turns, or what keeps, alone."""
    return f"without {_words(one)}" if name == "flip" else f"with {_words(one)} alone"


def _words(one: PlayerSet) -> str:
    return few([f"“{word}”" for word in one.words])


def _other_set(was: PlayerSet, now: PlayerSet, whole: float) -> bool:
    """Whether one set is said to do something else, or to have been predicted otherwise.

    whole: the score of the text, to tell what is small.
    """
    if was.players != now.players:
        return False  # several may do; the model is asked about the recorded one
    size = max(abs(whole), abs(now.score))
    room = BEYOND * math.sqrt(2) * now.error + SAME_PAIR * size
    error_room = max(SAME_ERROR * max(was.error, now.error), FIT_ROUNDING * size)
    return (
        (was.label != now.label and abs(now.score) > EDGE)
        or abs(was.predicted - now.predicted) > room
        or abs(was.error - now.error) > error_room
    )


def _otherwise(was: PlayerSet, now: PlayerSet) -> str:
    """What differs between two forms of one set: the label, or what was predicted."""
    if was.label != now.label:
        return f"the label is {few([was.label])}, says the file, and {few([now.label])} now"
    each = [f"{signed(one.predicted)} ±{one.error:.2g}" for one in (was, now)]
    return f"the explanation predicts {each[0]}, says the file, and {each[1]} made again"


def of_versions(explanation: Explanation) -> Check:
    """Other versions are no fault: they are named for whoever looks for a reason."""
    now = versions()
    other = [
        f"{name} {was} recorded, {now.get(name, 'none')} now"
        for name, was in explanation.versions.items()
        if now.get(name) != was
    ]
    return Check("versions", UNKNOWN if other else HOLDS, few(other) if other else "the same")


def signed(number: float) -> str:
    return f"{number:+.3g}".replace("-", "−")
