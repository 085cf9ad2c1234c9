"""A row as it is read: cells by the names of their columns."""

from collections.abc import Mapping
from typing import Any

RawRow = Mapping[str, Any]
PROBLEM = "\0problem"  # a column no file has: what is wrong with the row


def missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, NaT, pandas.NA; never a list or an array."""
    if value is None:
        return True
    if hasattr(value, "__len__"):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"
