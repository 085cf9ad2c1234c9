"""The whole flow: text -> players -> design -> query -> fit -> Explanation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, overload

import numpy as np

from piste.arrays import FloatArray
from piste.data import DEFAULT as COLUMNS
from piste.data import Columns, Example, read_examples, source_size, with_pairs
from piste.decision import Decision
from piste.errors import SettingError
from piste.extras import versions
from piste.long_texts import check_classes, one_by_one, shares, target_of_all
from piste.many import Explanations, explained
from piste.methods import find_method, refuse_swapped
from piste.methods.base import Attribution, Method
from piste.methods.every_class import explain_every_class
from piste.models.fingerprint import identity
from piste.models.loading import as_classifier
from piste.models.pairs import text_notes
from piste.models.protocol import Classifier, MayVary
from piste.models.query import OnRound, Query
from piste.models.sharing import THREADS, Gathering
from piste.options import ALL, Options
from piste.progress import Meter, Progress, watching
from piste.result.explanation import Explanation, Target
from piste.result.facts import Cost, Record
from piste.result.merging import merged
from piste.rows.objects import ManyTexts, holds_many
from piste.text.encoding import Encoding, cut, texts
from piste.text.spans import displaced, own_spans, placed


@overload
def explain(
    text: str,
    classifier: Classifier | str | None = None,
    method: str | Method = "context",
    *,
    pair: str | None = None,
    target: str | int | None = None,
    unit: str = "word",
    seed: int = 0,
    budget: int | None = None,
    progress: Progress | bool | None = None,
    **more: Any,
) -> Explanation: ...


@overload
def explain(
    text: ManyTexts,
    classifier: Classifier | str | None = None,
    method: str | Method = "context",
    *,
    pair: str | Iterable[str] | None = None,
    target: str | int | None = None,
    unit: str = "word",
    seed: int = 0,
    budget: int | None = None,
    progress: Progress | bool | None = None,
    **more: Any,
) -> Explanations: ...


def explain(
    text: str | ManyTexts,
    classifier: Classifier | str | None = None,
    method: str | Method = "context",
    *,
    pair: str | Iterable[str] | None = None,
    target: str | int | None = None,
    unit: str = "word",
    seed: int = 0,
    budget: int | None = None,
    progress: Progress | bool | None = None,
    **more: Any,
) -> Explanation | Explanations:
    """Explain why `classifier` (the embedded model by default) decides on `text` as it does.

    text: one text; or many, which share batches: a list, a `datasets.Dataset`, a data frame or one
    of its columns, an iterator. Of many the result is a list, in which a text that failed stands
    with the reason; of an iterator they are explained as you go through it.
    classifier: from `load` or `from_function`; or a name, a transformers model or pipeline.
    method: a name from `METHODS`, or an object with its own settings: `Slalom(length=5)`.
    pair: a second text, for a model that classifies two at once; for many, one for each or for all.
    target: a label, an index, "predicted" (None is the same), "runner-up" or "all": the predicted
    one, with scores for every other class beside.
    unit: "word", "token", "phrase", "noun-chunk", "sentence" or "span"; `spans`, below, come first.
    seed: of everything random; the same seed and settings give the same scores.
    budget: the most sequences the model may be asked; None: by the length of the text, some
    hundreds for a hundred words.
    progress: True for a bar, or a function of (sequences answered, sequences planned); with many
    texts, of (texts explained, texts).
    more: the other settings of `Options`: spans (units of your own), against (why the target rather
    than that label), repeats, long, lexicon, refine, effort, tolerance, batch_tokens; and with many
    texts `columns`, which says what the columns of a data set are called: `Columns(text="review")`.
    And `rounds`, called with the scores so far after every round of questions, by a method that
    asks in rounds. What it or `progress` raises ends the explanation.
    """
    several = holds_many(text)
    columns: Columns = more.pop("columns", COLUMNS) if several else COLUMNS
    if not several:
        texts(text, pair)  # refuses what is none
    asking = _Asking.of(classifier, method, target, unit, seed, budget, more)
    if several:
        return _many(text, pair, columns, asking, progress)
    with watching(progress, "Asking the model") as told:
        return asking.explain(str(text), None if pair is None else str(pair), Meter(told))


@dataclass(frozen=True)
class _Asking:
    """How texts are explained: model, method and settings, and what belongs to one call."""

    classifier: Classifier
    method: Method
    options: Options
    rounds: OnRound | None
    answers: dict[bytes, FloatArray] | None
    gathering: Gathering | None

    @classmethod
    def of(
        cls,
        classifier: Classifier | str | None,
        method: str | Method,
        target: str | int | None,
        unit: str,
        seed: int,
        budget: int | None,
        more: dict[str, Any],
    ) -> _Asking:
        refuse_swapped(classifier, method, more)
        shared = {name: more.pop(name, None) for name in ("rounds", "answers", "gathering")}
        options = Options.of(target=target, unit=unit, seed=seed, budget=budget, **more)
        return cls(as_classifier(classifier), choose_method(method, options), options, **shared)

    def explain(self, text: str, pair: str | None, meter: Meter | None = None) -> Explanation:
        """One text explained."""
        classifier = self.classifier
        text, pair, options = placed(text, pair, self.options)
        encoding = classifier.encode(*texts(text, pair))
        query = Query(
            classifier,
            encoding.frame,
            options.budget,
            options.tolerance,
            options.batch_tokens,
            meter,
            answers={} if self.answers is None else self.answers,
            rounds=self.rounds,
            gathering=self.gathering,
        )
        plan = _Plan.of(self.method, options, classifier)
        windows = cut(encoding, options.long)
        if len(windows) == 1:
            return _explained(windows[0], query, plan)
        return _in_windows(windows, query, plan)

    def in_company(self, gathering: Gathering, example: Example) -> Explanation:
        """One of many, whose questions share batches with those of others."""
        return replace(self, gathering=gathering).explain(example.text, example.pair)


def _many(
    source: Iterable[Any],
    pair: str | Iterable[str] | None,
    columns: Columns,
    asking: _Asking,
    progress: Progress | bool | None,
) -> Explanations:
    """Every text explained, or the reason why it is not."""
    if asking.rounds is not None:
        raise SettingError("rounds is for one text.", "Leave it out, or use progress.")
    asking.options.check_many()
    size = source_size(source)
    examples = with_pairs(read_examples(source, columns), pair, size)
    threads = THREADS if asking.method.parallel else 1
    work = asking.in_company
    tokens = asking.options.batch_tokens
    stream = explained(examples, asking.classifier, work, threads, size, progress, tokens)
    return Explanations.of(stream, at_once=size is not None)


def choose_method(method: str | Method, options: Options) -> Method:
    """The method, with the lexicon where there is one."""
    chosen = find_method(method)
    if options.effort is not None:
        chosen = chosen.with_effort(options.effort)
    if options.words is None:
        return chosen
    return chosen.with_lexicon(options.words, options.refine)


@dataclass(frozen=True)
class _Plan:
    """What is done with a text, or with each of its windows."""

    method: Method
    options: Options
    every_class: bool
    settings: dict[str, Any]  # of the method, for the record
    asked: dict[str, Any]  # the options as they were given, for the record

    @classmethod
    def of(cls, method: Method, options: Options, classifier: Classifier) -> _Plan:
        if not options.means_every_class(classifier.labels):
            return cls(method, options, False, method.settings(), options.to_dict())
        together = method.for_every_class()
        settings = (together or method).settings() | {"target": ALL}
        return cls(method, replace(options, target=None), True, settings, options.to_dict())

    def attribution(self, decision: Decision) -> Attribution:
        rng = np.random.default_rng(self.options.seed)
        if self.every_class:
            return explain_every_class(self.method, decision, rng)
        return self.method.explain(decision, rng)

    def unused_settings(self, attribution: Attribution) -> tuple[str, ...]:
        """Notes on settings that had no effect."""
        name, notes = self.method.name, []
        if self.options.tolerance is not None and attribution.stopped is None:
            notes.append(f"--tolerance had no effect: {name} did not sample in rounds.")
        if self.options.effort is not None and attribution.parts is None:
            notes.append(f"--effort had no effect: it is for context, not {name}.")
        return tuple(notes)


def _explained(encoding: Encoding, query: Query, plan: _Plan) -> Explanation:
    """The flow for a text that fits into the model at once.

    The method does the middle of it: it designs sequences of players, asks the model for its
    answers to them, and fits its scores to these.
    """
    classifier, options = query.classifier, plan.options
    decision = Decision.of(encoding, query, options)
    attribution = plan.attribution(decision)
    notes = _notes(encoding, decision, plan, attribution)  # which finds out whether answers vary
    attribution = attribution.varying(classifier.varies if isinstance(classifier, MayVary) else 0.0)
    return Explanation(
        text=encoding.text,
        players=decision.players.items,
        scores=dict(attribution.scores),
        errors=dict(attribution.errors),
        primary=attribution.primary,
        target=attribution.target or decision.target,
        cost=_cost(query, attribution.fit_seconds, len(encoding.ids) + encoding.frame.size),
        method=plan.method.name,
        settings=plan.settings,
        unit=options.unit,
        repeats=options.repeats,
        seed=options.seed,
        budget=options.budget,
        tolerance=options.tolerance,
        model=classifier.name,
        backend=classifier.backend,
        versions=dict(versions()),
        fidelity=attribution.fidelity,
        fit=attribution.fit,
        surrogate_score=attribution.surrogate_score,
        frame_share=attribution.frame_share,
        stopped=attribution.stopped,
        formula=attribution.formula,
        parts=attribution.parts,
        base=attribution.base,
        flip=attribution.flip,
        core=attribution.core,
        second=encoding.second,
        notes=notes,
        record=_record(decision, plan),
    )


def _notes(
    encoding: Encoding, decision: Decision, plan: _Plan, attribution: Attribution
) -> tuple[str, ...]:
    """What a reader of the scores must know, of the text first."""
    query, options = decision.query, plan.options
    return (
        *text_notes(query.classifier, encoding.second is not None),
        *options.marks_note(encoding.text),
        *encoding.notes,
        *displaced(encoding, own_spans(encoding, options), decision.players.places),
        *attribution.notes,
        *query.notes(),
        *plan.unused_settings(attribution),
    )


def _record(decision: Decision, plan: _Plan) -> Record:
    """What an auditor needs; it asks the model nothing new."""
    whole = tuple(decision.logits(decision.players.whole)[0].tolist())
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return Record(made, plan.asked, *identity(decision.query.classifier), whole)


def _in_windows(windows: Sequence[Encoding], query: Query, plan: _Plan) -> Explanation:
    """Every window explained for the same target, with its share of the budget, and merged."""
    if not plan.method.in_windows:
        raise SettingError(
            f"{plan.method.name} needs a text that the model can read at once.",
            'Leave long="windows" out.',
        )
    target = target_of_all(windows, query, plan.options)
    if plan.every_class:
        check_classes(target.labels)
    plan = replace(
        plan,
        options=replace(plan.options, target=target.index, against=target.against_index),
        settings=plan.settings | {"long": "windows"},
    )
    work = partial(_explained, plan=plan)
    explanation = merged(one_by_one(windows, query, work), shares(windows).tolist())
    asked = _cost(query, 0.0, 0)  # which label is predicted; the windows have counted the text
    return replace(explanation, cost=explanation.cost + asked)


def _cost(query: Query, fit_seconds: float, full_tokens: int) -> Cost:
    return Cost(query.forwards, query.tokens, query.seconds, fit_seconds, full_tokens)


def target_of(
    text: str, classifier: Classifier, options: Options, pair: str | None = None
) -> Target:
    """What `explain` would explain with these options, at the cost of the model's answer alone."""
    text, pair, options = placed(text, pair, options)
    encoding = classifier.encode(*texts(text, pair))
    windows = cut(encoding, options.long)
    query = Query(classifier, encoding.frame, batch_tokens=options.batch_tokens)
    if len(windows) == 1:
        return Decision.of(windows[0], query, options).target
    return target_of_all(windows, query, options)
