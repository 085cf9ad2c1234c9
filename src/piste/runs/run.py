"""Explain every text of a data set into Parquet shards; a killed run can be resumed.

1. Where words share a lexicon: build it over the data first (`runs.lexicon`).
2. Read the data as a stream, cut into shards of so many texts; skip those that are there, whole,
   for the same rows and with the same lexicon.
3. Explain a shard's texts together, so that their sequences share batches; whoever does so writes
   it, and this process commits it (`runs.commits`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from piste.data import DEFAULT, Columns, Example, Texts, held, source_name
from piste.decision import SameLabel, resolve_target
from piste.errors import FileError, InputError, SettingError, choices
from piste.extras import versions
from piste.files import make_folder, write_atomic
from piste.lexicon import Lexicon
from piste.methods import METHODS, find_method
from piste.methods.base import Method
from piste.models.fingerprint import Sample, answer, check_lexicon, fingerprint
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier
from piste.options import ALL, Options, whole_number
from piste.runs import shards
from piste.runs.commits import TOLD, Commit, Destination, begin, commits
from piste.runs.evaluate_text import PROBE, samples, usable
from piste.runs.job import Maker, RunJob, Source
from piste.runs.lexicon import TextsDigest, build_lexicon, lexicon_inputs
from piste.runs.store import FINGERPRINT, agreed

log = logging.getLogger(__name__)

ENGINES = ("local", "ray")
MANIFEST, LEXICON = "manifest.json", "lexicon.json.gz"
ENDED = "ended"  # in the manifest: how many texts there were when all were done
SHARD = 256  # texts
# For ranking words a quarter of what `build_lexicon` usually asks does as well: measured on 1,000
# film reviews, where it makes the run 20 times cheaper than explaining each by itself.
EFFORT = 0.25
StageProgress = Callable[[str, int, int | None], None]  # what is done, how many of it, of how many


@dataclass(frozen=True)
class Report:
    """What a run did."""

    folder: Path
    texts: int  # in the folder now
    failed: int  # of them
    made: int  # by this run; 0 where all were there
    reasons: tuple[str, ...] = ()  # of the first that failed: id and error


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
    lexicon: bool | str | os.PathLike[str] = True,
    refine: int | None = None,
    watch: StageProgress | None = None,
    **more: Any,
) -> Report:
    """Explain every text of a file, a folder or a data set, into Parquet files in `out`.

    data: a path, the name of a data set of the hub, or what `explain` takes for many texts: a list,
    a `datasets.Dataset`, a data frame, one of its columns, an iterator (which is read to its end).
    lexicon: with context and slalom, words are fitted once for all texts (True builds the lexicon
    first, a path uses that one, False explains every text for itself, as pairs of texts always
    are). With context a few parts of each text are asked besides: `refine` of them.
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
    lexicon = _lexicon(job, lexicon, first)
    asked = as_classifier(classifier) if job.model is None else job.classifier()
    _check_target(job, asked, samples(head)[0])
    known = _given(lexicon, asked)
    job = replace(job, lexicon=_lexicon_path(folder, lexicon))
    _open(folder, job, asked, samples(head), source, lexicon)
    if lexicon is True:
        known = _own(folder / LEXICON, job, asked, source, watch)
    job = replace(job, scores=_scores(job, asked, known, first))
    used = None if job.lexicon is None else _identity(job.lexicon)
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
    engine = _engine(settings.engine)(source, there, maker, settings.workers)
    try:
        with closing(engine):
            for staged in engine:
                destination.commit(staged)
                texts[staged.number] = staged.count
                made += staged.count
                log.info("Part %d of the run is written to %s.", staged.number, folder)
                if watch is not None:
                    done = sum(texts.values())  # the last shard may be a short one
                    watch("texts", done if total is None else min(done, total), total)
    finally:
        destination.clear()
    return _ended(folder, made)


def _check_extent(folder: Path, source: Source) -> None:
    """Refuse data with fewer texts than the folder has results for."""
    held = shards.extent(folder, source.shard)
    left = sum(1 for _ in islice(source.examples(), held))
    if left < held:
        limited = "" if source.limit is None else f" (limit {source.limit:,})"
        raise SettingError(
            f"{folder} holds results of {held:,} texts, and the data now has {left:,}{limited}.",
            "Give another folder, or delete this one to start again; a run deletes no results.",
        )


def _check_workers(settings: RunSettings, job: RunJob, classifier: Classifier | str | None) -> None:
    """Refuse workers for a model that they could not load."""
    several = settings.engine == "ray" or settings.workers > 1
    if several and job.model is None and classifier is not None:
        raise SettingError(
            f"Workers load the model by themselves, and cannot load a {type(classifier).__name__}.",
            "Give the model's name or directory, or run without workers.",
        )


def _lexicon(
    job: RunJob, wanted: bool | str | os.PathLike[str], first: Example
) -> bool | str | os.PathLike[str]:
    """The lexicon to use: context and slalom with their usual settings share words of texts."""
    if job.options.target == ALL:
        raise SettingError(
            f"target is {job.options.target!r}, but a run explains one class of each text.",
            "Leave target out for the predicted class, or name one.",
        )
    fits = job.method in (METHODS["context"], METHODS["slalom"])
    if wanted is True and job.refine is None and (first.pair is not None or job.options.marks):
        log.info("The data holds pairs of texts, or marks: each is explained for itself.")
        return False
    if first.pair is not None and wanted:
        raise SettingError(
            "A lexicon holds words of single texts, and the data holds pairs.",
            "Leave lexicon and refine out.",
        )
    if not (wanted and fits) and (job.refine is not None or not isinstance(wanted, bool)):
        raise SettingError(
            f"lexicon and refine need context or slalom with their usual settings, not"
            f" {job.method!r}.",
            'Use method="context", or leave lexicon and refine out.',
        )
    return wanted if fits else False


def _check_target(job: RunJob, classifier: Classifier, probe: Sample) -> None:
    """Raise for labels that the model does not have, before anything is written."""
    options, rising = job.options, np.arange(float(len(answer(classifier, *probe))))
    for logits in (rising, -rising):  # a contrast that some text may have; others fail one by one
        try:
            resolve_target(classifier, logits, options.target, options.against)
        except SameLabel as error:
            same = error
        else:
            return
    raise same


def _lexicon_path(folder: Path, lexicon: bool | str | os.PathLike[str]) -> str | None:
    if isinstance(lexicon, bool):
        return str(folder / LEXICON) if lexicon else None
    return os.fspath(lexicon)


def _given(lexicon: bool | str | os.PathLike[str], classifier: Classifier) -> Lexicon | None:
    """The lexicon of a file, verified to belong to this model; None if none was given."""
    if isinstance(lexicon, bool):
        return None
    given = Lexicon.load(lexicon)
    check_lexicon(given, classifier)
    return given


def _own(
    path: Path, job: RunJob, classifier: Classifier, source: Source, watch: StageProgress | None
) -> Lexicon:
    """The lexicon of the run's own texts: the existing one, or a new one if it is stale."""
    if path.exists():
        digest = TextsDigest(source.texts())
        kept = _fitting(
            path, lexicon_inputs(digest, job.options.unit, EFFORT, job.options.seed), classifier
        )
        if kept is not None:
            return kept
        log.warning("The lexicon in %s is of other texts: all are explained with a new one.", path)
    told = None if watch is None else lambda done, total: watch("lexicon", done, total)
    return build_lexicon(
        source.texts(),
        classifier,
        out=path,
        unit=job.options.unit,
        effort=EFFORT,
        seed=job.options.seed,
        watch=told,
    )


def _fitting(path: Path, inputs: dict[str, Any], classifier: Classifier) -> Lexicon | None:
    """The existing lexicon; None if it is damaged, or of other texts or another model."""
    try:
        lexicon = Lexicon.load(path)
        check_lexicon(lexicon, classifier)
    except (FileError, SettingError):
        return None
    return lexicon if lexicon.facts.get("inputs") == inputs else None


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


def _open(
    folder: Path,
    job: RunJob,
    classifier: Classifier,
    known_by: list[Sample],
    source: Source,
    lexicon: bool | str | os.PathLike[str],
) -> None:
    """Write the manifest, or compare it with the existing one."""
    told = {
        "data": source_name(source.data),
        "split": source.split,
        "columns": asdict(source.columns),
        "model": classifier.name,
        FINGERPRINT: fingerprint(classifier, known_by),
        "labels": list(classifier.labels or ()),
        "method": job.method.name,
        "settings": job.method.settings(),
        **job.options.shaping(),
        "lexicon": _identity(lexicon),
        "refine": job.refine,
        "shard": source.shard,
    }
    plain = json.loads(json.dumps(told, default=str))
    plain = agreed(folder, MANIFEST, plain, begun=shards.holds_results(folder))
    shards.check_list(folder)
    _check_extent(folder, source)
    facts = {"versions": versions(), "backend": classifier.backend}
    make_folder(folder)
    write_atomic(folder / MANIFEST, json.dumps(plain | facts, indent=1) + "\n")
    begin(folder)


def _identity(lexicon: bool | str | os.PathLike[str]) -> Any:
    if isinstance(lexicon, bool):
        return lexicon
    try:
        return hashlib.sha256(Path(lexicon).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError(f"Cannot read {lexicon}: {error.strerror}.", "Check the path.") from error


def _ended(folder: Path, made: int) -> Report:
    """The report on a finished run; marks the manifest as complete."""
    known = commits(folder).values()
    texts, failed = sum(one.count for one in known), sum(one.failed for one in known)
    reasons = tuple(islice(chain.from_iterable(one.reasons for one in known), TOLD))
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    write_atomic(folder / MANIFEST, json.dumps(manifest | {ENDED: texts}, indent=1) + "\n")
    return Report(folder, texts, failed, made, reasons)
