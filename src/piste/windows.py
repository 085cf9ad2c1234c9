"""A text that is longer than the model reads: every window explained, and all of them merged."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from piste.errors import SettingError
from piste.explanation import Cost, Explanation, FloatArray
from piste.merging import merged
from piste.methods.adapted import Adapted
from piste.methods.classes import MOST
from piste.methods.every_class import EveryClass
from piste.models.query import Meter, Query
from piste.models.target import margins, resolve_target
from piste.ragged import Ragged
from piste.task import Task
from piste.text.encoding import Encoding

Explain = Callable[[Encoding, Query, Task], Explanation]  # the flow, for one window


def in_windows(
    windows: Sequence[Encoding], query: Query, task: Task, explained: Explain
) -> Explanation:
    """Every window explained for the same target, with its share of the budget, and merged."""
    if isinstance(task.method, Adapted):
        raise SettingError(
            "Adapted scores are of a text that the model reads at once.", "Leave long out."
        )
    tokens = np.array([len(window.ids) for window in windows])
    weights = tokens / tokens.sum()
    wholes = query.logits(Ragged.of([window.ids for window in windows]))
    classes = range(wholes.shape[1])
    scores = np.stack([margins(wholes, query.classifier, index) for index in classes], axis=1)
    chosen = resolve_target(query.classifier, np.asarray(weights @ scores), task.target)
    if isinstance(task.method, EveryClass) and len(classes) > MOST:
        raise SettingError(
            f"In windows every class of {MOST} can be explained, and there are {len(classes):,}.",
            "Name the label, or cut the text off.",
        )
    task = replace(task, target=chosen.index, settings=task.settings | {"long": "windows"})
    parts = [
        _window(window, query, int(tokens.sum()), task, explained, dict(query.answers))
        for window in windows
    ]
    found = merged(parts, weights.tolist())
    asked = Cost(query.forwards, query.tokens, query.seconds, 0.0)  # which label is predicted
    return replace(found, cost=found.cost + asked)


def _window(
    window: Encoding,
    query: Query,
    tokens: int,
    task: Task,
    explained: Explain,
    answers: dict[bytes, FloatArray],
) -> Explanation:
    """One window on a line of its own; its answers are forgotten with it."""
    share = None if query.left is None else query.left * len(window.ids) // tokens
    if isinstance(query.progress, Meter):
        query.progress.next()
    line = query.anew(share)
    line.answers = answers
    try:
        return explained(window, line, task)
    except SettingError as error:
        if share is None:
            raise
        raise SettingError(
            f"The budget leaves {share} sequences for one of the windows: {error}",
            "All windows share the budget: give more.",
        ) from error
