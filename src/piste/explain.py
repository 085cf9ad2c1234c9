"""The whole flow: text -> players -> design -> query -> fit -> Explanation."""

import functools
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from piste.errors import SettingError, whole_number
from piste.explanation import Cost, Explanation, FloatArray, Stopped
from piste.lexicon import Lexicon
from piste.merging import merged
from piste.methods import find_method, settings
from piste.methods.base import Method
from piste.methods.classes import MOST
from piste.methods.every_class import ALL, EveryClass, is_every
from piste.methods.from_lexicon import FromLexicon
from piste.methods.slalom import Slalom
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.models.query import BATCH_TOKENS, Meter, Progress, Query, Watch
from piste.models.target import margins, resolve_target
from piste.ragged import Ragged
from piste.text.cutting import cut
from piste.text.encoding import Encoding, texts
from piste.text.players import split

REPORTED = ("piste", "numpy", "scipy", "torch", "transformers")


def explain(
    text: str,
    classifier: Classifier | str | None = None,
    method: str | Method = "slalom",
    *,
    pair: str | None = None,
    target: str | int | None = None,
    unit: str = "word",
    repeats: str = "shared",
    long: str = "truncate",
    lexicon: Lexicon | str | os.PathLike[str] | None = None,
    refine: int | None = None,
    seed: int = 0,
    budget: int | None = None,
    tolerance: float | None = None,
    batch_tokens: int = BATCH_TOKENS,
    progress: Progress | None = None,
    answers: dict[bytes, FloatArray] | None = None,
    rounds: Watch | None = None,
) -> Explanation:
    """Explain why `classifier` (the embedded model by default) decides on `text` as it does.

    classifier: from `load` or `from_function`; a string is loaded.
    method: a name from `METHODS`, or an object with its own settings: `Slalom(length=5)`.
    pair: a second text, for a model that classifies two at once.
    target: a label, an index, "predicted" (None is the same), "runner-up" or "all": the predicted
    one, with scores for every other class beside.
    unit: "word", "token" or "sentence"; repeats: "shared" gives equal ones one score.
    long: a text that is longer than the model reads is cut off ("truncate"), or explained in
    "windows" and merged.
    lexicon: from `build_lexicon`, or its file: known words are not asked about again, and `refine`
    says how many sequences of this text are asked on top (None: as many as it needs, 0: none).
    seed: of everything random; the same seed and settings give the same scores.
    budget: the most sequences the model may be asked; None: by the length of the text, some
    hundreds for a hundred words.
    tolerance: ask until the strongest scores are known so well: 0.1 is within a tenth. Without a
    budget up to ten times the usual sequences are asked for it; None: 0.05, within the usual ones.
    batch_tokens: how many tokens go through the model at once; it does not change the scores.
    progress: called with (sequences answered, sequences planned).
    answers: a dict that is filled with the model's answers; what it holds already is not asked.
    rounds: called with the scores so far after every round of questions, by a method that asks in
    rounds (slalom). What it or `progress` raises ends the explanation.
    """
    name, chosen = _chosen(method, lexicon, refine)
    classifier = as_classifier(classifier)
    every = is_every(target, classifier)
    wanted = _Wanted(
        name=name,
        method=EveryClass(chosen) if every else chosen,
        settings=settings(chosen) | _for_all(chosen, every),
        target=None if every else target,
        unit=unit,
        repeats=repeats,
        seed=whole_number("seed", seed, 0),
        budget=None if budget is None else whole_number("budget", budget, 1),
        tolerance=None if tolerance is None else _tolerance(tolerance),
    )
    encoding = classifier.encode(*texts(text, pair))
    windows = cut(encoding, long)
    meter = Meter(progress)
    query = Query(
        classifier,
        encoding.frame,
        wanted.budget,
        wanted.tolerance,
        whole_number("batch_tokens", batch_tokens, 1),
        meter,
        answers={} if answers is None else answers,
        rounds=rounds,
    )
    if len(windows) == 1:
        return _explained(windows[0], query, wanted)
    return _in_windows(windows, query, wanted, meter)


@dataclass(frozen=True)
class _Wanted:
    """What is wanted of a text, or of each of its windows."""

    name: str
    method: Method
    settings: dict[str, Any]
    target: str | int | None
    unit: str
    repeats: str
    seed: int
    budget: int | None
    tolerance: float | None


def _explained(encoding: Encoding, query: Query, wanted: _Wanted) -> Explanation:
    """The flow: players, the model's answer, the target, the method's questions and its fit."""
    classifier = query.classifier
    players = split(encoding, wanted.unit, wanted.repeats)
    whole = query.logits(players.tokens(players.whole))[0]
    target = resolve_target(classifier, whole, wanted.target)
    found = wanted.method.explain(query, players, target, np.random.default_rng(wanted.seed))
    return Explanation(
        text=encoding.text,
        players=players.items,
        scores=dict(found.scores),
        errors=dict(found.errors),
        primary=found.primary,
        target=found.target or target,
        cost=Cost(query.forwards, query.tokens, query.seconds, found.fit_seconds),
        method=wanted.name,
        settings=wanted.settings,
        unit=wanted.unit,
        repeats=wanted.repeats,
        seed=wanted.seed,
        budget=wanted.budget,
        tolerance=wanted.tolerance,
        model=classifier.name,
        backend=classifier.backend,
        versions=dict(versions()),
        fidelity=found.fidelity,
        fit=found.fit,
        surrogate_score=found.surrogate_score,
        frame_share=found.frame_share,
        stopped=found.stopped,
        formula=found.formula,
        second=encoding.second,
        notes=encoding.notes
        + found.notes
        + query.notes()
        + _unused(wanted.tolerance, found.stopped, wanted.name),
    )


def _in_windows(
    windows: Sequence[Encoding], query: Query, wanted: _Wanted, meter: Meter
) -> Explanation:
    """Every window explained for the same target, with its share of the budget, and merged."""
    tokens = np.array([len(window.ids) for window in windows])
    weights = tokens / tokens.sum()
    wholes = query.logits(Ragged.of([window.ids for window in windows]))
    classes = range(wholes.shape[1])
    scores = np.stack([margins(wholes, query.classifier, index) for index in classes], axis=1)
    chosen = resolve_target(query.classifier, np.asarray(weights @ scores), wanted.target)
    if isinstance(wanted.method, EveryClass) and len(classes) > MOST:
        raise SettingError(
            f"In windows every class of {MOST} can be explained, and there are {len(classes):,}.",
            "Name the label, or cut the text off.",
        )
    wanted = replace(wanted, target=chosen.index, settings=wanted.settings | {"long": "windows"})
    parts = [
        _window(window, query, int(tokens.sum()), wanted, meter, dict(query.answers))
        for window in windows
    ]
    found = merged(parts, weights.tolist())
    asked = Cost(query.forwards, query.tokens, query.seconds, 0.0)  # which label is predicted
    return replace(found, cost=found.cost + asked)


def _window(
    window: Encoding,
    query: Query,
    tokens: int,
    wanted: _Wanted,
    meter: Meter,
    answers: dict[bytes, FloatArray],
) -> Explanation:
    """One window on a line of its own; its answers are forgotten with it."""
    share = None if query.left is None else query.left * len(window.ids) // tokens
    meter.next()
    line = query.anew(share)
    line.answers = answers
    try:
        return _explained(window, line, wanted)
    except SettingError as error:
        if share is None:
            raise
        raise SettingError(
            f"The budget leaves {share} sequences for one of the windows: {error}",
            "All windows share the budget: give more.",
        ) from error


def _for_all(method: Method, every: bool) -> dict[str, Any]:
    """What explaining all classes changes in the settings."""
    shared = {"classes": "shared"} if isinstance(method, Slalom) else {}
    return {"target": ALL} | shared if every else {}


def _chosen(
    method: str | Method, lexicon: Lexicon | str | os.PathLike[str] | None, refine: int | None
) -> tuple[str, Method]:
    if lexicon is None:
        if refine is not None:
            raise SettingError("refine needs a lexicon.", "Give one, or a budget without it.")
        return find_method(method)
    if method != "slalom":
        raise SettingError("A lexicon holds SLALOM's scores.", 'Leave method at "slalom".')
    known = lexicon if isinstance(lexicon, Lexicon) else Lexicon.load(lexicon)
    return "slalom", FromLexicon(known, refine)


def _tolerance(given: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SettingError(f"tolerance is {given!r}.", "Give a number above 0, up to 1: 0.1.")
    return float(given)


def _unused(tolerance: float | None, stopped: Stopped | None, method: str) -> tuple[str, ...]:
    if tolerance is None or stopped is not None:
        return ()
    return (f"The tolerance had no effect: {method} did not sample in rounds here.",)


@functools.cache
def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in REPORTED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
