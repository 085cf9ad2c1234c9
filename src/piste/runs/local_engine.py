"""Explain shards on this machine: in this process, or in workers that each load the model.

A worker process ends by itself when this one does, however that ends. Where a worker is killed, all
of its pool end; a new pool explains the shards that were not finished, a few times at most.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from piste.errors import ModelError, PisteError, few, reason
from piste.runs.commits import Commit, Destination
from piste.runs.job import Maker, Numbered, RunJob, Source
from piste.threads import few_arenas

log = logging.getLogger(__name__)

ATTEMPTS = 3  # at a shard whose worker is killed


def locally(
    source: Source,
    there: Mapping[int, str],
    maker: Maker,
    workers: int,
) -> Generator[Commit]:
    """Yield shards as they are written."""
    missing = source.missing(there)
    if workers > 1:
        yield from _Workers(maker.job, maker.destination, workers, missing).results()
    else:
        yield from map(maker.make, missing)


@dataclass
class _Workers:
    """Worker processes that explain shards, restarted when one of them is killed."""

    job: RunJob
    destination: Destination
    count: int
    missing: Iterator[Numbered]
    again: deque[Numbered] = field(default_factory=deque)  # shards of a pool that broke
    attempts: Counter[int] = field(default_factory=Counter)  # that failed, by shard

    def results(self) -> Iterator[Commit]:
        """Yield shards as they are written, starting new pools as needed."""
        while True:
            pending: dict[Future[Commit], Numbered] = {}
            pool = self._pool()
            try:
                yield from self._results(pool, pending)
                return
            except BrokenProcessPool as error:
                self._try_again(pending.values(), error)
            finally:
                pool.shutdown(cancel_futures=True)

    def _pool(self) -> ProcessPoolExecutor:
        threads = max(1, (os.cpu_count() or 1) // self.count)
        spawned = multiprocessing.get_context("spawn")  # a forked torch may hang
        return ProcessPoolExecutor(
            self.count, spawned, _start, (self.job, self.destination, threads)
        )

    def _results(
        self, pool: ProcessPoolExecutor, pending: dict[Future[Commit], Numbered]
    ) -> Iterator[Commit]:
        """Yield shards as they are finished, until all are or the pool breaks."""
        while True:
            # No more than a few shards are read ahead: the data is a stream.
            while len(pending) < 2 * self.count and (shard := self._next()) is not None:
                self._submit(pool, shard, pending)
            if not pending:
                return
            ready, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in sorted(ready, key=lambda done: done.exception() is not None):
                result = future.result()
                del pending[future]
                yield result

    def _next(self) -> Numbered | None:
        return self.again.popleft() if self.again else next(self.missing, None)

    def _submit(
        self,
        pool: ProcessPoolExecutor,
        shard: Numbered,
        pending: dict[Future[Commit], Numbered],
    ) -> None:
        try:
            pending[pool.submit(_work, shard)] = shard
        except BrokenProcessPool:
            self.again.append(shard)
            raise

    def _try_again(self, shards: Iterable[Numbered], error: BrokenProcessPool) -> None:
        """Count the attempts of unfinished shards; raise if one of them keeps failing."""
        self.again.extend(shards)
        self.attempts.update(number for number, _ in self.again)
        if max(self.attempts.values()) < ATTEMPTS:
            log.warning("A worker process was killed; its part of the run is explained again.")
            return
        worst = [number for number, failed in self.attempts.items() if failed >= ATTEMPTS]
        raise PisteError(
            f"A worker process was killed in each of {ATTEMPTS} attempts at part"
            f" {few(sorted(worst), 4)} of the run. Most often the system does that when memory runs"
            " out.",
            f"Use fewer workers than {self.count}, or smaller shards (shard=64) in a new folder."
            " Finished parts are kept, and the same command goes on from them.",
        ) from error


_worker: Maker | PisteError | None = None  # or why there is none


def _start(job: RunJob, destination: Destination, threads: int) -> None:
    """Load the model in a new process, with its share of the cores."""
    global _worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    few_arenas()
    os.environ["OMP_NUM_THREADS"] = os.environ["PISTE_THREADS"] = str(threads)
    try:
        _worker = Maker.loaded(job, destination)
    except PisteError as error:  # told with the first shard: a pool says nothing of its start
        _worker = error
    except Exception as error:
        _worker = ModelError(
            f"A worker process cannot load the model: {reason(error)}",
            "Give a model that can be loaded by name on its own, or use one worker.",
        )
    _limit(threads)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended.

    What is waited for is a pipe that the parent holds open (on Windows a handle of it): the system
    closes it even if the parent is killed. Waiting for work alone would last for ever.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit(threads: int) -> None:
    """Limit torch's threads, if torch is loaded."""
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)


def _work(shard: Numbered) -> Commit:
    assert _worker is not None
    if isinstance(_worker, PisteError):
        raise _worker
    return _worker.make(shard)
