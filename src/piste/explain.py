"""The whole flow: text -> players -> design -> query -> fit -> Explanation."""

import os

import numpy as np

from piste.explanation import Cost, Explanation, FloatArray
from piste.lexicon import Lexicon
from piste.methods.base import Method
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.models.query import BATCH_TOKENS, Meter, Progress, Query, Watch
from piste.models.target import resolve_target
from piste.task import Task, versions
from piste.text.cutting import cut
from piste.text.encoding import Encoding, texts
from piste.text.players import split
from piste.windows import in_windows


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
    classifier = as_classifier(classifier)
    task = Task.of(
        method,
        classifier,
        target=target,
        unit=unit,
        repeats=repeats,
        lexicon=lexicon,
        refine=refine,
        seed=seed,
        budget=budget,
        tolerance=tolerance,
        batch_tokens=batch_tokens,
    )
    encoding = classifier.encode(*texts(text, pair))
    windows = cut(encoding, long)
    query = Query(
        classifier,
        encoding.frame,
        task.budget,
        task.tolerance,
        task.batch_tokens,
        Meter(progress),
        answers={} if answers is None else answers,
        rounds=rounds,
    )
    if len(windows) > 1:
        return in_windows(windows, query, task, explained)
    return explained(windows[0], query, task)


def explained(encoding: Encoding, query: Query, task: Task) -> Explanation:
    """The flow for what fits into the model at once.

    The method does the middle of it: it designs sequences of players, asks the query for the
    model's answers to them, and fits its scores to these.
    """
    classifier = query.classifier
    players = split(encoding, task.unit, task.repeats)
    whole = query.logits(players.tokens(players.whole))[0]
    target = resolve_target(classifier, whole, task.target)
    found = task.method.explain(query, players, target, np.random.default_rng(task.seed))
    return Explanation(
        text=encoding.text,
        players=players.items,
        scores=dict(found.scores),
        errors=dict(found.errors),
        primary=found.primary,
        target=found.target or target,
        cost=Cost(query.forwards, query.tokens, query.seconds, found.fit_seconds),
        method=task.name,
        settings=task.settings,
        unit=task.unit,
        repeats=task.repeats,
        seed=task.seed,
        budget=task.budget,
        tolerance=task.tolerance,
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
        notes=encoding.notes + found.notes + query.notes() + task.notes(found.stopped),
    )
