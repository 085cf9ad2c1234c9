"""Explanations as Parquet: two tables, a row a text and a row a player, written shard by shard.

A shard is there when its file in `texts/` is: the players' file is renamed into place before it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piste.data import Example
from piste.errors import FileError, SettingError
from piste.explanation import Explanation
from piste.files import write_atomic

TEXTS, PLAYERS = "texts", "players"
Table = dict[str, list[Any]]
TEXT_COLUMNS = {
    "index": "int64",
    "id": "string",
    "label": "string",
    "target": "string",
    "target_index": "int64",
    "scale": "string",
    "score": "double",
    "probability": "double",
    "players": "int64",
    "r2": "double",
    "rmse": "double",
    "forwards": "int64",
    "tokens": "int64",
    "seconds": "double",
    "notes": "string",
    "error": "string",
}
PLAYER_COLUMNS = {
    "index": "int64",
    "id": "string",
    "position": "int64",
    "target": "string",  # whom positive scores speak for: the text's
    "word": "string",
    "start": "int64",
    "end": "int64",
    "group": "int64",
    "segment": "int64",
}


@dataclass(frozen=True)
class Shard:
    """The rows of some texts, in order."""

    texts: Table
    players: Table

    @classmethod
    def of(cls, scores: Sequence[str]) -> Shard:
        """An empty one, for explanations with these scores."""
        names = [*PLAYER_COLUMNS, *scores, *(f"{name}_error" for name in scores)]
        return cls({name: [] for name in TEXT_COLUMNS}, {name: [] for name in names})

    def add(self, index: int, example: Example, found: Explanation | str) -> None:
        """A text's rows: its explanation, or why there is none."""
        label = None if example.label is None else str(example.label)
        told: dict[str, Any] = {"index": index, "id": example.id, "label": label}
        told |= {"error": found} if isinstance(found, str) else _told(found)
        for name, cells in self.texts.items():
            cells.append(told.get(name))
        if not isinstance(found, str):
            self._add_players(index, example.id, found)

    def _add_players(self, index: int, name: str, found: Explanation) -> None:
        count = len(found.players)
        columns: dict[str, Sequence[Any]] = {
            "index": [index] * count,
            "id": [name] * count,
            "position": range(count),
            "target": [found.target.label] * count,
            "word": [player.text for player in found.players],
        }
        for field in ("start", "end", "group", "segment"):
            columns[field] = [getattr(player, field) for player in found.players]
        for score, numbers in found.scores.items():
            columns[score] = numbers.tolist()
            if score in found.errors:
                columns[f"{score}_error"] = found.errors[score].tolist()
        for column, cells in self.players.items():
            cells.extend(columns.get(column, [None] * count))


def _told(found: Explanation) -> dict[str, Any]:
    fidelity = found.fidelity
    return {
        "target": found.target.label,
        "target_index": found.target.index,
        "scale": found.target.scale,
        "score": found.target.score,
        "probability": found.target.probability,
        "players": len(found.players),
        "r2": None if fidelity is None else fidelity.r2,
        "rmse": None if fidelity is None else fidelity.rmse,
        "forwards": found.cost.forwards,
        "tokens": found.cost.tokens,
        "seconds": found.cost.query_seconds + found.cost.fit_seconds,
        "notes": "\n".join(found.notes) or None,
    }


def write(folder: Path, number: int, shard: Shard) -> None:
    """Both files of a shard, the one that counts last."""
    for kind, table in ((PLAYERS, shard.players), (TEXTS, shard.texts)):
        path = folder / kind / f"part-{number:08d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, _parquet(kind, table))


def check_library() -> None:
    """Find out before the work whether its results can be written."""
    _library()


def done(folder: Path) -> dict[int, int]:
    """The numbers of the shards that are there, and how many texts each holds."""
    paths = list((folder / TEXTS).glob("part-*.parquet"))
    if not paths:
        return {}
    rows = _library().parquet.read_metadata
    return {int(path.stem.removeprefix("part-")): rows(path).num_rows for path in paths}


def read(folder: Path, kind: str, columns: Sequence[str] | None = None) -> Iterator[Table]:
    """The tables of all shards in order, by columns."""
    parquet = _library().parquet
    paths = sorted((folder / kind).glob("part-*.parquet"))
    if not paths:
        raise FileError(f"There is no run in {folder}.", "Give a folder that `piste run` wrote.")
    for path in paths:
        known = parquet.read_schema(path).names
        lacking = [name for name in columns or () if name not in known]
        if lacking:
            raise FileError(
                f"The run in {folder} has no {', '.join(lacking)}.",
                "Words are summed up by SLALOM's scores: run it with slalom.",
            )
        yield parquet.read_table(path, columns=columns and list(columns)).to_pydict()


def _parquet(kind: str, table: Table) -> bytes:
    arrow = _library()
    kinds = TEXT_COLUMNS if kind == TEXTS else PLAYER_COLUMNS
    fields = [(name, getattr(arrow, _maker(kinds.get(name, "double")))()) for name in table]
    stream = io.BytesIO()
    arrow.parquet.write_table(arrow.table(table, schema=arrow.schema(fields)), stream)
    return stream.getvalue()


def _maker(kind: str) -> str:
    return {"double": "float64"}.get(kind, kind)


def _library() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise SettingError("Runs are kept as Parquet.", "pip install 'piste[data]'.") from error
    return pyarrow
