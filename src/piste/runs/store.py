"""A folder of results that survives a kill at any moment and can be resumed.

`settings.json` says what the rows were made with; a run with other settings, or with another model,
is refused. Rows are appended to `rows.jsonl`, each one line; a line that was cut short is dropped
and made again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piste.data import Example
from piste.errors import FileError, SettingError
from piste.files import append_line, file_error, make_folder, write_atomic
from piste.models.fingerprint import content_digest, difference, merged

StoredRow = dict[str, Any]
SETTINGS, ROWS = "settings.json", "rows.jsonl"
FORMAT = 2  # of the folders of `run` and `evaluate`; 0.1.0 wrote none
FINGERPRINT = "fingerprint"  # of the model, among the settings
ANOTHER = "Give another folder, or delete this one to start again."


@dataclass(frozen=True)
class Store:
    """The folder, opened for one set of settings."""

    folder: Path

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any]) -> Store:
        """Create the folder, or resume in it if its settings are the same."""
        store = cls(folder)
        plain = agreed(folder, SETTINGS, settings, begun=bool(store.rows()))
        make_folder(folder)
        write_atomic(folder / SETTINGS, json.dumps(plain, indent=1) + "\n")
        return store

    def rows(self) -> list[StoredRow]:
        """The finished rows, in order of the texts."""
        path = self.folder / ROWS
        if not path.exists():
            return []
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise file_error("read", path, error, "Choose another folder.") from error
        rows: dict[int, StoredRow] = {}
        for line in lines:
            row = _parsed(line)
            if row is not None:
                rows[int(row["index"])] = row  # made again: the last one holds
        return [rows[index] for index in sorted(rows)]

    def add(self, row: StoredRow) -> None:
        """Append a row; it is on disk when this returns."""
        append_line(self.folder / ROWS, json.dumps(row, allow_nan=False))


def stamp(example: Example) -> str:
    """A digest of a row of the data; results of a changed row are computed again."""
    return content_digest(
        [
            example.id,
            example.text,
            example.pair,
            example.label,
            example.words,
            example.maps,
            example.problem,
        ]
    )


def agreed(folder: Path, name: str, settings: Mapping[str, Any], *, begun: bool) -> dict[str, Any]:
    """The settings as plain data; where the folder holds results made with others, an error.

    begun: whether the folder holds results.
    """
    plain = {"format": FORMAT, **json.loads(json.dumps(settings))}
    if begun:
        before = _before(folder, name)
        _check_known(before, folder, name)
        _check_same(before, plain, folder)
        plain[FINGERPRINT] = merged(before[FINGERPRINT], plain[FINGERPRINT])
    return plain


def same_settings(one: Any, other: Mapping[str, Any]) -> bool:
    """Whether two sets of settings, each with a fingerprint of the model, are the same."""
    if not isinstance(one, dict) or one.keys() != other.keys():
        return False
    equal = all(one[name] == other[name] for name in other if name != FINGERPRINT)
    return equal and difference(one[FINGERPRINT], other[FINGERPRINT]) is None


def _before(folder: Path, name: str) -> dict[str, Any]:
    """The settings in the folder; empty if there are none."""
    path = folder / name
    try:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if not isinstance(before, dict):
            raise ValueError(f"{name} holds no settings")
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"Cannot use {folder}: {error}.", "Choose another folder.") from error
    return before


def _check_known(before: Mapping[str, Any], folder: Path, name: str) -> None:
    """Refuse results whose settings are unknown."""
    if not before:
        raise FileError(
            f"{folder} holds results, but not {name}, which says what they were made with.", ANOTHER
        )
    if before.get("format") != FORMAT:
        raise FileError(
            f"The results in {folder} are in a format ({before.get('format', 1)}) that this version"
            f" of piste cannot add to (it writes {FORMAT}).",
            ANOTHER,
        )


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    # The model comes first: another one often has other labels, too.
    for name in sorted(now, key=lambda name: (name not in ("model", FINGERPRINT), name != "model")):
        if name == FINGERPRINT:
            _check_model(before, now, folder)
        elif before.get(name) != now[name]:
            raise SettingError(
                f"The results in {folder} were made with {name} {_short(before.get(name))}, not"
                f" {_short(now[name])}.",
                "Give another folder, or the same settings as before.",
            )


def _check_model(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    problem = difference(before.get(FINGERPRINT), now[FINGERPRINT])
    if problem is not None:
        raise SettingError(
            f"The results in {folder} were made with another model called {now.get('model')!r}:"
            f" {problem}.",
            "Give another folder, or load the model as it was. (Models that run here are compared"
            " by digests of their files, functions and endpoints by their answers.)",
        )


def _parsed(line: bytes) -> StoredRow | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(row, dict) and isinstance(row.get("index"), int) and "id" in row
    return row if known else None


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
