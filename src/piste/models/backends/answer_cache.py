"""A cache of answers, so that a paid model is never asked the same question twice."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any, Protocol

log = logging.getLogger(__name__)

MOST_IN_MEMORY = 100_000  # answers, of about 2 kB each
LOCK_WAIT = 5.0  # seconds for another process that is writing
LOCK_PAUSE = 30.0  # seconds without the file, once it stayed locked for that long
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
HEADERS = (b"SQLite format 3\0", bytes(16))  # of a database; zeros are what a power cut leaves
COMPANIONS = ("-journal", "-wal", "-shm")  # files that SQLite keeps beside its own
COLUMNS = ["question", "answer"]


class Answers(Protocol):
    """Where answers are kept. A question is any plain data."""

    problem: str  # why it does not keep them; empty where it does

    def get(self, question: Any) -> Any | None: ...

    def put(self, question: Any, answer: Any) -> None: ...


class MemoryAnswers:
    """The last answers, for as long as the object lives. Safe between threads."""

    problem = ""

    def __init__(self) -> None:
        self._answers: dict[str, Any] = {}
        self._lock = threading.Lock()

    def get(self, question: Any) -> Any | None:
        with self._lock:
            return self._answers.get(_key(question))

    def put(self, question: Any, answer: Any) -> None:
        with self._lock:
            self._answers[_key(question)] = answer
            if len(self._answers) > MOST_IN_MEMORY:
                del self._answers[next(iter(self._answers))]


class AnswerCache:
    """Questions and answers (plain data) in one SQLite file; safe between threads and processes.

    It saves money and never costs a result: whatever is wrong with the file (damaged, locked,
    full, read-only, of another program), the answer counts as not kept, and one warning is logged.
    A damaged file is renamed and a new one begun; nothing is deleted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None  # of the file that is open
        self._closed_until = 0.0  # the file is left alone until then
        self._warned = False
        self._execute("SELECT 1")  # what is wrong is said at the start

    def get(self, question: Any) -> Any | None:
        """The answer, or None where it is not kept or cannot be read."""
        row = self._execute("SELECT answer FROM answers WHERE question = ?", _key(question))
        try:
            return None if row is None else json.loads(row[0])
        except (TypeError, ValueError, RecursionError):
            return None

    def put(self, question: Any, answer: Any) -> None:
        """Keep an answer; where the file can be written, it is on disk when this returns."""
        self._execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?)", _key(question), json.dumps(answer)
        )

    def close(self) -> None:
        with self._lock:
            self._close()
            self._closed_until = math.inf

    def _execute(self, statement: str, *values: str) -> Any | None:
        """The first row, or None; errors of the file are handled here."""
        with self._lock:
            if time.monotonic() < self._closed_until:
                return None
            try:
                return self._first_row(statement, values)
            except (sqlite3.Error, OSError, ValueError) as error:
                if _code(error) not in DAMAGE:
                    self._pass_over(error)
                    return None
            return self._after_damage(statement, values)

    def _first_row(self, statement: str, values: tuple[str, ...]) -> Any | None:
        if self._file is None:
            self._identity = _identity(self.path)  # also known where opening fails
            self._file = _opened(self.path)
            self._identity = _identity(self.path)
        with self._file:  # a transaction
            return self._file.execute(statement, values).fetchone()

    def _pass_over(self, error: Exception) -> None:
        """Go on without the file: for a while, for ever, or for this statement only."""
        if _code(error) in LOCKED:
            self._closed_until = time.monotonic() + LOCK_PAUSE
        elif self._file is None:  # it cannot even be opened
            self._closed_until = math.inf
        self.problem = getattr(error, "strerror", None) or str(error)
        self._warn("The answer cache %s fails (%s): questions are asked again.", self.problem)

    def _after_damage(self, statement: str, values: tuple[str, ...]) -> Any | None:
        """The statement on a new file; the damaged one is renamed."""
        try:
            kept = self._set_aside()
            row = self._first_row(statement, values)
        except (sqlite3.Error, OSError, ValueError) as error:
            self._close()
            self._pass_over(error)
            return None
        if kept is not None:
            self._warn("The answer cache %s was damaged: it is now %s, a new one is begun.", kept)
        return row

    def _set_aside(self) -> Path | None:
        """The damaged file's new name; None where another process has already replaced it."""
        is_replaced = self._identity != _identity(self.path)
        self._close()
        if is_replaced:
            return None
        with self.path.open("rb") as stream:
            if stream.read(16) not in HEADERS:
                raise OSError("not an SQLite file")
        aside = _free_name(self.path)
        for suffix in ("", *COMPANIONS):
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")
        return aside

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._identity = None

    def _warn(self, message: str, detail: object) -> None:
        if not self._warned:
            self._warned = True
            log.warning(message, self.path, detail)


def _opened(path: Path) -> sqlite3.Connection:
    """The database, with our table in it; or the error for a file that is not ours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise OSError("not a regular file")
    file = sqlite3.connect(path, timeout=LOCK_WAIT, check_same_thread=False)
    try:
        tables = file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables:
            with file:
                file.execute(
                    "CREATE TABLE IF NOT EXISTS answers (question TEXT PRIMARY KEY, answer TEXT)"
                )
        if [row[1] for row in file.execute("PRAGMA table_info(answers)")] != COLUMNS:
            raise OSError("a database of another program")
    except BaseException:
        file.close()
        raise
    return file


def _code(error: Exception) -> int:
    """SQLite's primary error code; 0 for other errors."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _free_name(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside


def _key(question: Any) -> str:
    """A digest of the question: texts themselves are not stored."""
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
