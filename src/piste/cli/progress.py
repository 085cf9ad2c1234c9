"""A progress bar for those who wait: on stderr, and only after a second."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE = 1.0  # seconds before a bar is worth its lines


class LateBar:
    """Called with (done, planned); draws nothing before `PATIENCE` and nothing off a terminal."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.title = title
        self.started = time.monotonic()
        self.bar: Progress | None = None

    def __enter__(self) -> "LateBar":
        return self

    def __call__(self, done: int, planned: int | None) -> None:
        if not self.console.is_terminal or time.monotonic() - self.started < PATIENCE:
            return
        if self.bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self.bar = Progress(
                *columns, TimeRemainingColumn(), console=self.console, transient=True
            )
            self.bar.add_task(self.title)
            self.bar.start()
        self.bar.update(self.bar.task_ids[0], completed=done, total=planned)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
