"""A row as it is read: cells by the names of their columns."""

from collections.abc import Mapping
from typing import Any

RawRow = Mapping[str, Any]
PROBLEM = "\0problem"  # a column no file has: what is wrong with the row
