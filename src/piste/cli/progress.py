"""A progress bar for those who wait: on stderr, and only after a second."""

import time
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE = 1.0  # seconds before a bar is worth its lines
RECENT = 600.0  # seconds over which the pace is taken: a shard of texts may last minutes
EVERY = 30.0  # seconds between lines where there is no terminal: a log wants few


class LateBar:
    """Called with (done, planned): a bar after `PATIENCE`; off a terminal, a line at times.

    Where more is done than was planned, the plan grows: no bar passes 100 %.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.title = title
        self.started = self.said = time.monotonic()
        self.bar: Progress | None = None
        self.began: tuple[float, int] | None = None  # when what is counted began, and from where

    def __enter__(self) -> "LateBar":
        return self

    def stage(self, title: str) -> None:
        """What is counted from now on; another stage starts a bar of its own."""
        if title == self.title:
            return
        self.title, self.began = title, None
        if self.bar is not None:
            self.bar.remove_task(self.bar.task_ids[0])
            self.bar.add_task(title, total=None)

    def __call__(self, done: int, planned: int | None) -> None:
        planned = None if planned is None else max(planned, done)
        if self.began is None:
            self.began = time.monotonic(), done
        if not self.console.is_terminal:
            self._say(done, planned)
            return
        if time.monotonic() - self.started < PATIENCE:
            return
        if self.bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self.bar = Progress(
                *columns,
                TimeRemainingColumn(),
                console=self.console,
                speed_estimate_period=RECENT,
                transient=True,
            )
            self.bar.add_task(self.title, total=None)
            self.bar.start()
        self.bar.update(self.bar.task_ids[0], completed=done, total=planned)

    def _say(self, done: int, planned: int | None) -> None:
        if time.monotonic() - self.said < EVERY:
            return
        self.said = time.monotonic()
        of = "" if planned is None else f" of {planned:,}"
        self.console.print(
            f"{self.title}: {done:,}{of}{self._left(done, planned)}", highlight=False
        )

    def _left(self, done: int, planned: int | None) -> str:
        """How long the rest takes at the pace so far."""
        began, first = self.began or (self.started, 0)
        if planned is None or not first < done < planned:
            return ""
        seconds = (self.said - began) * (planned - done) / (done - first)
        return f", about {timedelta(seconds=round(seconds))} left"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
