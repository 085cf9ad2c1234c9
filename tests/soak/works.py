"""Commands whose result can be compared: how they are called, and what they leave behind."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = re.findall(
    r"\w+",
    "the film was a slow but superb piece of work with thin plot and tired jokes that made me smile"
    " while acting stays dull until beautiful last scene saves evening not never good bad awful"
    " great terrible boring wonderful story cast music director camera light sound ending hero",
)
TOLERANCE = 1e-6  # relative and absolute: batches are the same after a kill, so is the rounding
UNSTEADY = {"seconds", "query_seconds", "fit_seconds", "created", "versions"}  # of the clock
OUT = "out.json.gz"  # what commands write to: a folder, or a file where the command writes one
Kept = dict[str, str]  # what is finished, and its digest


@dataclass(frozen=True)
class Work:
    """A command that writes to `out`, and how to read what it wrote."""

    name: str
    options: tuple[str, ...]  # with {data} and {out}
    read: Callable[[Path], Any]  # the result, for comparison
    kept: Callable[[Path], Kept]  # what must not be lost any more

    def arguments(self, data: Path, out: Path) -> list[str]:
        return [word.format(data=data, out=out) for word in self.options]


def write_data(path: Path, texts: int, seed: int = 0) -> Path:
    """Short made-up reviews as JSON lines."""
    draw = random.Random(seed)
    rows = [
        {"id": f"r{index}", "text": " ".join(draw.choices(WORDS, k=draw.randint(6, 24)))}
        for index in range(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def differences(one: Any, other: Any, where: str = "result") -> str:
    """The first place where two results differ beyond rounding; empty where they are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = {*one, *other} - UNSTEADY
        found = (differences(one.get(n), other.get(n), f"{where}.{n}") for n in sorted(names))
        return next((text for text in found if text), "")
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return f"{where}: {len(one)} items, not {len(other)}"
        pairs = enumerate(zip(one, other, strict=True))
        found = (differences(*pair, f"{where}[{index}]") for index, pair in pairs)
        return next((text for text in found if text), "")
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        return "" if same or (one != one and other != other) else f"{where}: {one} and {other}"
    return "" if one == other else f"{where}: {str(one)[:80]!r} and {str(other)[:80]!r}"


def files_of(folder: Path) -> set[str]:
    """The files that count: a name with a dot in front is a temporary one that nobody reads."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in paths if not path.name.startswith(".")}


def leftovers(folder: Path) -> int:
    """Temporary files that a killed writer could not remove."""
    return sum(path.name.startswith(".") for path in folder.rglob("*") if path.is_file())


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _tables(out: Path) -> dict[str, Any]:
    from pyarrow import parquet

    return {
        f"{kind} {path.name}": parquet.read_table(path).to_pydict()
        for kind in ("texts", "players")
        for path in sorted((out / kind).glob("part-*.parquet"))
    }


def _shards(out: Path) -> Kept:
    """The shards that count: those that the list names, which is written last."""
    from piste.runs.commits import KINDS, commits, path

    files = [path(out, kind, number) for number in commits(out) for kind in KINDS]
    return {str(file.relative_to(out)): digest(file.read_bytes()) for file in files}


def _rows(out: Path) -> list[Any]:
    lines = (out / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {row["index"]: row for row in map(_parsed, lines) if row is not None}
    return [rows[index] for index in sorted(rows)]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:  # cut short by a kill; the row was written again
        return None


def _lines(out: Path) -> Kept:
    path = out / "rows.jsonl"
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return {digest(line): "row" for line in whole if _parsed(line.decode()) is not None}


def _lexicon(out: Path) -> Any:
    return json.loads(gzip.decompress(out.read_bytes()))


def _file(out: Path) -> Kept:
    return {out.name: digest(out.read_bytes())} if out.exists() else {}


RUN = ("run", "{data}", "--out", "{out}", "--shard", "3")
WORKS = {
    work.name: work
    for work in (
        Work("run", (*RUN, "--build-lexicon"), _tables, _shards),
        Work("run-plain", (*RUN, "--budget", "60"), _tables, _shards),
        Work("run-workers", (*RUN, "--workers", "2"), _tables, _shards),
        Work(
            "evaluate",
            ("evaluate", "{data}", "--out", "{out}", "--methods", "slalom,occlusion",
             "--metrics", "deletion", "--budget", "60"),
            _rows,
            _lines,
        ),
        Work("lexicon", ("lexicon", "build", "{data}", "--out", "{out}"), _lexicon, _file),
    )
}  # fmt: skip
