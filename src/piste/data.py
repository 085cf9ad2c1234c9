"""Texts to work on: JSON lines, CSV, Parquet, folders of them, or a data set of the hub.

Everything is read as a stream. A row that cannot be used becomes an Example with its problem, so
that whoever works on many texts can say which one failed and go on.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from piste.errors import FileError, SettingError

__all__ = ["Columns", "Example", "read_examples"]
KINDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
LONGEST_CELL = 1 << 27
PROBLEM = "\0problem"  # a column no file has: what is wrong with the row
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Columns:
    """What the columns are called."""

    text: str = "text"
    label: str = "label"
    id: str = "id"
    words: str = "words"  # with `maps`: human attention
    maps: str = "maps"  # one list of 0 and 1 for each annotator, as long as `words`
    pair: str = "text_pair"  # a second text, where the model classifies two at once


DEFAULT = Columns()


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
    source: str | os.PathLike[str],
    columns: Columns = DEFAULT,
    *,
    limit: int | None = None,
    split: str = "train",
) -> Iterator[Example]:
    """The rows of a file, of every file in a folder, or of a data set by name, in order.

    split: which part of a named data set.
    """
    rows = islice(_rows(source, split), limit)
    for index, row in enumerate(rows):
        if columns.text not in row and index == 0:
            raise FileError(
                f"{str(source)[:200]} has no column {columns.text!r}.",
                f"Name the text's column (--text-column, Columns(text=...)); there are"
                f" {', '.join(map(str, row))[:300]}.",
            )
        yield _example(row, index, columns)


def _example(row: Row, index: int, columns: Columns) -> Example:
    if PROBLEM in row:
        return Example(str(index), "", problem=row[PROBLEM])
    name = row.get(columns.id)
    identity = str(index) if name is None else str(name)
    text, label = row.get(columns.text), row.get(columns.label)
    if not isinstance(text, str):
        kind = "nothing" if text is None else f"a {type(text).__name__}"
        return Example(identity, "", problem=f"The column {columns.text!r} holds {kind}, no text.")
    pair = row.get(columns.pair)
    return Example(
        identity,
        text,
        label if isinstance(label, int | str) else None,
        _strings(row.get(columns.words)),
        _maps(row.get(columns.maps)),
        pair if isinstance(pair, str) else None,
    )


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
    """A list, also where a CSV cell holds it as JSON."""
    if not isinstance(given, str):
        return given
    try:
        found = json.loads(given)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def _rows(source: str | os.PathLike[str], split: str) -> Iterator[Row]:
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and _kind(file))
        if not files:
            raise FileError(f"There is no data in {path}.", f"Put files there: {', '.join(KINDS)}.")
        return (row for file in files for row in _read(file))
    if path.exists() or _kind(path):
        return _read(path)
    return _from_hub(str(source), split)


def _kind(path: Path) -> str | None:
    """The kind of a data file by its name, .gz aside; None for other files."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    return suffix.lower() if suffix.lower() in KINDS else None


def _read(path: Path) -> Iterator[Row]:
    kind = _kind(path)
    try:
        if kind is None:
            raise FileError(
                f"{path} is no data file.", f"It should end in one of {', '.join(KINDS)}, or .gz."
            )
        if kind == ".parquet":
            yield from _parquet(path)
            return
        with path.open("rb") as raw, _opened(raw, path) as stream:
            if kind in (".csv", ".tsv"):
                yield from _csv(stream, "\t" if kind == ".tsv" else ",")
            else:
                yield from _json_lines(stream, path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"Cannot read {path}: {reason}.", "Check the file.") from error


def _opened(raw: IO[bytes], path: Path) -> io.TextIOWrapper:
    plain = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
    return io.TextIOWrapper(plain, encoding="utf-8-sig", newline="")


def _csv(stream: IO[str], delimiter: str) -> Iterator[Row]:
    """Rows with cells of any length. Python's limit is one for all: it comes back after each."""
    reader = csv.DictReader(stream, delimiter=delimiter)
    while True:
        before = csv.field_size_limit(LONGEST_CELL)
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield row


def _json_lines(stream: IO[str], path: Path) -> Iterator[Row]:
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            wrong = None if isinstance(row, dict) else "is no JSON object"
        except (ValueError, RecursionError) as error:
            row, wrong = {}, f"is not JSON: {error}"
        if wrong is not None and number == 1:
            raise FileError(f"Line 1 of {path} {wrong}.", "Give one JSON object a line.")
        yield row if wrong is None else {PROBLEM: f"Line {number} {wrong}."}


def _parquet(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise SettingError("Parquet needs pyarrow.", "pip install 'piste[data]'.") from error
    try:
        for batch in ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except ArrowInvalid as error:
        raise FileError(f"{path} is not Parquet: {error}.", "Check the file.") from error


def _from_hub(name: str, split: str) -> Iterator[Row]:
    """A data set of the hub, `name` or `name:configuration`, streamed."""
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise SettingError(
            f"There is no file {name!r}, and data sets by name need the datasets library.",
            "Check the path, or pip install 'piste[data]'.",
        ) from error
    path, _, configuration = name.partition(":")
    try:
        yield from load_dataset(path, configuration or None, split=split, streaming=True)
    except Exception as error:  # the library raises whatever its network layers raise
        raise FileError(
            f"There is no file {name!r}, and no data set of that name could be loaded:"
            f" {str(error)[:200]}.",
            "Check the path, the name and the split.",
        ) from error
