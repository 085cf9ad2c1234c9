"""Rows of files (JSON lines, CSV, Parquet), of folders of them, or of a data set of the hub."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import IO

from piste.errors import FileError
from piste.extras import require
from piste.rows.row import PROBLEM, RawRow

KINDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
LONGEST_CELL = 1 << 27


def rows_of_files(source: str | os.PathLike[str], split: str) -> Iterator[RawRow]:
    """All rows, in order. split: which part of a data set of the hub."""
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
                f"{path} is not a data file.",
                f"It should end in one of {', '.join(KINDS)}, or .gz.",
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
            raise FileError(f"Line 1 of {path} {wrong}.", "Give one JSON object per line.")
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
