"""Answers on disk: what a paid model has said once is not asked again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

from piste.errors import FileError


class AnswerCache:
    """Questions and answers (plain data) in one file; safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, timeout=60, check_same_thread=False)
            with self._lock, self._file:
                self._file.execute(
                    "CREATE TABLE IF NOT EXISTS answers (question TEXT PRIMARY KEY, answer TEXT)"
                )
        except (OSError, sqlite3.Error) as error:
            raise FileError(
                f"Cannot keep answers in {path}: {error}.", "Choose another file, or none."
            ) from error

    def get(self, question: Any) -> Any | None:
        """The answer, or None where it was never given."""
        with self._lock:
            found = self._file.execute(
                "SELECT answer FROM answers WHERE question = ?", (_key(question),)
            ).fetchone()
        return None if found is None else json.loads(found[0])

    def put(self, question: Any, answer: Any) -> None:
        """Keep an answer; it is on disk when this returns."""
        with self._lock, self._file:
            self._file.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?)", (_key(question), json.dumps(answer))
            )

    def close(self) -> None:
        self._file.close()


def _key(question: Any) -> str:
    """The texts themselves are not kept, only what tells them apart."""
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
