"""Shards explained on this machine: in this process, or in several that load the model each."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from typing import Any

from piste.lexicon import Lexicon
from piste.models.protocol import Classifier
from piste.runs.job import Job, Numbered, Source, explained
from piste.runs.shards import Shard

_worker: tuple[Job, Classifier, Lexicon | None] | None = None


def locally(
    source: Source,
    there: Mapping[int, int],
    job: Job,
    classifier: Classifier,
    known: Lexicon | None,
    workers: int,
) -> Iterator[tuple[int, Shard]]:
    """The shards, as they are done."""
    missing = source.missing(there)
    if workers == 1:
        for number, texts in missing:
            yield number, explained(texts, job, classifier, known)
        return
    threads = max(1, (os.cpu_count() or 1) // workers)
    spawned = multiprocessing.get_context("spawn")  # a forked torch may hang
    with ProcessPoolExecutor(workers, spawned, _start, (job, threads)) as pool:
        pending: set[Future[tuple[int, Shard]]] = set()
        while True:
            # No more than a few shards are read ahead: the data is a stream.
            room = 2 * workers - len(pending)
            pending |= {pool.submit(_work, one) for one in islice(missing, room)}
            if not pending:
                return
            ready, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in ready:
                yield future.result()


def _start(job: Job, threads: int) -> None:
    """Load the model in a new process, with its share of the cores."""
    global _worker
    os.environ["OMP_NUM_THREADS"] = os.environ["PISTE_THREADS"] = str(threads)
    known = None if job.lexicon is None else Lexicon.load(job.lexicon)
    _worker = job, job.classifier(), known
    _limit(threads)


def _limit(threads: int) -> None:
    """Torch counts its threads by itself, once it is there."""
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)


def _work(numbered: Numbered) -> tuple[int, Shard]:
    assert _worker is not None
    job, classifier, known = _worker
    number, texts = numbered
    return number, explained(texts, job, classifier, known)
