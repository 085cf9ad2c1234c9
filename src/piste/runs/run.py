"""Explain every text of a data set into Parquet shards; a killed run can be resumed.

1. Where words are to be shared: build a lexicon over the data first (`runs.run_lexicon`).
2. Read the data as a stream, cut into shards of so many texts; skip those that are there, whole,
   for the same rows and with the same lexicon.
3. Explain a shard's texts together, so that their sequences share batches; whoever does so writes
   it, and this process commits it (`runs.commits`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from piste.data import DEFAULT, Columns, Example, Texts, held
from piste.errors import SettingError, choices
from piste.lexicon import Lexicon
from piste.methods import find_method
from piste.methods.base import Method
from piste.models.fingerprint import digests
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.options import Effort, Options, whole_number
from piste.runs import shards
from piste.runs.commits import Commit, Destination
from piste.runs.evaluate_text import PROBE, samples, usable
from piste.runs.job import Maker, RunJob, Source
from piste.runs.manifest import Report, check_target, ended, open_folder
from piste.runs.run_lexicon import (
    LEXICON,
    StageProgress,
    Wanted,
    chosen,
    given,
    identity,
    own,
    path_of,
)

log = logging.getLogger(__name__)

ENGINES = ("local", "ray")
SHARD = 256  # texts
EFFORT: Effort = "light"  # of context: many texts say together what one is asked long for


@dataclass(frozen=True)
class RunSettings:
    """How a run reads its data and divides the work; the rest is `Options`."""

    engine: str = "local"  # or "ray"
    workers: int = 1  # processes (local, for a model by name) or actors (ray)
    limit: int | None = None  # texts, from the first
    columns: Columns = DEFAULT
    split: str = "train"  # of a named data set
    shard: int = SHARD  # texts a file
    device: str | None = None  # as in `load`, for a model by name
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise choices("engine", self.engine, ENGINES)
        for name in ("workers", "shard", "limit"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1)


def run(
    data: Texts,
    classifier: Classifier | str | None = None,
    out: str | os.PathLike[str] = "run",
    *,
    method: str | Method = "context",
    lexicon: Wanted = False,
    refine: int | None = None,
    watch: StageProgress | None = None,
    **more: Any,
) -> Report:
    """Explain every text of a file, a folder or a data set, into Parquet files in `out`.

    data: a path, the name of a data set of the hub, or what `explain` takes for many texts: a list,
    a `datasets.Dataset`, a data frame, one of its columns, an iterator (which is read to its end).
    Every text is explained for itself, by context with effort="light": some 20 forward passes of
    it. effort="normal" asks what `explain` asks by default.
    lexicon: words that were fitted once for many texts, for context and slalom: the path of one, or
    True to build it from these texts first. `refine` parts of each text are asked besides.
    more: the settings of `Options` (target, unit, seed, budget ...) and of `RunSettings`: engine,
    workers, limit, columns, split, shard, device, trust_remote_code.
    A run that was stopped goes on where it was. Shards that are damaged, or whose texts or lexicon
    have changed, are made again. Other settings, another model, or fewer texts than the folder
    holds are refused: nothing is deleted.
    """
    names = {field.name for field in fields(RunSettings)}
    settings = RunSettings(**{name: more.pop(name) for name in names & more.keys()})
    job = RunJob(
        model=classifier if isinstance(classifier, str) else None,
        device=settings.device,
        trust_remote_code=settings.trust_remote_code,
        method=find_method(method),
        options=Options.of(**more),
        refine=None if refine is None else whole_number("refine", refine, 0),
    )
    job.options.check_many()
    shards.check_library()
    _check_workers(settings, job, classifier)
    source = Source(held(data), settings.columns, settings.limit, settings.split, settings.shard)
    folder, head = Path(out), source.head()
    first = next(iter(usable(head)), head[0])
    lexicon = chosen(job, lexicon, first)
    if method == "context" and lexicon is False:
        job = replace(job, options=_with_effort(job.options))
    asked = as_classifier(classifier) if job.model is None else job.classifier()
    check_target(job, asked, samples(head)[0])
    known = given(lexicon, asked)
    job = replace(job, lexicon=path_of(folder, lexicon))
    open_folder(folder, job, asked, samples(head), source, lexicon)
    if lexicon is True:
        known = own(folder / LEXICON, job, asked, source, watch)
    job = replace(job, scores=_scores(job, asked, known, first), digests=digests(asked))
    used = None if job.lexicon is None else identity(job.lexicon)
    destination = Destination(os.path.abspath(folder), used)
    report = _made(source, Maker(job, asked, known, destination), settings, watch)
    return replace(report, folder=folder)  # as it was named


def _made(
    source: Source, maker: Maker, settings: RunSettings, watch: StageProgress | None
) -> Report:
    """Make the shards that are missing, and commit each."""
    destination = maker.destination
    folder, made = Path(destination.folder), 0
    destination.clear()
    shards.remove_halves(folder)
    there = destination.done()
    texts = dict.fromkeys(there, source.shard)  # by shard
    total = None if watch is None else source.count()

    def tell(begun: int = 0) -> None:
        if watch is not None:
            done = sum(texts.values()) + begun  # the last shard may be a short one
            watch("texts", done if total is None else min(done, total), total)

    tell()
    maker = replace(maker, tell=tell)
    engine = _engine(settings.engine)(source, there, maker, settings.workers)
    try:
        with closing(engine):
            for staged in engine:
                destination.commit(staged)
                texts[staged.number] = staged.count
                made += staged.count
                log.info("Part %d of the run is written to %s.", staged.number, folder)
                tell()
    finally:
        destination.clear()
    return ended(folder, made)


def _with_effort(options: Options) -> Options:
    """The usual effort of a run, where nothing else says how much to ask."""
    said = (options.effort, options.budget, options.tolerance) != (None, None, None)
    return options if said else replace(options, effort=EFFORT)


def _check_workers(settings: RunSettings, job: RunJob, classifier: Classifier | str | None) -> None:
    """Refuse workers for a model that they could not load."""
    several = settings.engine == "ray" or settings.workers > 1
    if several and job.model is None and classifier is not None:
        raise SettingError(
            f"Workers load the model by themselves, and cannot load a {type(classifier).__name__}.",
            "Give the model's name or directory, or run without workers.",
        )


def _scores(
    job: RunJob, classifier: Classifier, known: Lexicon | None, first: Example
) -> tuple[str, ...]:
    """The names of the method's scores, from one short text, or a pair of them."""
    known_names = job.method.score_names()
    if known_names:
        return known_names
    pair = None if first.pair is None else PROBE
    job = replace(job, options=replace(job.options, against=None))  # the names are the same
    return tuple(job.explain(classifier, Example("probe", PROBE, pair=pair), known).scores)


def _engine(name: str) -> Callable[..., Generator[Commit]]:
    if name == "ray":
        from piste.runs.ray_engine import on_ray  # an optional library

        return on_ray
    from piste.runs.local_engine import locally

    return locally
