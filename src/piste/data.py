"""Texts to work on: JSON lines, CSV, Parquet, folders of them, a data set of the hub, or objects.

Everything is read as a stream. A row that cannot be used becomes an Example with its problem, so
that whoever works on many texts can say which one failed and go on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from piste.errors import FileError, SettingError, few, kind_of, nearest, several
from piste.rows import objects
from piste.rows.files import rows_of_files
from piste.rows.row import PROBLEM, RawRow, missing

__all__ = ["Columns", "Example", "read_examples"]
PEEKED = 100  # rows that tell which columns there are
NO_LABEL = ("", "NaN")  # cells of a CSV file without a label
SECOND = "The second text is"  # how the problems of a second text begin
Texts = str | os.PathLike[str] | Iterable[Any]  # a path, a name, or an object that holds texts


@dataclass(frozen=True)
class Columns:
    """What the columns are called."""

    text: str = "text"
    label: str = "label"
    id: str = "id"
    words: str = "words"  # with `maps`: human attention
    maps: str = "maps"  # one list of 0 and 1 for each annotator, as long as `words`
    pair: str = "text_pair"  # a second text, where the model classifies two at once

    def __post_init__(self) -> None:
        for name, given in vars(self).items():
            if given is not None:  # a frame without a header has numbers; None is no column
                object.__setattr__(self, name, str(given))


DEFAULT = Columns()
HELD = {
    "text": "text",
    "label": "labels",
    "id": "ids",
    "words": "annotated words",
    "maps": "annotators' marks",
    "pair": "second texts",
}


@dataclass(frozen=True)
class Example:
    """One row: a text, and what is known of it."""

    id: str
    text: str
    label: int | str | None = None
    words: tuple[str, ...] = ()
    maps: tuple[tuple[int, ...], ...] = field(default=())
    pair: str | None = None
    problem: str | None = None  # why it cannot be used


def read_examples(
    source: Texts,
    columns: Columns = DEFAULT,
    *,
    limit: int | None = None,
    split: str = "train",
) -> Iterator[Example]:
    """The rows of a file, of every file in a folder, of a data set by name, or of an object.

    source: a path, a name, or an object: a list, an iterator, a `datasets.Dataset`, a data frame or
    one column of it. It holds texts, pairs of texts (tuples), rows (mappings) or examples.
    split: which part of a named data set.
    """
    if not isinstance(columns, Columns):
        raise SettingError(
            f"columns is {kind_of(columns)}.", 'Give piste.Columns(text="review"), for example.'
        )
    rows = _checked(islice(_rows(source, columns, split), limit), source, columns)
    for index, row in enumerate(rows):
        yield row if isinstance(row, Example) else _example(row, index, columns)


def _checked(
    rows: Iterator[RawRow | Example], source: Texts, columns: Columns
) -> Iterator[RawRow | Example]:
    """The rows, once the first ones show that they have the columns that were asked for.

    Of an iterator no more is read than the first.
    """
    first: list[RawRow | Example] = []
    told: list[RawRow] = []
    while len(told) < (1 if isinstance(source, Iterator) else PEEKED):
        row = next(rows, None)
        if row is None:
            break
        first.append(row)
        if not isinstance(row, Example) and PROBLEM not in row:
            told.append(row)
    if told:
        _check_columns(told, source, columns)
    return chain(first, rows)


def _rows(source: Texts, columns: Columns, split: str) -> Iterator[RawRow | Example]:
    if isinstance(source, str | os.PathLike):
        yield from rows_of_files(source, split)
        return
    for item in objects.items(source, columns.text, columns.id):
        yield item if isinstance(item, Example) else objects.row(item, columns.text, columns.pair)


def source_name(source: Texts) -> str:
    """What is said of the source: its path or name, or the kind of object."""
    if isinstance(source, str | os.PathLike):
        return os.path.normpath(source)
    return kind_of(source)


def source_size(source: Texts) -> int | None:
    """How many rows there are, where that can be told before they are streamed."""
    if not isinstance(source, str | os.PathLike):
        return len(source) if isinstance(source, Sized) else None
    return sum(1 for _ in rows_of_files(source, "")) if Path(source).exists() else None


def held(source: Texts) -> Texts:
    """The source as something that can be read twice: what an iterator yields, in memory."""
    return list(source) if isinstance(source, Iterator) else source


def _check_columns(rows: Sequence[RawRow], source: Texts, columns: Columns) -> None:
    """Refuse data without texts, or without another column that was asked for by name.

    Rows of JSON may lack what others have, so one of these rows is enough.
    """
    names, index = _names(rows, source)
    for kind, name in vars(columns).items():
        if kind == "text":
            there = name in rows[0]
        elif name in (None, getattr(DEFAULT, kind)) or isinstance(source, Iterator):
            continue
        elif kind == "id" and index is not None:  # a frame's index goes by any name
            there = name in names or name in index
        else:
            there = any(name in row for row in rows)
        if not there:
            raise _no_column(kind, name, names, rows[0], source_name(source))


def _names(rows: Sequence[RawRow], source: Any) -> tuple[list[str], list[Any] | None]:
    """The columns, and of pandas the names of the index, which is no column."""
    told = getattr(source, "column_names", None)  # of Arrow; `columns` holds the cells there
    told = getattr(source, "columns", None) if told is None else told
    index = list(source.index.names) if hasattr(source, "iloc") else None
    if told is None:
        told = dict.fromkeys(name for row in rows for name in row)
    return [str(name) for name in told], index


def _no_column(kind: str, name: str, names: Sequence[str], row: RawRow, source: str) -> FileError:
    like = _likely(kind, name, names, row)
    there = f"there are {few(names)}." if names else "the first row has none."
    say = f"Say which one holds the {HELD[kind]}:"
    return FileError(
        f"{_capital(source)[:200]} has no column {name!r}.",
        f"{say} columns=piste.Columns({kind}={repr(like) if like else '...'}); {there}",
        f"{say} --{kind}-column {like or 'NAME'}; {there}",
    )


def _likely(kind: str, asked: str, names: Sequence[str], row: RawRow) -> str | None:
    """The column that was probably meant: by its name; of the text, by how much it holds too."""
    usual: str = getattr(DEFAULT, kind)
    if usual in names:
        return usual
    near = nearest(asked, names)
    if near is not None or kind != "text":
        return near
    lengths = {name: len(row[name]) for name in names if isinstance(row.get(name), str)}
    longest = max(lengths, key=lambda name: lengths[name], default="review")
    return longest if lengths or not names else names[0]


def _capital(name: str) -> str:
    """A name at the beginning of a sentence; paths stay as they are."""
    return f"A{name[1:]}" if name.startswith(("a ", "an ")) else name


def _example(row: RawRow, index: int, columns: Columns) -> Example:
    name = row.get(columns.id)
    identity = str(index) if missing(name) else str(name)
    if PROBLEM in row:
        return Example(identity, "", problem=row[PROBLEM])
    text = row.get(columns.text)
    if not isinstance(text, str):
        kind = "nothing" if missing(text) else kind_of(text)
        return Example(identity, "", problem=f"The column {columns.text!r} holds {kind}, no text.")
    pair = row.get(columns.pair)
    return Example(
        identity,
        text,
        _label(row.get(columns.label)),
        _strings(row.get(columns.words)),
        _maps(row.get(columns.maps)),
        pair if isinstance(pair, str) else None,
        no_second(pair) if columns.pair in row else None,
    )


def no_second(given: object) -> str | None:
    """Why this is no second text, if it is none."""
    if isinstance(given, str):
        return None
    if missing(given):
        return f"{SECOND} missing."
    return f"{SECOND} {kind_of(given)}, not a text."


def _label(given: object) -> int | str | None:
    """A label from the data, a number or a name; 1.0 becomes 1, NaN becomes None.

    Anything else (0.5, a list) is kept in writing, so that it is reported as a label that the
    model does not know.
    """
    if missing(given) or (isinstance(given, str) and given in NO_LABEL):
        return None
    if isinstance(given, int) or (isinstance(given, float) and given.is_integer()):
        return int(given)
    return str(given)


def label_number(label: int | str) -> int | None:
    """The number that a label is, if it is one: 1, "1", or "1.0" as pandas writes it to CSV."""
    number = re.fullmatch(r"(\d{1,9})(\.0*)?", str(label))
    return None if number is None else int(number[1])


def _strings(given: object) -> tuple[str, ...]:
    listed = _listed(given)
    return tuple(map(str, listed)) if isinstance(listed, Sequence) else ()


def _maps(given: object) -> tuple[tuple[int, ...], ...]:
    """One tuple of 0 and 1 for each annotator; nothing where the cell holds something else."""
    listed = _listed(given)
    if not isinstance(listed, Sequence):
        return ()
    if listed and not isinstance(listed[0], Sequence):
        listed = [listed]  # one annotator
    try:
        maps = tuple(tuple(_MARKS[mark] for mark in marks) for marks in listed)
    except (KeyError, TypeError):
        return ()
    return maps


_MARKS = {0: 0, 1: 1, "0": 0, "1": 1}  # False and True are 0 and 1


def _listed(given: object) -> object:
    """A list, of an array too; parsed from JSON where a CSV cell holds it as text."""
    if not isinstance(given, str):
        return _plain(given)
    try:
        parsed = json.loads(given)
    except ValueError:
        return None
    return parsed if isinstance(parsed, list) else None


def _plain(given: Any) -> object:
    """A list in place of an array, and of arrays in it: pandas has them in cells of Parquet."""
    given = given.tolist() if hasattr(given, "tolist") else given
    return [_plain(one) for one in given] if isinstance(given, list) else given


def with_pairs(
    examples: Iterator[Example], pairs: str | Iterable[str] | None, size: int | None = None
) -> Iterator[Example]:
    """The examples with second texts: one for all, or one for each.

    size: how many examples there are; where it is known, another number is refused at once.
    """
    if pairs is None:
        return examples
    if not isinstance(pairs, Iterable):
        raise SettingError(
            f"pair is {kind_of(pairs)}, and there are many texts.",
            "Give one second text for all, or as many as there are texts.",
        )
    if isinstance(pairs, str):
        return (_paired(example, pairs) for example in examples)
    if size is not None:
        pairs = list(islice(pairs, size + 1))
        if len(pairs) > size:
            raise _surplus()
        if len(pairs) < size:
            raise SettingError(
                f"There are {several(size, 'text')}, and {several(len(pairs), 'second text')}.",
                "Give as many second texts as texts.",
            )
    return _beside(examples, iter(pairs))


def _beside(examples: Iterator[Example], seconds: Iterator[str]) -> Iterator[Example]:
    """Each example with a second text of its own."""
    for example in examples:
        yield _paired(example, next(seconds, None))
    if next(seconds, None) is not None:
        raise _surplus()


def _paired(example: Example, second: str | None) -> Example:
    """An example with this second text; without one it cannot be used."""
    if example.problem is not None and not example.problem.startswith(SECOND):
        return example
    return replace(example, pair=second, problem=no_second(second))


def _surplus() -> SettingError:
    return SettingError(
        "There are more second texts than texts.", "Give as many second texts as texts."
    )
