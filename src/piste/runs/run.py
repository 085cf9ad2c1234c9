"""Every text of a data set explained, into Parquet shards: killed at any moment, it goes on.

1. Where words share a lexicon: build it over the data first (`runs.lexicon`).
2. Read the data as a stream, cut into shards of so many texts; skip those that are there.
3. Explain a shard's texts together, so that their sequences share batches, and write it whole.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from piste.data import DEFAULT, Columns, Example, read_examples
from piste.errors import InputError, SettingError, choices, whole_number
from piste.explain import explain, versions
from piste.explanation import Explanation
from piste.files import write_atomic
from piste.lexicon import Lexicon
from piste.methods import find_method, settings
from piste.methods.base import Method
from piste.models.gathering import together
from piste.models.loading import as_classifier, load
from piste.models.protocol import Classifier
from piste.runs import shards
from piste.runs.judging import PROBE, answer_to_the_probe, reason
from piste.runs.lexicon import build_lexicon
from piste.runs.shards import Shard
from piste.runs.store import settle

log = logging.getLogger(__name__)

ENGINES = ("local", "ray")
TOLD = 5  # failures that are named
MANIFEST, LEXICON = "manifest.json", "lexicon.json.gz"
SHARD = 256  # texts
# For ranking words a quarter of what `build_lexicon` usually asks does as well: measured on 1,000
# film reviews, where it makes the run 20 times cheaper than explaining each by itself.
EFFORT = 0.25
THREADS = 8  # explanations at once, whose sequences share batches
Watch = Callable[[str, int, int | None], None]  # what is done, how many of it, of how many
Numbered = tuple[int, list[tuple[int, Example]]]  # a shard's number, its texts with theirs


@dataclass(frozen=True)
class Job:
    """What is done with every text; small enough to send to a worker."""

    model: str | None  # None: a classifier of this process
    device: str | None
    method: str | Method
    unit: str
    repeats: str
    target: str | int | None
    seed: int
    budget: int | None
    lexicon: str | None  # its file
    refine: int | None
    scores: tuple[str, ...] = ()

    def classifier(self) -> Classifier:
        """The model, loaded in the process that asks."""
        return load(self.model or "demo", device=self.device)

    def explain(
        self, classifier: Classifier, example: Example, known: Lexicon | None
    ) -> Explanation:
        return explain(
            example.text,
            classifier,
            self.method,
            pair=example.pair,
            target=self.target,
            unit=self.unit,
            repeats=self.repeats,
            seed=self.seed,
            budget=self.budget,
            lexicon=known,
            refine=self.refine if known is not None else None,
        )


@dataclass(frozen=True)
class Source:
    """The texts of a run as a stream of shards; small enough to send to a worker."""

    data: str
    columns: Columns
    limit: int | None
    split: str
    shard: int  # texts

    def examples(self) -> Iterator[Example]:
        return read_examples(self.data, self.columns, limit=self.limit, split=self.split)

    def missing(self, there: Set[int]) -> Iterator[Numbered]:
        """The shards that are not there yet."""
        numbered = enumerate(self.examples())
        number = 0
        while texts := list(islice(numbered, self.shard)):
            if number not in there:
                yield number, texts
            number += 1


@dataclass(frozen=True)
class Report:
    """What a run did."""

    folder: Path
    texts: int  # in the folder now
    failed: int  # of them
    reasons: tuple[str, ...] = ()  # of the first that failed: id and error


def run(
    data: str | os.PathLike[str],
    classifier: Classifier | str | None = None,
    out: str | os.PathLike[str] = "run",
    *,
    method: str | Method = "slalom",
    lexicon: bool | str | os.PathLike[str] = True,
    refine: int | None = None,
    engine: str = "local",
    workers: int = 1,
    limit: int | None = None,
    columns: Columns = DEFAULT,
    split: str = "train",
    unit: str = "word",
    repeats: str = "shared",
    target: str | int | None = None,
    seed: int = 0,
    budget: int | None = None,
    shard: int = SHARD,
    device: str | None = None,
    watch: Watch | None = None,
) -> Report:
    """Explain every text of a file, a folder or a data set, into Parquet files in `out`.

    lexicon: with slalom, words are fitted once for all texts (True builds the lexicon first, a
    path uses that one, False explains every text for itself); refine: as in `explain`.
    engine: "local" (workers: processes, for a model by name), or "ray".
    A run that was stopped goes on where it was; other settings or another model are refused.
    """
    if engine not in ENGINES:
        raise choices("engine", engine, ENGINES)
    workers = whole_number("workers", workers, 1)
    shard = whole_number("shard", shard, 1)
    name, chosen = find_method(method)
    if target == "all":
        raise SettingError("A run explains one class of each text.", "Leave target out.")
    folder = Path(out)
    asked = (
        load(classifier, device=device)
        if isinstance(classifier, str)
        else as_classifier(classifier)
    )
    shared = bool(lexicon) and name == "slalom" and isinstance(method, str)
    if not shared and (refine is not None or not isinstance(lexicon, bool)):
        raise SettingError(
            "A lexicon and refine go with the method slalom by name.", "Leave them out."
        )
    job = Job(
        model=classifier if isinstance(classifier, str) else None,
        device=device,
        method=method,
        unit=unit,
        repeats=repeats,
        target=target,
        seed=whole_number("seed", seed, 0),
        budget=budget,
        lexicon=str(_lexicon_path(folder, lexicon)) if shared else None,
        refine=refine,
    )
    _check_parallel(engine, workers, job, classifier)
    source = Source(os.fspath(data), columns, limit, split, shard)
    _open(folder, job, asked, source, settings(chosen), lexicon)
    known = _known(job, folder, asked, source, watch) if job.lexicon else None
    job = replace(job, scores=_scores(job, asked, known))
    there = frozenset(shards.done(folder))
    for number, made in _engine(engine)(source, there, job, asked, known, workers):
        shards.write(folder, number, made)
        log.info("Part %d of the run is written to %s.", number, folder)
        if watch is not None:
            watch("texts", (number + 1) * shard, limit)
    return _report(folder)


def explained(
    texts: list[tuple[int, Example]], job: Job, classifier: Classifier, known: Lexicon | None
) -> Shard:
    """The shard of these texts."""

    def one(shared: Classifier, item: tuple[int, Example]) -> Explanation | str:
        example = item[1]
        if example.problem is not None:
            return example.problem
        try:
            return job.explain(shared, example, known)
        except Exception as error:  # one text must not end the run, whatever the model does to it
            return reason(error)

    made = Shard.of(job.scores)
    for (index, example), found in zip(
        texts, together(classifier, texts, one, THREADS), strict=True
    ):
        made.add(index, example, found)
    return made


def _lexicon_path(folder: Path, lexicon: bool | str | os.PathLike[str]) -> Path:
    return folder / LEXICON if isinstance(lexicon, bool) else Path(lexicon)


def _known(
    job: Job,
    folder: Path,
    classifier: Classifier,
    source: Source,
    watch: Watch | None,
) -> Lexicon:
    """The lexicon of the run: the given one, the one that is there, or built now."""
    path = Path(str(job.lexicon))
    if path.exists() or path != folder / LEXICON:
        return Lexicon.load(path)
    texts = (one.text for one in source.examples() if one.problem is None)
    told = None if watch is None else lambda done, total: watch("lexicon", done, total)
    return build_lexicon(
        texts, classifier, out=path, unit=job.unit, effort=EFFORT, seed=job.seed, watch=told
    )


def _scores(job: Job, classifier: Classifier, known: Lexicon | None) -> tuple[str, ...]:
    """The names of the method's scores, from one short text."""
    return tuple(job.explain(classifier, Example("probe", PROBE), known).scores)


def _engine(name: str) -> Callable[..., Iterator[tuple[int, Shard]]]:
    if name == "ray":
        from piste.runs.ray_engine import on_ray  # an optional library

        return on_ray
    from piste.runs.local_engine import locally

    return locally


def _check_parallel(
    engine: str, workers: int, job: Job, classifier: Classifier | str | None
) -> None:
    if (engine == "ray" or workers > 1) and job.model is None and classifier is not None:
        raise SettingError(
            "Workers load the model by themselves.", "Give its name or directory, not an object."
        )


def _open(
    folder: Path,
    job: Job,
    classifier: Classifier,
    source: Source,
    method: Mapping[str, Any],
    lexicon: bool | str | os.PathLike[str],
) -> None:
    """The manifest: written, or compared with the one that is there."""
    told = {
        "data": os.path.normpath(source.data),
        "split": source.split,
        "columns": asdict(source.columns),
        "model": classifier.name,
        "answer": answer_to_the_probe(classifier),
        "labels": list(classifier.labels or ()),
        "method": job.method if isinstance(job.method, str) else type(job.method).__name__,
        "settings": method,
        "unit": job.unit,
        "repeats": job.repeats,
        "target": job.target,
        "seed": job.seed,
        "budget": job.budget,
        "lexicon": _identity(lexicon),
        "refine": job.refine,
        "shard": source.shard,
    }
    plain = json.loads(json.dumps(told, default=str))
    settle(folder, MANIFEST, plain, begun=bool(shards.done(folder)))
    more = {"versions": versions(), "backend": classifier.backend}
    write_atomic(folder / MANIFEST, json.dumps(plain | more, indent=1) + "\n")


def _identity(lexicon: bool | str | os.PathLike[str]) -> Any:
    if isinstance(lexicon, bool):
        return lexicon
    try:
        return hashlib.sha256(Path(lexicon).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError(f"Cannot read {lexicon}: {error.strerror}.", "Check the path.") from error


def _report(folder: Path) -> Report:
    texts, reasons = 0, []
    if shards.done(folder):
        for table in shards.read(folder, shards.TEXTS, ["id", "error"]):
            texts += len(table["error"])
            pairs = zip(table["id"], table["error"], strict=True)
            reasons += [f"{name}: {error}" for name, error in pairs if error is not None]
    if not texts:
        raise InputError("There is no text in the data.", "Check the file and its column.")
    return Report(folder, texts, len(reasons), tuple(reasons[:TOLD]))
