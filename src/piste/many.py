"""Many texts explained at once: batched across texts, and a list of what came of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, overload

from piste.data import Example
from piste.errors import FileError, InputError, SettingError, choices, reason
from piste.models.protocol import Classifier
from piste.models.sharing import THREADS as GROUP
from piste.models.sharing import Gathering, together
from piste.options import BATCH_TOKENS
from piste.progress import Progress, watching
from piste.result.explanation import Explanation
from piste.result.written import AsPage
from piste.surrogates import algebra
from piste.threads import lock_for

if TYPE_CHECKING:
    import pandas

    from piste.runs.word_summary import Summary

__all__ = ["Explanations", "Failure"]
TABLES = ("players", "texts")
Work = Callable[[Gathering, Example], Explanation]


@dataclass(frozen=True)
class Failure:
    """A text that could not be explained, in the place of its explanation. It counts as False."""

    text: str
    error: Exception
    id: str = ""

    @property
    def reason(self) -> str:
        """The error in one line."""
        return reason(self.error)

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        """What an explanation would have, this has not: the error says why."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"This text was not explained, so it has no {name!r}. {self.reason}")

    def __str__(self) -> str:
        return f"Not explained: {self.reason}"


Result = Explanation | Failure
Pairing = tuple[Example, Result]


class Explanations(Sequence[Result], AsPage):
    """Explanations of many texts, in their order; a text that failed is a `Failure`.

    A list in use: `len`, indices, slices, loops. Of an iterator of texts each is explained when it
    is come to, and `len` goes through all.
    """

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self._done = [(Example(str(n), one.text), one) for n, one in enumerate(results)]
        self._rest: Iterator[Pairing] | None = None  # None: all are there
        self._broken: Exception | None = None  # why the rest will never come
        self._filling: int | None = None  # the thread that is explaining the next of them

    @classmethod
    def of(cls, stream: Iterator[Pairing], *, at_once: bool) -> Explanations:
        """All of a stream at once; or the first, and the rest when it is asked for."""
        made = cls()
        made._rest = stream
        made._fill(None if at_once else 1)
        if not made._done:
            raise InputError("There is no text to explain.", "Give at least one.")
        return made

    @property
    def explained(self) -> list[Explanation]:
        """The explanations alone, without failures."""
        self._fill()
        return [result for _, result in self._done if isinstance(result, Explanation)]

    @property
    def failures(self) -> list[Failure]:
        """The texts that could not be explained."""
        self._fill()
        return [result for _, result in self._done if isinstance(result, Failure)]

    @property
    def ids(self) -> list[str]:
        """What each text is called in its data: its `id`, its index, or its number."""
        self._fill()
        return [example.id for example, _ in self._done]

    @property
    def is_complete(self) -> bool:
        """Whether all are explained: not while there is more in the iterator of texts."""
        return self._rest is None

    def to_pandas(self, rows: Literal["players", "texts"] = "players") -> pandas.DataFrame:
        """A data frame, one row a player or one row a text.

        A player has the columns of `Explanation.to_pandas`, and before them `index` (of its text),
        `id`, `position` in the text, and `target`, the label that positive scores speak for; its
        `score` is the one that ranks. A text's `score` is the model's, towards its `target`.
        """
        from piste.result.exports import data_frame
        from piste.runs.in_memory import players_table, texts_table

        if rows not in TABLES:
            raise choices("kind of rows", rows, TABLES)
        every = self._all()
        return data_frame(players_table(every) if rows == "players" else texts_table(every))

    def to_parquet(self, folder: str | os.PathLike[str]) -> None:
        """The folder that `piste run` writes: for `piste summary`, DuckDB, Spark, pandas."""
        if str(folder).endswith(".parquet"):
            raise FileError(
                f"to_parquet() writes a folder with two tables, and {str(folder)!r} is the"
                " name of a file.",
                "Give a folder's name; for one table, to_pandas().to_parquet(file).",
            )
        from piste.runs.in_memory import write

        write(self._all(), folder)

    def summary(self) -> Summary:
        """What each word does over all texts, and which act together; as `piste summary` has it."""
        from piste.runs.in_memory import summarised

        return summarised(self._all())

    def _page(self) -> str:
        """The summary's."""
        return self.summary().to_html()

    def _all(self) -> list[Pairing]:
        self._fill()
        return self._done

    def _fill(self, most: int | None = None) -> None:
        """Explain until there are so many, or all; one thread at a time."""
        if self._rest is None or (most is not None and len(self._done) >= most):
            return
        if self._filling == get_ident():
            raise SettingError(
                "What is not explained yet was read by the progress function of its own"
                f" explanation; {counted(self._done)} {'is' if len(self._done) == 1 else 'are'}"
                " there so far.",
                "Read no more than those from a progress function, or wait until the texts are"
                " explained.",
            )
        with lock_for(self):
            self._filling = get_ident()
            try:
                self._go_on(most)
            finally:
                self._filling = None

    def _go_on(self, most: int | None) -> None:
        while self._rest is not None and (most is None or len(self._done) < most):
            pairing = self._next(self._rest)
            if pairing is None:
                self._rest = None
            else:
                self._done.append(pairing)

    def _next(self, rest: Iterator[Pairing]) -> Pairing | None:
        """The next one, None at the end. What ended them early is raised every time: a generator
        that has raised once looks as if it had come to its end.
        """
        if self._broken is not None:
            raise self._broken
        try:
            return next(rest, None)
        except Exception as error:
            self._broken = error
            raise
        except BaseException as error:  # Ctrl-C is not to be raised once more
            self._broken = InputError(
                f"{type(error).__name__} ended this before all texts were explained.",
                "Explain the remaining texts again; those before them are done.",
            )
            raise

    @overload
    def __getitem__(self, index: int) -> Result: ...

    @overload
    def __getitem__(self, index: slice) -> Explanations: ...

    def __getitem__(self, index: int | slice) -> Result | Explanations:
        if isinstance(index, slice):
            part = Explanations()
            self._fill(_needed(index))
            part._done = self._done[index]
            return part
        self._fill(None if index < 0 else index + 1)
        return self._done[index][1]

    def __iter__(self) -> Iterator[Result]:
        place = 0
        while place < len(self._done) or self._rest is not None:
            self._fill(place + 1)
            if place < len(self._done):
                yield self._done[place][1]
            place += 1

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        self._fill(1)
        return bool(self._done)

    # As with an Explanation, text and pictures are loaded only when asked for; neither goes on
    # with what is not explained yet.
    def __repr__(self) -> str:
        failed = sum(isinstance(result, Failure) for _, result in self._done)
        more = "" if self._rest is None else " so far"
        failures = f", {failed:,} failed" if failed else ""
        return f"<Explanations of {counted(self._done)}{more}{failures}>"

    def __str__(self) -> str:
        from piste.render.many import as_text

        return as_text(self._done, self.is_complete)

    def _repr_html_(self) -> str:
        from piste.render.many import fragment

        return fragment(self._done, self.is_complete)


def _needed(part: slice) -> int | None:
    """How many a slice needs from the beginning; None: all, as where it counts from the end."""
    start, stop, step = part.start or 0, part.stop, part.step or 1
    if stop is None or start < 0 or stop < 0 or step < 0:
        return None
    return int(stop) if start < stop else 0


def counted(texts: Sequence[object]) -> str:
    """ "1 text", "1,200 texts"."""
    return f"{len(texts):,} text{'' if len(texts) == 1 else 's'}"


def explained(
    examples: Iterator[Example],
    classifier: Classifier,
    work: Work,
    threads: int,
    size: int | None = None,
    progress: Progress | bool | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> Iterator[Pairing]:
    """Every example with what came of it, `threads` at a time on shared batches.

    size: how many there are, for the progress; None where that is not known.
    """
    done = 0
    with watching(progress, "Texts explained") as told:

        def tell(more: int) -> None:
            if told is not None:
                told(done + more, max(size or 0, done + len(group)))

        problem: Exception | None = None
        while problem is None:
            group, problem = _read(examples)
            if not group:
                break
            tell(0)
            pairings = _group(group, classifier, work, threads, batch_tokens, tell)
            if not done:
                _check([result for _, result in pairings])
            yield from pairings
            done += len(group)
        if problem is not None:
            raise problem


def _read(examples: Iterator[Example]) -> tuple[list[Example], Exception | None]:
    """The next few examples, and what the source raised after them."""
    group: list[Example] = []
    try:
        group.extend(islice(examples, GROUP))  # keeps what came before the source raised
    except Exception as error:
        return group, error
    return group, None


def _group(
    group: Sequence[Example],
    classifier: Classifier,
    work: Work,
    threads: int,
    batch_tokens: int,
    tell: Callable[[int], None],
) -> list[Pairing]:
    """A few examples explained together; returns before anybody else does anything.

    Libraries that divide each small product among threads of their own would wait for each other.
    """
    pairings: list[Pairing] = []
    asked = together(classifier, group, partial(_result, work), threads, batch_tokens)
    with algebra.one_thread, closing(asked) as results:  # ends its threads if `tell` raises
        for example, result in zip(group, results, strict=True):
            pairings.append((example, result))
            tell(len(pairings))
    return pairings


def _result(work: Work, gathering: Gathering, example: Example) -> Result:
    if example.problem is not None:
        return Failure(example.text, InputError(example.problem, ""), example.id)
    try:
        return work(gathering, example)
    except Exception as error:  # one text must not end the others, whatever the model does to it
        return Failure(example.text, error, example.id)


def _check(first: Sequence[Result]) -> None:
    """Raise a setting that no text can be explained with: no label of that name, too few questions.

    A `SettingError` of a kind of its own is about one text.
    """
    errors = [result.error for result in first if isinstance(result, Failure)]
    if len(errors) == len(first) and all(type(error) is SettingError for error in errors):
        raise errors[0]
