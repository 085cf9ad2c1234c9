"""A model's answers on disk, chunk by chunk: what was asked before a crash is not asked again."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from piste.errors import FileError
from piste.explanation import FloatArray
from piste.files import write_atomic
from piste.runs.store import same_settings

SETTINGS = "settings.json"


@dataclass(frozen=True)
class Answers:
    """A folder of chunks, made with one set of settings; None keeps nothing."""

    folder: Path | None

    @classmethod
    def open(cls, folder: Path | None, settings: Mapping[str, Any]) -> Answers:
        """Go on in the folder where its settings are the same; else begin anew."""
        if folder is None:
            return cls(None)
        plain = json.loads(json.dumps(settings))
        try:
            path = folder / SETTINGS
            if folder.exists() and not same_settings(_read(path), plain):
                shutil.rmtree(folder)  # of another corpus, model or setting
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(path, json.dumps(plain))
        except OSError as error:
            raise FileError(f"Cannot use {folder}: {error}.", "Choose another path.") from error
        return cls(folder)

    def get(self, number: int, ask: Callable[[], FloatArray]) -> FloatArray:
        """The answers of a chunk: read, or asked for and written."""
        if self.folder is None:
            return ask()
        path = self.folder / f"{number:012d}.npy"
        if path.exists():
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        found, stream = ask(), io.BytesIO()
        np.save(stream, found, allow_pickle=False)
        write_atomic(path, stream.getvalue())
        return found

    def remove(self) -> None:
        """All was used: the answers are no longer needed."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
