"""A folder of results that can be killed at any moment and gone on with.

`settings.json` says what the rows were made with; a run with other settings is refused. Rows are
appended to `rows.jsonl`, each one line; a line that was cut short is dropped and made again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from piste.errors import FileError, SettingError
from piste.files import write_atomic

Row = dict[str, Any]
SETTINGS, ROWS = "settings.json", "rows.jsonl"
SAME = 1e-2  # how far the answers of one model may differ between machines and backends


@dataclass(frozen=True)
class Store:
    """The folder, opened for one set of settings."""

    folder: Path

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any]) -> Store:
        """Make the folder, or go on in it where its settings are the same."""
        store = cls(folder)
        settle(folder, SETTINGS, settings, begun=bool(store.rows()))
        return store

    def rows(self) -> list[Row]:
        """What is done, in order of the texts."""
        path = self.folder / ROWS
        if not path.exists():
            return []
        found: dict[int, Row] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            row = _parsed(line)
            if row is not None:
                found[int(row["index"])] = row  # made again: the last one holds
        return [found[index] for index in sorted(found)]

    def add(self, row: Row) -> None:
        """One more row, on disk when this returns."""
        line = json.dumps(row, allow_nan=False) + "\n"
        path = self.folder / ROWS
        with path.open("ab+") as stream:
            if stream.tell() and not _ends_a_line(path):
                stream.write(b"\n")  # the last writer was killed in the middle of its line
            stream.write(line.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"


def _parsed(line: str) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(row, dict) and isinstance(row.get("index"), int) and "id" in row
    return row if known else None


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    names = before.keys() | now.keys()
    for name in sorted(names, key=lambda name: (name == "answer", name != "model", name)):
        if not _same(before.get(name), now.get(name)):
            raise SettingError(
                f"The results in {folder} were made with {name} {_short(before.get(name))}, not"
                f" {_short(now.get(name))}.",
                "Give another folder, or the same settings as before.",
            )


def settle(folder: Path, name: str, settings: Mapping[str, Any], *, begun: bool) -> None:
    """Make the folder and write its settings; where something was made with others, refuse.

    What the file holds beyond these settings is not compared.
    """
    path = folder / name
    plain = json.loads(json.dumps(settings))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        if not isinstance(before, dict | None):
            raise ValueError(f"{name} holds no settings")
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"Cannot use {folder}: {error}.", "Choose another folder.") from error
    if before is None or not begun:
        write_atomic(path, json.dumps(plain, indent=1) + "\n")
    else:
        _check_same({name: before.get(name) for name in plain}, plain, folder)


def same_settings(one: Any, other: Any) -> bool:
    """Whether two sets of settings are the same; answers of one model may differ by rounding."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)


def _same(one: Any, other: Any) -> bool:
    """Equal; the model's answers to the probe only nearly, as backends differ in rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=SAME, atol=SAME))
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(_same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
