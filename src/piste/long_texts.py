"""A text longer than the model reads: one target for all its windows, each explained by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from piste.arrays import FloatArray, Ragged
from piste.decision import margins, resolve_target
from piste.errors import SettingError
from piste.methods.every_class import MOST
from piste.models.query import Query
from piste.options import Options
from piste.progress import Meter
from piste.result.explanation import Explanation, Target
from piste.text.encoding import Encoding

Work = Callable[[Encoding, Query], Explanation]


def shares(windows: Sequence[Encoding]) -> FloatArray:
    """Each window's share of the tokens."""
    tokens = np.array([len(window.ids) for window in windows])
    return np.asarray(tokens / tokens.sum())


def target_of_all(windows: Sequence[Encoding], query: Query, options: Options) -> Target:
    """The target of every window: chosen by the mean of their answers."""
    wholes = query.logits(Ragged.of([window.ids for window in windows]))
    outputs = range(wholes.shape[1])
    scores = np.stack([margins(wholes, query.classifier, index) for index in outputs], axis=1)
    mean = np.asarray(shares(windows) @ scores)
    return resolve_target(query.classifier, mean, options.target, options.against)


def check_classes(labels: Sequence[str]) -> None:
    """Refuse every class of very many."""
    if len(labels) > MOST:
        raise SettingError(
            f"In windows every class of {MOST} can be explained, and there are {len(labels):,}.",
            "Name the label, or cut the text off.",
        )


def one_by_one(windows: Sequence[Encoding], query: Query, work: Work) -> list[Explanation]:
    """Each window explained, with its share of the budget."""
    tokens, left = np.array([len(window.ids) for window in windows]), query.left
    budgets = [None if left is None else left * count // tokens.sum() for count in tokens]
    return [
        _window(window, query, budget, work)
        for window, budget in zip(windows, budgets, strict=True)
    ]


def _window(window: Encoding, query: Query, budget: int | None, work: Work) -> Explanation:
    """One window on a query of its own; its answers are forgotten with it."""
    if isinstance(query.progress, Meter):
        query.progress.next()
    line = query.anew(budget)
    line.answers = dict(query.answers)
    try:
        return work(window, line)
    except SettingError as error:
        if budget is None:
            raise
        raise SettingError(
            f"The budget leaves {budget} sequences for one of the windows: {error}",
            "All windows share the budget: give more.",
        ) from error
