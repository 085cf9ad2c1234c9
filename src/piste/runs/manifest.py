"""What the folder of a run says of itself: what its results were made with, and what they are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from piste.data import source_name
from piste.decision import SameLabel, resolve_target
from piste.errors import SettingError, several
from piste.extras import versions
from piste.files import make_folder, write_atomic
from piste.models.fingerprint import Sample, answer, fingerprint
from piste.models.protocol import Classifier
from piste.options import ALL
from piste.runs import shards
from piste.runs.commits import TOLD, begin, commits
from piste.runs.job import RunJob, Source
from piste.runs.run_lexicon import Wanted, identity
from piste.runs.store import FINGERPRINT, agreed

MANIFEST = "manifest.json"
ENDED = "ended"  # in the manifest: how many texts there were when all were done


@dataclass(frozen=True)
class Report:
    """What a run did."""

    folder: Path
    texts: int  # in the folder now
    failed: int  # of them
    made: int  # by this run; 0 where all were there
    reasons: tuple[str, ...] = ()  # of the first that failed: id and error
    passes: float = 0.0  # what the folder's texts cost together, in forward passes of each


def check_target(job: RunJob, classifier: Classifier, probe: Sample) -> None:
    """Raise for labels that the model does not have, before anything is written."""
    if job.options.target == ALL:
        raise SettingError(
            f"target is {job.options.target!r}, but a run explains one class of each text.",
            "Leave target out for the predicted class, or name one.",
        )
    options, rising = job.options, np.arange(float(len(answer(classifier, *probe))))
    for logits in (rising, -rising):  # a contrast that some text may have; others fail one by one
        try:
            resolve_target(classifier, logits, options.target, options.against)
        except SameLabel as error:
            same = error
        else:
            return
    raise same


def open_folder(
    folder: Path,
    job: RunJob,
    classifier: Classifier,
    known_by: list[Sample],
    source: Source,
    lexicon: Wanted,
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
        "lexicon": identity(lexicon),
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


def _check_extent(folder: Path, source: Source) -> None:
    """Refuse data with fewer texts than the folder has results for."""
    held = shards.extent(folder, source.shard)
    left = sum(1 for _ in islice(source.examples(), held))
    if left < held:
        limited = "" if source.limit is None else f" (limit {source.limit:,})"
        raise SettingError(
            f"{folder} holds results of {several(held, 'text')}, and the data now has {left:,}"
            f"{limited}.",
            "Give another folder, or delete this one to start again; a run deletes no results.",
        )


def ended(folder: Path, made: int) -> Report:
    """The report on a finished run; marks the manifest as complete."""
    known = commits(folder).values()
    texts, failed = sum(one.count for one in known), sum(one.failed for one in known)
    reasons = tuple(islice(chain.from_iterable(one.reasons for one in known), TOLD))
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    write_atomic(folder / MANIFEST, json.dumps(manifest | {ENDED: texts}, indent=1) + "\n")
    return Report(folder, texts, failed, made, reasons, sum(one.passes for one in known))
