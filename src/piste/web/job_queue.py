"""A bounded job queue with a few workers, whose jobs can be cancelled."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

from piste.errors import FunctionError, PisteError

BEAT = 1.0  # seconds after which a silent job is looked after
OFTEN = 0.1  # seconds between two reports of progress
PATIENCE = 3.0  # seconds that running work gets to notice that the server stops
Event = tuple[str, Any]  # its name and its data
log = logging.getLogger("piste.web")


class Busy(PisteError):
    """The queue is full."""


class Late(PisteError):
    """The request exceeded its time limit."""


class Closing(PisteError):
    """The server is shutting down."""


class _Stopped(BaseException):
    """Raised inside cancelled work. A BaseException, as comparisons survive Exceptions."""


class Job:
    """One piece of work and its events: progress, rounds, then result or error."""

    def __init__(self, work: Callable[[Job], Any]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self.stopped = threading.Event()
        self.told = 0.0

    # In the worker's thread:
    def run(self) -> None:
        if self.stopped.is_set():
            return
        try:
            self.tell("result", self.work(self))
        except _Stopped:
            return
        except BaseException as error:  # a worker outlives whatever a model does
            if isinstance(error, FunctionError) or not isinstance(error, PisteError):
                log.exception("An explanation failed.")
            self.tell("error", error)

    def progress(self, done: int, planned: int) -> None:
        """Progress callback of `explain`; raises when the job is cancelled."""
        self.check()
        now = time.monotonic()
        if now - self.told >= OFTEN:
            self.told = now
            self.tell("progress", {"done": int(done), "planned": int(planned)})  # numpy has its own

    def check(self) -> None:
        if self.stopped.is_set():
            raise _Stopped

    def tell(self, name: str, data: Any) -> None:
        with suppress(RuntimeError):  # the loop may be closed by now: nobody listens
            self.loop.call_soon_threadsafe(self.events.put_nowait, (name, data))

    # In the server's thread:
    def stop(self) -> None:
        self.stopped.set()

    async def listen(self, timeout: float) -> AsyncGenerator[Event, None]:
        """Yield the events up to the result, and "beat" while there are none. Errors are raised.

        The job is cancelled when the listener stops.
        """
        end = self.loop.time() + timeout
        try:
            while True:
                left = end - self.loop.time()
                if left <= 0:
                    raise Late(
                        f"This took longer than {timeout:g} seconds.",
                        "Use a shorter text or a faster method, or start with a larger --timeout.",
                    )
                event = await self._next(min(left, BEAT))
                if event[0] == "error":
                    raise event[1]
                yield event
                if event[0] == "result":
                    return
        finally:
            self.stop()

    async def _next(self, wait: float) -> Event:
        try:
            return await asyncio.wait_for(self.events.get(), wait)
        except TimeoutError:
            return "beat", None


class JobQueue:
    """Jobs waiting for a few workers."""

    def __init__(self, most: int, workers: int) -> None:
        self.most = most  # that may wait
        self.waiting: deque[Job] = deque()
        self.running: set[Job] = set()
        self.closed = False
        self.changed = threading.Condition()  # its lock may be taken again: signals interrupt
        # Daemons: a model that does not come back must not keep the process.
        self.workers = [threading.Thread(target=self._serve, daemon=True) for _ in range(workers)]
        for worker in self.workers:
            worker.start()

    def submit(self, work: Callable[[Job], Any], urgent: bool = False) -> Job:
        """Queue some work; raises Busy if the queue is full.

        urgent: a moment's work for somebody who looks at the page; it goes to the front, and a
        line that is full of long work has as many places more for it.
        """
        with self.changed:
            if self.closed:
                raise _closing()
            # Those who went away are not waiting any more.
            self.waiting = deque(job for job in self.waiting if not job.stopped.is_set())
            idle = len(self.workers) - len(self.running)
            if len(self.waiting) >= (2 * self.most if urgent else self.most) + idle:
                count = len(self.waiting)
                raise Busy(f"The server is busy: {count} are waiting.", "Try again shortly.")
            job = Job(work)
            self.waiting.appendleft(job) if urgent else self.waiting.append(job)
            self.changed.notify()
        return job

    def before(self, job: Job) -> int:
        """The number of jobs ahead of this one."""
        with self.changed:
            return self.waiting.index(job) if job in self.waiting else 0

    def stop(self) -> None:
        """Cancel all jobs; waiting clients are told at once."""
        with self.changed:
            self.closed = True
            for job in (*self.running, *self.waiting):
                job.stop()
                job.tell("error", _closing())
            self.waiting.clear()
            self.changed.notify_all()

    def join(self) -> None:
        """Wait a moment for the workers."""
        end = time.monotonic() + PATIENCE
        for worker in self.workers:
            worker.join(max(0.0, end - time.monotonic()))

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            try:
                job.run()
            finally:
                with self.changed:
                    self.running.discard(job)

    def _next(self) -> Job | None:
        """Wait for the next job; None after `stop`."""
        with self.changed:
            while not self.waiting and not self.closed:
                self.changed.wait()
            if self.closed:
                return None
            job = self.waiting.popleft()
            self.running.add(job)
            return job


def _closing() -> Closing:
    return Closing("The server is stopping.", "Start it again: piste serve.")
