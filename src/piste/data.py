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
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, zip_longest
from pathlib import Path
from typing import IO, Any

from piste.errors import FileError
from piste.extras import require

__all__ = ["Columns", "Example", "read_examples"]
KINDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
LONGEST_CELL = 1 << 27
NO_LABEL = ("", "NaN")  # cells of a CSV file without a label
PROBLEM = "\0problem"  # a column no file has: what is wrong with the row
RawRow = Mapping[str, Any]


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
    is_checked = False
    for index, row in enumerate(islice(_rows(source, split), limit)):
        if not is_checked and PROBLEM not in row:
            is_checked = True
            _check_columns(row, source, columns)
        yield _example(row, index, columns)


def _check_columns(row: RawRow, source: str | os.PathLike[str], columns: Columns) -> None:
    if columns.text not in row:
        raise FileError(
            f"{str(source)[:200]} has no column {columns.text!r}.",
            f"Name the text's column (--text-column, Columns(text=...)); there are"
            f" {', '.join(map(str, row))[:300]}.",
        )


def _example(row: RawRow, index: int, columns: Columns) -> Example:
    if PROBLEM in row:
        return Example(str(index), "", problem=row[PROBLEM])
    name = row.get(columns.id)
    identity = str(index) if name is None else str(name)
    text = row.get(columns.text)
    if not isinstance(text, str):
        kind = "nothing" if text is None else f"a {type(text).__name__}"
        return Example(identity, "", problem=f"The column {columns.text!r} holds {kind}, no text.")
    pair = row.get(columns.pair)
    return Example(
        identity,
        text,
        _label(row.get(columns.label)),
        _strings(row.get(columns.words)),
        _maps(row.get(columns.maps)),
        pair if isinstance(pair, str) else None,
    )


def _label(given: object) -> int | str | None:
    """A label from the data, a number or a name; 1.0 becomes 1, NaN becomes None.

    Anything else (0.5, a list) is kept in writing, so that it is reported as a label that the
    model does not know.
    """
    if given is None or given != given or given in NO_LABEL:
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
    """A list, parsed from JSON where a CSV cell holds it as text."""
    if not isinstance(given, str):
        return given
    try:
        parsed = json.loads(given)
    except ValueError:
        return None
    return parsed if isinstance(parsed, list) else None


def _rows(source: str | os.PathLike[str], split: str) -> Iterator[RawRow]:
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


def _read(path: Path) -> Iterator[RawRow]:
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
                yield from _csv(stream, path, "\t" if kind == ".tsv" else ",")
            else:
                yield from _json_lines(stream, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(
            f"Cannot read {path}: it is damaged or cut off ({error}).",
            "Copy or download it again; `gzip -t` checks it.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"Cannot read {path}: {reason}.", "Check the file.") from error


def _opened(raw: IO[bytes], path: Path) -> io.TextIOWrapper:
    plain = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
    return io.TextIOWrapper(plain, encoding="utf-8-sig", newline="")


def _csv(stream: IO[str], path: Path, delimiter: str) -> Iterator[RawRow]:
    """Rows keyed by the header; a malformed row becomes a row with a problem."""
    records = _records(stream, path, delimiter)
    _, header = next(records, ("", []))
    if isinstance(header, str):
        raise FileError(f"{path} has no header: {header}", "Name the columns in its first line.")
    for place, record in records:
        if isinstance(record, str):
            yield {PROBLEM: record}
        elif any(record[len(header) :]):
            yield {
                PROBLEM: f"{place} has {len(record)} cells for {len(header)} columns: put a cell"
                f" that holds {delimiter!r} in quotes."
            }
        elif record:
            yield dict(zip_longest(header, record[: len(header)]))


def _records(stream: IO[str], path: Path, delimiter: str) -> Iterator[tuple[str, list[str] | str]]:
    """Where each row stands, and its cells; of a malformed one, what is wrong with it."""
    lines = _Lines(stream)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first = reader.line_num + 1
        lines.latest.clear()
        try:
            record = _next_record(reader)
        except csv.Error as error:
            _check_quotes(lines, first, path, delimiter)
            for number, line in enumerate(lines.latest, start=first):
                yield (
                    f"Line {number}",
                    _unquoted(line, delimiter, f"Line {number}: not CSV ({error})"),
                )
            continue
        if record is None:
            return
        yield _place(first, reader.line_num), record


def _unquoted(line: str, delimiter: str, problem: str) -> list[str] | str:
    """A line whose quotes do not fit: TSV is often written without quoting, CSV is not."""
    if delimiter == "\t":
        return line.rstrip("\r\n").split(delimiter)
    return f'{problem}. Double the quotes inside a cell, as in "".'


def _place(first: int, last: int) -> str:
    return f"Line {first}" if first == last else f"Lines {first} to {last}"


def _next_record(reader: Iterator[list[str]]) -> list[str] | None:
    """The next record, with cells of any length; the process-wide limit is restored after each."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


class _Lines:
    """The lines of a stream, with a copy of those read since the last record."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream, self.ended = stream, False
        self.latest: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self.stream:
            self.latest.append(line)
            yield line
        self.ended = True


def _check_quotes(lines: _Lines, first: int, path: Path, delimiter: str) -> None:
    """Raise the error for a quote that is never closed and so swallows the rows that follow."""
    record = "".join(lines.latest)
    if not lines.ended and len(record) <= LONGEST_CELL:
        return
    cells = rf'(?:(?:"(?:[^"]++|"")*+"|(?!")[^{delimiter}\r\n]*+){delimiter})*+'
    closed = re.match(cells, record)  # the cells before the one that is not
    ends = list(accumulate(map(len, lines.latest)))
    line = first + bisect_right(ends, closed.end() if closed else 0)
    raise FileError(
        f"In {path} the quote that opens a cell in line {line} is never closed: the cell would"
        f" swallow everything up to line {first + len(ends) - 1}.",
        'Close it, or double the quotes that belong to the text ("").',
    )


def _json_lines(stream: IO[str], path: Path) -> Iterator[RawRow]:
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


def _parquet(path: Path) -> Iterator[RawRow]:
    parquet, pyarrow = require("pyarrow.parquet", "Parquet"), require("pyarrow", "Parquet")
    try:
        for batch in parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except pyarrow.ArrowException as error:
        raise FileError(f"{path} is not Parquet: {error}.", "Check the file.") from error


def _from_hub(name: str, split: str) -> Iterator[RawRow]:
    """A data set of the hub, `name` or `name:configuration`, streamed."""
    datasets = require("datasets", f"There is no file {name!r}, and a data set of that name")
    path, _, configuration = name.partition(":")
    try:
        yield from datasets.load_dataset(path, configuration or None, split=split, streaming=True)
    except Exception as error:  # the library raises whatever its network layers raise
        raise FileError(
            f"There is no file {name!r}, and no data set of that name could be loaded:"
            f" {str(error)[:200]}.",
            "Check the path, the name and the split.",
        ) from error
