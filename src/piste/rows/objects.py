"""Rows of objects that a program holds: lists, iterators, data sets, tables and their columns.

Other libraries' objects are recognised by what they offer, so that none of them is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from piste.errors import InputError, few, kind_of
from piste.rows.row import PROBLEM, RawRow, missing


class _List(Protocol):
    """A list, a tuple, a set, a column ... A string is none: it asks `in` of strings alone."""

    def __iter__(self) -> Iterator[Any]: ...

    def __contains__(self, value: object, /) -> bool: ...


class _DataSet(Protocol):
    """A `datasets.Dataset`, an Arrow table."""

    def __iter__(self) -> Iterator[Any]: ...

    @property
    def column_names(self) -> Any: ...


class _Pandas(Protocol):
    """A data frame, or a column of it."""

    def __iter__(self) -> Iterator[Any]: ...

    @property
    def iloc(self) -> Any: ...


ManyTexts = _List | _DataSet | _Pandas | Iterator[Any]  # so that a type checker tells one text
MANY = "a list of texts, a datasets.Dataset, a data frame, one of its columns, or an iterator"


def holds_many(given: object) -> TypeGuard[ManyTexts]:
    """Whether it is many texts rather than one, or a mistake. Arrow's tables cannot be iterated."""
    return hasattr(given, "to_batches") or (
        isinstance(given, Iterable) and not isinstance(given, str)
    )


def items(source: Any, text: str, identity: str) -> Iterator[Any]:
    """What the object holds, one by one: texts, rows or whatever else.

    text, identity: the columns that a text and its name in an index get.
    """
    if isinstance(source, bytes | bytearray):
        raise InputError("The text is bytes.", 'Decode it first: text.decode("utf-8").')
    if isinstance(source, Mapping):
        raise _no_rows(source)
    if hasattr(source, "iloc"):
        return _of_pandas(source, text, identity)
    if hasattr(source, "iter_rows"):  # a polars frame
        return iter(source.iter_rows(named=True))
    if hasattr(source, "to_batches"):  # an Arrow table
        return (one for batch in source.to_batches() for one in batch.to_pylist())
    if not isinstance(source, Iterable):
        raise InputError(f"A {type(source).__name__} holds no texts.", f"Give {MANY}.")
    return iter(source)


def row(item: Any, text: str, pair: str) -> RawRow:
    """One item as a row: a text or two of them under their columns, a mapping as it is."""
    item = item.as_py() if hasattr(item, "as_py") else item  # a scalar of Arrow
    if isinstance(item, Mapping):
        return item
    if isinstance(item, str):
        return {text: item}
    if isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(t, str) for t in item):
        return {text: item[0], pair: item[1]}
    return {PROBLEM: _strange(item)}


def _strange(item: object) -> str:
    if missing(item):
        return "There is no text: the value is missing."
    return f"It is {kind_of(item)}, not a text."


def _of_pandas(source: Any, text: str, identity: str) -> Iterator[RawRow]:
    """A frame's rows, or a column's values, under the names that the index gives them."""
    names = source.index.tolist()
    if not hasattr(source, "columns"):
        return (
            {identity: name}
            | ({text: value} if isinstance(value, str) else {PROBLEM: _strange(value)})
            for name, value in zip(names, source.tolist(), strict=True)
        )
    _check_names([str(column) for column in source.columns])
    columns = {
        str(column): source.iloc[:, place].tolist() for place, column in enumerate(source.columns)
    }
    rows = zip(*columns.values(), strict=True) if columns else ()
    return (
        {identity: name} | dict(zip(columns, cells, strict=True))
        for name, cells in zip(names, rows, strict=True)
    )


def _check_names(names: Sequence[str]) -> None:
    """Refuse a frame in which a name stands for several columns: which is meant, nobody knows."""
    double = [name for name, times in Counter(names).items() if times > 1]
    if double:
        raise InputError(
            f"The data frame has {names.count(double[0])} columns of the name {double[0]!r}.",
            "Rename all but one of them, or leave them out:"
            " frame.loc[:, ~frame.columns.duplicated()].",
        )


def _no_rows(source: Mapping[Any, Any]) -> InputError:
    """The error for a mapping: a data set with several parts, or a single row."""
    names = few([repr(name) for name in source], 8) or "nothing in it"
    if all(hasattr(part, "column_names") for part in source.values()) and source:
        first = next(iter(source))
        return InputError(
            f"This data set has several parts: {names}.", f"Choose one of them: data[{first!r}]."
        )
    return InputError(
        f"A {type(source).__name__} with {names} is no list of texts.",
        f"Give {MANY}; a single row goes into a list.",
    )
