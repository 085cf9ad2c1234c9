"""Which shards of a run count: those that `shards.jsonl` names, a line each.

Whoever explains a shard, this process or a worker on another machine, writes both of its files to
the folder `staged`, under names that no other attempt has. The process that leads the run then
commits it: it moves the files to their places and appends the shard's line, with digests of both
files, of the rows of the data and of the lexicon. So half a shard is never read, two attempts at
one shard do not meet, and a kill between any two of these steps costs that shard at most.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from piste.errors import FileError
from piste.files import append_line, encodable, file_error, make_folder, move, write_atomic
from piste.models.fingerprint import content_digest

COMMITS, STAGED = "shards.jsonl", "staged"
TEXTS, PLAYERS = "texts", "players"
KINDS = (PLAYERS, TEXTS)
TOLD = 5  # failures that are named


@dataclass(frozen=True)
class Commit:
    """A shard whose files are written: what they must be, and what they hold."""

    number: int
    attempt: str  # the names of its staged files
    texts: str  # digest of the file
    players: str  # digest of the file
    rows: str  # digest of the rows of the data
    lexicon: str | None  # digest of the one that was used
    count: int  # texts
    failed: int  # of them
    reasons: tuple[str, ...]  # of the first that failed: id and error
    passes: float = 0.0  # what the texts cost together, in forward passes of each

    def line(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_line(cls, line: str | bytes) -> Commit | None:
        """The commit of a line; None where it was cut short or is something else."""
        try:
            told = json.loads(line)
            return cls(**told | {"reasons": tuple(told["reasons"]), "number": int(told["number"])})
        except (ValueError, TypeError, LookupError, RecursionError):
            return None


@dataclass(frozen=True)
class Destination:
    """The folder of a run, and the lexicon it is made with; small enough to send to a worker."""

    folder: str  # absolute: workers may have another working directory
    lexicon: str | None = None  # a digest

    def stage(
        self, number: int, files: Mapping[str, bytes], texts: Mapping[str, list[Any]]
    ) -> Commit:
        """Write the files of a shard, by kind; they count once they are committed."""
        folder, attempt = Path(self.folder) / STAGED, uuid.uuid4().hex
        make_folder(folder)
        for kind in KINDS:
            write_atomic(_staged(folder.parent, attempt, kind), files[kind])
        failures = [
            encodable(f"{name}: {error}")
            for name, error in zip(texts["id"], texts["error"], strict=True)
            if error is not None
        ]
        return Commit(
            number=number,
            attempt=attempt,
            texts=_digest(files[TEXTS]),
            players=_digest(files[PLAYERS]),
            rows=rows_digest(zip(texts["index"], texts["stamp"], strict=True)),
            lexicon=self.lexicon,
            count=len(texts["index"]),
            failed=len(failures),
            reasons=tuple(failures[:TOLD]),
            passes=sum(passes for passes in texts["passes"] if passes is not None),
        )

    def commit(self, staged: Commit) -> None:
        """Make a staged shard count: its files first, then its line."""
        folder = Path(self.folder)
        for kind in KINDS:
            source, place = _staged(folder, staged.attempt, kind), path(folder, kind, staged.number)
            if not source.exists():
                raise FileError(
                    f"A worker wrote {source.name} to {source.parent}, and it is not there.",
                    "Give a folder that all machines of the cluster share.",
                )
            make_folder(place.parent)
            try:
                move(source, place)
            except OSError as error:
                raise file_error("write", place, error) from error
        append_line(folder / COMMITS, staged.line())

    def done(self) -> dict[int, str]:
        """The committed shards that are whole and of this lexicon, with digests of their rows."""
        folder = Path(self.folder)
        return {
            number: commit.rows
            for number, commit in commits(folder).items()
            if commit.lexicon == self.lexicon and _is_whole(folder, commit)
        }

    def clear(self) -> None:
        """Remove what was staged and not committed."""
        folder = Path(self.folder) / STAGED
        with contextlib.suppress(OSError):  # it may lack; a worker that was given up may write yet
            for left in folder.iterdir():
                left.unlink(missing_ok=True)
            folder.rmdir()


def begin(folder: Path) -> None:
    """Make the list of shards, where there is none."""
    if not (folder / COMMITS).exists():
        write_atomic(folder / COMMITS, "")


def commits(folder: Path) -> dict[int, Commit]:
    """The committed shards by number, in order; of a shard made again the last line holds."""
    try:
        lines = (folder / COMMITS).read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise file_error("read", folder / COMMITS, error, "Choose another folder.") from error
    known = [commit for commit in map(Commit.of_line, lines) if commit is not None]
    last = {commit.number: commit for commit in known}
    return {number: last[number] for number in sorted(last)}


def rows_digest(rows: Any) -> str:
    """A digest of a shard's rows: their numbers and stamps."""
    return content_digest(list(rows))


def path(folder: Path, kind: str, number: int) -> Path:
    """The place of a shard's file."""
    return folder / kind / f"part-{number:08d}.parquet"


def _staged(folder: Path, attempt: str, kind: str) -> Path:
    return folder / STAGED / f"{attempt}.{kind}"


def _is_whole(folder: Path, commit: Commit) -> bool:
    """Whether both files are there, as they were committed."""
    try:
        found = [_digest(path(folder, kind, commit.number).read_bytes()) for kind in KINDS]
    except OSError:
        return False
    return found == [commit.players, commit.texts]


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
