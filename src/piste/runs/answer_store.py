"""A model's outputs on disk, chunk by chunk, so that a crash costs no forward pass twice."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from piste.arrays import FloatArray
from piste.errors import FileError
from piste.files import make_folder, write_atomic
from piste.runs.store import same_settings

SETTINGS = "settings.json"


@dataclass(frozen=True)
class AnswerStore:
    """A folder of chunks, made with one set of settings and one model; None keeps nothing."""

    folder: Path | None

    @classmethod
    def open(cls, folder: Path | None, settings: Mapping[str, Any]) -> AnswerStore:
        """Resume in the folder if it was made with the same settings, else start over."""
        if folder is None:
            return cls(None)
        plain, path = json.loads(json.dumps(settings)), folder / SETTINGS
        if folder.exists() and not same_settings(_read(path), plain):
            _remove(folder)  # of another corpus, model or setting
        make_folder(folder)
        if not path.exists():
            write_atomic(path, json.dumps(plain))
        return cls(folder)

    def get(self, number: int, rows: int, ask: Callable[[], FloatArray]) -> FloatArray:
        """The answers [rows, outputs] of a chunk: read, or asked for and written."""
        if self.folder is None:
            return ask()
        path = self.folder / f"{number:012d}.npy"
        kept = _chunk(path, rows)
        if kept is not None:
            return kept
        answers, stream = ask(), io.BytesIO()
        np.save(stream, answers, allow_pickle=False)
        write_atomic(path, stream.getvalue())
        return answers

    def remove(self) -> None:
        """Delete the folder once all outputs were used."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise FileError(f"Cannot use {folder}: {error}.", "Choose another path.") from error


def _chunk(path: Path, rows: int) -> FloatArray | None:
    """The outputs in a file; None if it is missing, damaged or of another size."""
    try:
        answers = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
    except (OSError, ValueError, EOFError):
        return None
    return answers if answers.ndim == 2 and len(answers) == rows else None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
