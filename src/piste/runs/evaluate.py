"""Measure several methods on many texts: which one is faithful on this data?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from piste.arrays import FloatArray
from piste.data import DEFAULT, Columns, Example, Texts, held, read_examples, source_name
from piste.errors import InputError, SettingError, several
from piste.methods.base import Method
from piste.metrics import USUAL, find_metric
from piste.metrics.naive_bayes import NaiveBayes
from piste.models.fingerprint import content_digest, fingerprint
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.options import Options, whole_number
from piste.result.written import AsPage
from piste.runs.evaluate_text import Plan, View, judged, samples
from piste.runs.store import FINGERPRINT, Store, StoredRow, stamp
from piste.text.encoding import texts, truncated
from piste.text.players import Players
from piste.text.players import split as split_text

FIVE = ("context", "slalom", "lime", "kernel-shap", "occlusion")
SEARCHED = 10_000  # rows among which a text with human marks is sought
HEAD = 64  # rows among which texts are sought that the model is known again by
TextsDone = Callable[[int, int | None], None]  # texts done, texts in all where that is known


@dataclass(frozen=True)
class Evaluation(AsPage):
    """One row per text; `runs.statistics` turns them into tables."""

    views: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: list[StoredRow] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def values(self, view: str, metric: str) -> FloatArray:
        """One figure of each text, in order; NaN where there is none [texts]."""
        figures = [row.get("values", {}).get(view, {}).get(metric) for row in self.rows]
        return np.array([np.nan if value is None else value for value in figures], dtype=np.float64)

    def failures(self) -> list[tuple[str, str, str]]:
        """Text, method and reason of every failure."""
        whole = [(row["id"], "all", row["error"]) for row in self.rows if "error" in row]
        parts = [
            (row["id"], view, reason)
            for row in self.rows
            for view, reason in row.get("failed", {}).items()
        ]
        return whole + parts

    # As with an Explanation, text and pictures are loaded only when asked for.
    def _page(self) -> str:
        from piste.render.evaluation_html import page

        return page(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure, also written to `path` (.png, .svg or .pdf) when given."""
        from piste.render.evaluation_figure import draw

        return draw(self, path)

    def __str__(self) -> str:
        from piste.render.evaluation import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from piste.render.evaluation_html import fragment

        return fragment(self)


def evaluate(
    data: Texts,
    classifier: Classifier | str | None = None,
    methods: Sequence[str | Method | View] = FIVE,
    metrics: Sequence[str] = USUAL,
    *,
    out: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    train: str | os.PathLike[str] | None = None,
    watch: TextsDone | None = None,
    **more: Any,
) -> Evaluation:
    """Explain every text by every method, and measure what each explanation is worth.

    data: a file or folder (JSON lines, CSV, Parquet), a data set's name, or an object: examples, a
    `datasets.Dataset`, a data frame, an iterator.
    methods: names, objects, or "slalom:value" to rank by another of a method's scores.
    out: a folder to keep the rows in; a run that was stopped goes on where it was.
    train: labelled texts for the "naive-bayes" metric.
    more: columns and split, which say where in the data the texts are, and the settings of
    `Options`: target, unit, seed, budget ...
    """
    data = held(data)
    columns: Columns = more.pop("columns", DEFAULT)
    split: str = more.pop("split", "train")
    plan = _planned(classifier, methods, metrics, Options.of(**more))
    limit = None if limit is None else whole_number("limit", limit, 1)
    check_data(metrics, read_examples(data, columns, limit=limit, split=split), columns, train)
    if train is not None:
        plan = replace(plan, reference=_reference(plan, read_examples(train, columns)))
    trained_on = None if train is None else f"{train} ({_digest(plan.reference)})"
    told = plan.told(source_name(data), split, trained_on)
    store = None
    if out is not None:
        head = list(islice(read_examples(data, columns, limit=limit, split=split), HEAD))
        model = fingerprint(plan.classifier, samples(head))
        store = Store.open(Path(out), told | {FINGERPRINT: model})
    done = {row["index"]: row for row in store.rows()} if store else {}
    total = None if watch is None else _count(data, columns, limit, split)
    rows: list[StoredRow] = []
    for index, example in enumerate(read_examples(data, columns, limit=limit, split=split)):
        row = done.get(index)
        if row is None or row.get("stamp") != stamp(example) or row.get("failed") or "error" in row:
            known = {"index": index, "id": example.id, "stamp": stamp(example)}
            row = known | judged(example, plan)
            if store is not None:
                store.add(row)
        rows.append(row)
        if watch is not None:
            watch(len(rows), total)
    if not rows:
        raise InputError(f"There is no text in {source_name(data)}.", "Check the file or the list.")
    return Evaluation(tuple(view.name for view in plan.views), plan.metrics, rows, told)


def check_data(
    metrics: Sequence[str],
    examples: Iterator[Example],
    columns: Columns,
    train: str | os.PathLike[str] | None,
) -> None:
    """Refuse metrics that these data cannot be measured by, before any work is done."""
    needs = {find_metric(name).needs: name for name in metrics}
    if "reference" in needs and train is None:
        raise SettingError(
            "The metric naive-bayes needs labelled texts to count, and train is None.",
            "Give a file of them: train=FILE (--train FILE).",
        )
    if "human" in needs and not any(example.maps for example in islice(examples, SEARCHED)):
        raise SettingError(
            f"The metric {needs['human']} needs words that people marked, and the data have none"
            f" (columns {columns.words!r} and {columns.maps!r}).",
            "Name their columns (--words-column, --maps-column), or leave the metric out.",
        )


def _count(data: Texts, columns: Columns, limit: int | None, part: str) -> int | None:
    """The number of texts; None for a data set of the hub, which is only streamed."""
    if isinstance(data, str | os.PathLike) and not Path(data).exists():
        return limit
    return sum(1 for _ in read_examples(data, columns, limit=limit, split=part))


def _planned(
    classifier: Classifier | str | None,
    methods: Sequence[str | Method | View],
    metrics: Sequence[str],
    options: Options,
) -> Plan:
    for name, given in (("methods", methods), ("metrics", metrics)):
        if isinstance(given, str) or not given:
            raise SettingError(
                f"{name} is {given!r}, not a list of names.",
                f"Give {name}=[...], one name or more.",
            )
    for name in metrics:
        find_metric(name)
    if options.long == "windows":
        raise SettingError(
            'Metrics need the model to read the whole text, and long="windows" never does.',
            'Use long="truncate".',
        )
    options.check_many()
    views = tuple(View.of(given) for given in methods)
    names = [view.name for view in views]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SettingError(f"The method {twice[0]!r} is given twice.", "Give each method once.")
    asked = as_classifier(classifier)
    options.means_every_class(asked.labels)  # refuses a contrast of all
    changed = None
    if "randomisation" in metrics:
        from piste.models.randomised import redrawn  # torch

        changed = redrawn(asked, options.seed)
    return Plan(asked, views, tuple(metrics), options, changed=changed)


def _reference(plan: Plan, examples: Iterator[Example]) -> NaiveBayes:
    """Naive Bayes over the labelled texts, with the players that the model would see."""

    def labelled() -> Iterator[tuple[Players, int | str]]:
        for example in examples:
            if example.label is not None and example.problem is None and example.text.strip():
                encoding = truncated(plan.classifier.encode(*texts(example.text, example.pair)))
                yield split_text(encoding, plan.options.unit, plan.options.repeats), example.label

    reference = NaiveBayes.fit(labelled())
    if len(reference.counts) < 2:
        labels = several(len(reference.counts), "label")
        raise SettingError(
            f"The training texts have {labels}, and Naive Bayes needs two.",
            "Name the column of the labels: Columns(label=...), --label-column.",
        )
    return reference


def _digest(reference: NaiveBayes | None) -> str:
    """A digest of the training texts' word counts."""
    counts = {} if reference is None else reference.counts
    return content_digest([[repr(label), count] for label, count in counts.items()])
