"""Reads an `Explanation` from plain data, and checks every field: files may be malicious."""

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

import numpy as np

from piste.arrays import FloatArray
from piste.errors import FileError
from piste.result.explanation import Explanation, Player, Target
from piste.result.facts import Agreement, Cost, Fidelity, FitReport, Record, Stopped
from piste.result.formula import Formula
from piste.result.parts import MOST_PARTS, PartAnswers, PlayerSet

MOST_GROUPS = 2**31  # far more than a text has words
MOST = 2**63 - 1  # token ids and counts: what 64 bits hold
MOST_RELEVANT = 1e5  # a player that differs makes two parts unlike each other long before
STEEPEST = 50.0  # slope of a kernel: its exponential is still a number
SCHEMAS = (1, 2)  # 0.1 wrote the first, in which nothing is kept of parts
T = TypeVar("T")
LARGEST = 1e102  # the product of three such numbers is still one: nothing overflows in a picture


def explanation_from_dict(data: Mapping[str, Any]) -> Explanation:
    """Build the explanation, or say which field is wrong."""
    try:
        return _explanation(_mapping(data))
    except KeyError as error:
        raise _malformed(f"the field {error} is missing") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise _malformed(str(error)) from error
    except RecursionError as error:
        raise _malformed("it is nested too deeply") from error


def _malformed(why: str) -> FileError:
    return FileError(
        f"This is not a piste explanation: {why}.", "Give a file written by to_json()."
    )


def _explanation(data: Mapping[str, Any]) -> Explanation:
    if data["schema"] not in SCHEMAS:
        raise ValueError(f"schema {data['schema']!r} is none of {SCHEMAS}")
    text = _string(data["text"])
    players = tuple(_player(item, len(text)) for item in _sequence(data["players"]))
    scores, errors, primary = _all_scores(data, len(players))
    return Explanation(
        text=text,
        players=players,
        scores=scores,
        errors=errors,
        primary=primary,
        target=_target(_mapping(data["target"])),
        cost=_cost(_mapping(data["cost"])),
        method=_string(data["method"]),
        settings=_settings(_mapping(data["settings"])),
        unit=_string(data["unit"]),
        repeats=_string(data["repeats"]),
        seed=_integer(data["seed"], LARGEST),
        budget=_maybe(data["budget"], _integer),
        tolerance=_maybe(data.get("tolerance"), _number),
        model=_string(data["model"]),
        backend=_string(data["backend"]),
        versions={k: _string(v) for k, v in _mapping(data["versions"]).items()},
        fidelity=_maybe(data["fidelity"], _fidelity),
        fit=_maybe(data["fit"], _fit),
        surrogate_score=_maybe(data["surrogate_score"], _number),
        frame_share=_maybe(data["frame_share"], _number),
        stopped=_maybe(data.get("stopped"), _stopped),
        formula=_maybe(data.get("formula"), lambda value: _formula(value, len(players))),
        parts=_maybe(data.get("parts"), lambda value: _parts(value, len(players), data)),
        base=_maybe(data.get("base"), _number),
        flip=_maybe(data.get("flip"), lambda value: _player_set(value, len(players))),
        core=_maybe(data.get("core"), lambda value: _player_set(value, len(players))),
        second=_maybe(data.get("second"), lambda value: _place(value, len(text))),
        notes=tuple(_string(note) for note in _sequence(data["notes"])),
        record=_maybe(data.get("record"), _record),
    )


def _all_scores(
    data: Mapping[str, Any], count: int
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], str]:
    """Scores, errors and the name of the primary score, which go together."""
    scores = {name: _scores(v, count) for name, v in _mapping(data["scores"]).items()}
    errors = {name: _scores(v, count) for name, v in _mapping(data["errors"]).items()}
    if not errors.keys() <= scores.keys():
        raise ValueError(f"errors of {sorted(errors)} do not go with scores of {sorted(scores)}")
    lowest = min((float(error.min(initial=0)) for error in errors.values()), default=0.0)
    if lowest < 0:
        raise ValueError(f"a standard error is below 0: {lowest}")
    if data.get("parts") is not None and "effect" not in errors:
        raise ValueError("there are answers to parts of the text, and no effects with errors")
    primary = _string(data["primary"])
    if primary not in scores:
        raise ValueError(f"the primary score {primary!r} is not among the scores")
    return scores, errors, primary


def _player(item: Any, length: int) -> Player:
    data = _mapping(item)
    start, end = _integer(data["start"]), _integer(data["end"])
    if not 0 <= start <= end <= length:
        raise ValueError(f"a player at {start}..{end} lies outside the text")
    ids = tuple(_integer(token) for token in _sequence(data["ids"]))
    segment = _integer(data.get("segment", 0))
    if segment not in (0, 1):
        raise ValueError(f"there is no segment {segment}")
    group = _integer(data["group"], LARGEST)
    if not 0 <= group < MOST_GROUPS:
        raise ValueError(f"there is no group {group}")
    return Player(_string(data["text"]), start, end, ids, group, segment)


def _place(value: Any, length: int) -> int:
    place = _integer(value)
    if not 0 <= place <= length:
        raise ValueError(f"character {place} lies outside the text")
    return place


def _target(data: Mapping[str, Any]) -> Target:
    labels = tuple(_string(label) for label in _sequence(data["labels"]))
    index, label = _integer(data["index"]), _string(data["label"])
    if not 0 <= index < len(labels) or labels[index] != label:
        raise ValueError(f"the target {index} ({label!r}) is not one of its labels")
    against = _maybe(data.get("against"), _string)
    rival = _maybe(data.get("against_index"), _integer)
    if not _is_contrast(against, rival, index, labels):
        raise ValueError(f"{against!r} ({rival}) is no other of its labels")
    return Target(
        index=index,
        label=label,
        scale=_string(data["scale"]),
        score=_number(data["score"]),
        probability=_maybe(data["probability"], _share),
        labels=labels,
        against=against,
        against_index=rival,
    )


def _is_contrast(
    against: str | None, rival: int | None, index: int, labels: tuple[str, ...]
) -> bool:
    """Whether both name the same other label than the target, or neither names any."""
    if against is None or rival is None:
        return against is None and rival is None
    return 0 <= rival < len(labels) and rival != index and labels[rival] == against


def _cost(data: Mapping[str, Any]) -> Cost:
    return Cost(
        forwards=_integer(data["forwards"]),
        tokens=_integer(data["tokens"]),
        query_seconds=_number(data["query_seconds"]),
        fit_seconds=_number(data["fit_seconds"]),
        full_tokens=_maybe(data.get("full_tokens"), _integer),
    )


def _fidelity(value: Any) -> Fidelity:
    checks = {name: _agreement(_mapping(item)) for name, item in _mapping(value).items()}
    if not checks:
        raise ValueError("the fidelity holds no check")
    return Fidelity(checks)


def _agreement(data: Mapping[str, Any]) -> Agreement:
    return Agreement(_maybe(data["r2"], _number), _number(data["rmse"]), _integer(data["samples"]))


def _fit(value: Any) -> FitReport:
    data = _mapping(value)
    if not isinstance(data["converged"], bool):
        raise TypeError(f"converged is {data['converged']!r}, not true or false")
    return FitReport(data["converged"], _integer(data["iterations"]), _number(data["loss"]))


def _stopped(value: Any) -> Stopped:
    data = _mapping(value)
    return Stopped(
        reason=_string(data["reason"]),
        rounds=_integer(data["rounds"]),
        tolerance=_number(data["tolerance"]),
        spread=_number(data["spread"]),
        ranking=_number(data["ranking"]),
    )


def _record(value: Any) -> Record:
    data = _mapping(value)
    outputs = _maybe(data.get("outputs"), _sequence)
    return Record(
        made=_date(data["made"]),
        options=_settings(_mapping(data["options"])),
        fingerprint=_settings(_mapping(data["fingerprint"])),
        unknown=_maybe(data.get("unknown"), _string),
        outputs=None if outputs is None else tuple(map(_number, outputs)),
    )


def _formula(value: Any, players: int) -> Formula:
    data = _mapping(value)
    knots = len(_sequence(data["lengths"]))
    lengths = _scores(data["lengths"], knots, "knots")
    if not knots or lengths[0] <= 0 or (np.diff(lengths) <= 0).any():
        raise ValueError(f"the formula's lengths do not rise from above 0: {lengths.tolist()}")
    frame = _maybe(data["frame"], lambda pair: _scores(pair, 2, "numbers"))
    return Formula(
        values=_scores(data["values"], players),
        importances=_scores(data["importances"], players),
        frame=None if frame is None else (float(frame[0]), float(frame[1])),
        lengths=lengths,
        level=_scores(data["level"], knots, "knots"),
        scale=_scores(data["scale"], knots, "knots"),
    )


def _parts(value: Any, players: int, whole: Mapping[str, Any]) -> PartAnswers:
    data = _mapping(value)
    kept = tuple(_string(part) for part in _sequence(data["kept"]))
    if any(len(part) != players or set(part) - {"0", "1"} for part in kept):
        raise ValueError("the parts are not strings of 0 and 1, one for each player")
    if len(kept) > MOST_PARTS or len(set(kept)) < len(kept) or "1" * players not in kept:
        raise ValueError(
            f"the parts are not up to {MOST_PARTS:,} distinct ones, the text among them"
        )
    for name in ("on_slalom", "base_is_given"):
        if not isinstance(data.get(name, False), bool):
            raise TypeError(f"{name} is {data[name]!r}, not true or false")
    if data["on_slalom"] and whole.get("formula") is None:
        raise ValueError("the parts stand on a formula, and there is none")
    relevances = _scores(data["relevances"], players)
    numbers = {name: _number(data[name]) for name in ("noise", "amplitude", "inflation")}
    for name, number in (*numbers.items(), ("a relevance", float(relevances.min(initial=1.0)))):
        if number <= 0:
            raise ValueError(f"{name} is not above 0: {number}")
    if float(relevances.max(initial=0.0)) > MOST_RELEVANT:
        raise ValueError(f"a relevance is above {MOST_RELEVANT:.0e}")
    slope = _number(data["slope"])
    if abs(slope) > STEEPEST:
        raise ValueError(f"the slope is steeper than {STEEPEST}: {slope}")
    answers, varies = _scores(data["answers"], len(kept), "parts"), _number(data.get("varies", 0.0))
    if varies < 0:
        raise ValueError(f"varies is below 0: {varies}")
    return PartAnswers(
        kept,
        answers,
        relevances,
        slope=slope,
        on_slalom=data["on_slalom"],
        base_is_given=data.get("base_is_given", False),
        varies=varies,
        **numbers,
    )


def _player_set(value: Any, players: int) -> PlayerSet:
    data = _mapping(value)
    members = tuple(_integer(index) for index in _sequence(data["players"]))
    absent = [index for index in members if not 0 <= index < players]
    if absent:
        raise ValueError(f"there is no player {absent[0]}")
    error = _number(data["error"])
    if error < 0:
        raise ValueError(f"a standard error is below 0: {error}")
    return PlayerSet(
        players=members,
        predicted=_number(data["predicted"]),
        error=error,
        score=_number(data["score"]),
        label=_string(data["label"]),
    )


def _scores(value: Any, wanted: int, whose: str = "players") -> FloatArray:
    numbers = [_number(item) for item in _sequence(value)]
    if len(numbers) != wanted:
        raise ValueError(f"{len(numbers)} scores do not fit {wanted} {whose}")
    return np.array(numbers, dtype=np.float64)


def _settings(value: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data of any shape, as long as JSON can hold it again."""
    copy: dict[str, Any] = json.loads(json.dumps(dict(value), allow_nan=False))
    return copy


def _maybe(value: Any, read: Callable[[Any], T]) -> T | None:
    return None if value is None else read(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, found {_kind(value)}")
    if not all(isinstance(key, str) for key in value):
        raise TypeError("the name of a field is not a text")
    return value


def _sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {_kind(value)}")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {_kind(value)}")
    return value


def _integer(value: Any, most: float = MOST) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, found {_kind(value)}")
    if abs(value) > most:
        raise ValueError(f"a whole number is larger than {most:.0e}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {_kind(value)}")
    if not math.isfinite(value):
        raise ValueError(f"a number is not finite: {value}")
    if abs(value) > LARGEST:
        raise ValueError(f"a number is larger than {LARGEST:.0e}")
    return float(value)


def _share(value: Any) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError(f"a probability lies outside 0..1: {number}")
    return number


def _date(value: Any) -> str:
    date = datetime.fromisoformat(_string(value))
    if date.utcoffset() != timedelta(0):
        raise ValueError(f"the date {value!r} is not in UTC")
    return date.isoformat(timespec="seconds")


def _kind(value: Any) -> str:
    return type(value).__name__
