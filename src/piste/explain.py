"""The whole flow: text -> players -> design -> query -> fit -> Explanation."""

import functools
import platform
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from piste.errors import SettingError, whole_number
from piste.explanation import Cost, Explanation, FloatArray, Stopped
from piste.methods import find_method, settings
from piste.methods.base import Method
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.models.query import BATCH_TOKENS, Progress, Query
from piste.models.target import resolve_target
from piste.text.encoding import check_text
from piste.text.players import split

REPORTED = ("piste", "numpy", "scipy", "torch", "transformers")


def explain(
    text: str,
    classifier: Classifier | str | None = None,
    method: str | Method = "slalom",
    *,
    target: str | int | None = None,
    unit: str = "word",
    repeats: str = "shared",
    seed: int = 0,
    budget: int | None = None,
    tolerance: float | None = None,
    batch_tokens: int = BATCH_TOKENS,
    progress: Progress | None = None,
    answers: dict[bytes, FloatArray] | None = None,
) -> Explanation:
    """Explain why `classifier` (the embedded model by default) decides on `text` as it does.

    classifier: from `load` or `from_function`; a string is loaded.
    method: a name from `METHODS`, or an object with its own settings: `Slalom(length=5)`.
    target: a label or an index; None explains the predicted one.
    unit: "word", "token" or "sentence"; repeats: "shared" gives equal ones one score.
    seed: of everything random; the same seed and settings give the same scores.
    budget: the most sequences the model may be asked; None: by the length of the text, some
    hundreds for a hundred words.
    tolerance: ask until the strongest scores are known so well: 0.1 is within a tenth. Without a
    budget up to ten times the usual sequences are asked for it; None: 0.05, within the usual ones.
    batch_tokens: how many tokens go through the model at once; it does not change the scores.
    progress: called with (sequences answered, sequences planned).
    answers: a dict that is filled with the model's answers; what it holds already is not asked.
    """
    name, chosen = find_method(method)
    seed = whole_number("seed", seed, 0)
    batch_tokens = whole_number("batch_tokens", batch_tokens, 1)
    budget = None if budget is None else whole_number("budget", budget, 1)
    tolerance = None if tolerance is None else _tolerance(tolerance)
    classifier = as_classifier(classifier)
    encoding = classifier.encode(check_text(text))
    players = split(encoding, unit, repeats)
    query = Query(classifier, encoding.frame, budget, tolerance, batch_tokens, progress)
    query.answers = query.answers if answers is None else answers
    whole = query.logits(players.whole.expand(players.ids))[0]
    resolved = resolve_target(classifier, whole, target)
    found = chosen.explain(query, players, resolved, np.random.default_rng(seed))
    return Explanation(
        text=text,
        players=players.items,
        scores=dict(found.scores),
        errors=dict(found.errors),
        primary=found.primary,
        target=resolved,
        cost=Cost(query.forwards, query.tokens, query.seconds, found.fit_seconds),
        method=name,
        settings=settings(chosen),
        unit=unit,
        repeats=repeats,
        seed=seed,
        budget=budget,
        tolerance=tolerance,
        model=classifier.name,
        backend=classifier.backend,
        versions=dict(_versions()),
        fidelity=found.fidelity,
        fit=found.fit,
        surrogate_score=found.surrogate_score,
        frame_share=found.frame_share,
        stopped=found.stopped,
        formula=found.formula,
        notes=encoding.notes
        + found.notes
        + query.notes()
        + _unused(tolerance, found.stopped, name),
    )


def _tolerance(given: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SettingError(f"tolerance is {given!r}.", "Give a number above 0, up to 1: 0.1.")
    return float(given)


def _unused(tolerance: float | None, stopped: Stopped | None, method: str) -> tuple[str, ...]:
    if tolerance is None or stopped is not None:
        return ()
    return (f"The tolerance had no effect: {method} did not sample in rounds here.",)


@functools.cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in REPORTED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
