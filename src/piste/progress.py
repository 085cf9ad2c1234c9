"""Progress of long work: told to a function of the caller's, or shown as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from piste.errors import SettingError

Progress = Callable[[int, int], None]  # how many are done, how many are planned (never fewer)


@contextmanager
def watching(progress: Progress | bool | None, what: str) -> Iterator[Progress | None]:
    """The function to tell of progress: the caller's own, that of a bar (True), or none.

    what: the bar's title.
    """
    if not isinstance(progress, bool):
        if progress is not None and not callable(progress):
            raise SettingError(
                f"progress is {progress!r}.",
                "Give True for a bar, or a function of (how many are done, how many are planned).",
            )
        yield progress
    elif not progress:
        yield None
    else:
        bar = _Bar(what)
        try:
            yield bar
        finally:
            bar.close()


class Meter:
    """One progress callback for several queries, each of which counts from 0."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.before = self.done = 0

    def __call__(self, done: int, planned: int) -> None:
        self.done = done
        if self.progress is not None:
            self.progress(self.before + done, self.before + max(planned, done))

    def next(self) -> None:
        self.before, self.done = self.before + self.done, 0


class _Bar:
    """A bar in the terminal or the notebook, from the first word of progress on."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.bar: Any = None

    def __call__(self, done: int, planned: int) -> None:
        if self.bar is None:
            from tqdm.auto import tqdm  # a bar in either place, as other libraries show it

            self.bar = tqdm(desc=self.what, total=planned)
        if self.bar.disable:  # by TQDM_DISABLE: it has no clock then
            return
        if planned != self.bar.total:
            started = self.bar.start_t
            self.bar.reset(total=planned)  # a notebook's bar takes another end in no other way
            self.bar.start_t = started
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
