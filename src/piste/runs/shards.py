"""Explanations as Parquet shards: a table with one row per text, one with one row per player.

A shard is two files, which count once `runs.commits` names them with their digests: so it can be
told whether both are whole, belong together and are of the data at hand.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from piste.data import Example
from piste.errors import FileError
from piste.extras import require
from piste.files import encodable
from piste.result.explanation import Explanation
from piste.runs.commits import COMMITS, KINDS, Commit, Destination, commits
from piste.runs.commits import PLAYERS as PLAYERS
from piste.runs.commits import TEXTS as TEXTS
from piste.runs.commits import path as place
from piste.runs.store import ANOTHER, stamp
from piste.surrogates import algebra

NAME = re.compile(r"part-(\d{8,})\.parquet")
# What reading a damaged or foreign file may raise.
DAMAGED = (OSError, ValueError, LookupError, TypeError, NotImplementedError, MemoryError)
Table = dict[str, list[Any]]
TEXT_COLUMNS = {
    "index": "int64",
    "id": "string",
    "label": "string",
    "target": "string",
    "target_index": "int64",
    "against": "string",  # the label that the target is contrasted with
    "scale": "string",
    "score": "double",
    "probability": "double",
    "players": "int64",
    "base": "double",  # the score of the empty text
    "flip": "list of int64",  # positions of the fewest players whose removal turns the decision
    "flip_label": "string",  # what the model decides without them
    "pairs": "list of pairs",  # that act together most
    "r2": "double",
    "rmse": "double",
    "forwards": "int64",
    "tokens": "int64",
    "passes": "double",  # forward passes of the full text: tokens in lengths of it
    "seconds": "double",
    "notes": "string",
    "error": "string",
    "stamp": "string",  # a digest of the row of the data
}
PAIR_FIELDS = {
    "first": "int64",  # positions
    "second": "int64",
    "first_word": "string",
    "second_word": "string",
    "effect": "double",
    "error": "double",
}
BY_WORDS = "Words are summed up by the scores of context or slalom: use one of them."
MOST_PAIRS = 5  # of a text: enough for what words do often, and a row stays small
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
        """An empty shard for explanations with these scores."""
        names = [*PLAYER_COLUMNS, *scores, *(f"{name}_error" for name in scores)]
        return cls({name: [] for name in TEXT_COLUMNS}, {name: [] for name in names})

    def add(self, index: int, example: Example, result: Explanation | str) -> None:
        """Add a text: its explanation, or the reason why there is none."""
        label = None if example.label is None else str(example.label)
        told: dict[str, Any] = {"index": index, "id": example.id, "label": label}
        told["stamp"] = stamp(example)
        told |= {"error": result} if isinstance(result, str) else _told(result)
        for name, cells in self.texts.items():
            cells.append(told.get(name))
        if not isinstance(result, str):
            self._add_players(index, example.id, result)

    def _add_players(self, index: int, name: str, explanation: Explanation) -> None:
        count = len(explanation.players)
        columns: dict[str, Sequence[Any]] = {
            "index": [index] * count,
            "id": [name] * count,
            "position": range(count),
            "target": [explanation.target.label] * count,
            "word": [player.text for player in explanation.players],
        }
        for field in ("start", "end", "group", "segment"):
            columns[field] = [getattr(player, field) for player in explanation.players]
        for score, numbers in explanation.scores.items():
            columns[score] = numbers.tolist()
            if score in explanation.errors:
                columns[f"{score}_error"] = explanation.errors[score].tolist()
        for column, cells in self.players.items():
            cells.extend(columns.get(column, [None] * count))


def _pairs(explanation: Explanation) -> list[dict[str, Any]] | None:
    """The strongest pairs; None where the explanation knows none, as of windows or quick ones."""
    if explanation.parts is None or not explanation.parts.tells_pairs:
        return None
    words = [encodable(player.text) for player in explanation.players]
    with algebra.one_thread:  # small matrices: several threads wait for each other
        pairs = explanation.pairs(MOST_PAIRS)
    return [
        {"first_word": words[pair.first], "second_word": words[pair.second], **asdict(pair)}
        for pair in pairs
    ]


def _told(explanation: Explanation) -> dict[str, Any]:
    fidelity, flip = explanation.fidelity, explanation.flip
    return {
        "target": explanation.target.label,
        "target_index": explanation.target.index,
        "against": explanation.target.against,
        "scale": explanation.target.scale,
        "score": explanation.target.score,
        "probability": explanation.target.probability,
        "players": len(explanation.players),
        "base": explanation.base,
        "flip": None if flip is None else list(flip.players),
        "flip_label": None if flip is None else flip.label,
        "pairs": _pairs(explanation),
        "r2": None if fidelity is None else fidelity.r2,
        "rmse": None if fidelity is None else fidelity.rmse,
        "forwards": explanation.cost.forwards,
        "tokens": explanation.cost.tokens,
        "passes": explanation.cost.passes,
        "seconds": explanation.cost.query_seconds + explanation.cost.fit_seconds,
        "notes": "\n".join(explanation.notes) or None,
    }


def stage(destination: Destination, number: int, shard: Shard) -> Commit:
    """Write both files of a shard, by whoever made it; they count once they are committed."""
    files = {PLAYERS: _parquet(PLAYERS, shard.players), TEXTS: _parquet(TEXTS, shard.texts)}
    return destination.stage(number, files, shard.texts)


def check_library() -> None:
    """Raise before any work if pyarrow is missing."""
    _library()


def numbers(folder: Path) -> list[int]:
    """The sorted numbers of the shards that count; of a run of 0.1.0, those with a file."""
    if (folder / COMMITS).exists():
        return list(commits(folder))
    return _with_files(folder, TEXTS)


def holds_results(folder: Path) -> bool:
    """Whether there are results in the folder, whatever they are worth."""
    return bool(commits(folder) or _with_files(folder, TEXTS))


def check_list(folder: Path) -> None:
    """Refuse results without the list of those that count."""
    if holds_results(folder) and not (folder / COMMITS).exists():
        raise FileError(
            f"{folder} holds results, but not {COMMITS}, which says which of them are whole.",
            ANOTHER,
        )


def extent(folder: Path, size: int) -> int:
    """The number of texts the folder covers, with `size` texts per shard."""
    last = list(commits(folder).values())[-1:]
    return last[0].number * size + last[0].count if last else 0


def remove_halves(folder: Path) -> None:
    """Remove the files of shards that were moved to their places and not committed."""
    known = commits(folder)
    for kind in KINDS:
        for number in {*_with_files(folder, kind)} - known.keys():
            place(folder, kind, number).unlink(missing_ok=True)


def _with_files(folder: Path, kind: str) -> list[int]:
    names = [NAME.fullmatch(path.name) for path in (folder / kind).glob("part-*.parquet")]
    return sorted(int(name[1]) for name in names if name is not None)


def read(
    folder: Path,
    kind: str,
    columns: Sequence[str] | None = None,
    optional: Sequence[str] = (),
) -> Iterator[Table]:
    """The tables of all shards in order, by columns; `optional` ones where the run has them."""
    there = numbers(folder)
    if not there:
        raise FileError(f"There is no run in {folder}.", "Give a folder that `piste run` wrote.")
    for number in there:
        path = place(folder, kind, number)
        try:
            table, known = _table(path, None if columns is None else [*columns, *optional])
        except DAMAGED as error:
            raise FileError(
                f"{path} cannot be read: {str(error)[:200]}.",
                "Run the same `piste run` again: what is missing or damaged is done again.",
            ) from error
        lacking = [name for name in columns or () if name not in known]
        if lacking:
            raise FileError(
                f"The run in {folder} has no {', '.join(lacking)}.",
                BY_WORDS,
            )
        yield table.to_pydict()


def _table(path: Path, columns: Sequence[str] | None) -> tuple[Any, list[str]]:
    """The columns that are there, with their checksums verified, and the names of all."""
    with _library().parquet.ParquetFile(path, page_checksum_verification=True) as file:
        names: list[str] = file.schema_arrow.names
        kept = None if columns is None else [name for name in columns if name in names]
        return file.read(columns=kept), names


def _parquet(kind: str, table: Table) -> bytes:
    arrow = _library()
    kinds = TEXT_COLUMNS if kind == TEXTS else PLAYER_COLUMNS
    types = {name: kinds.get(name, "double") for name in table}
    fields = [(name, _type(arrow, kind)) for name, kind in types.items()]
    schema = arrow.schema(fields)
    cells = {n: _encodable(c) if types[n] == "string" else c for n, c in table.items()}
    stream = io.BytesIO()
    rows = arrow.table(cells, schema=schema)
    arrow.parquet.write_table(rows, stream, write_page_checksum=True)
    return stream.getvalue()


def _encodable(cells: list[str | None]) -> list[str | None]:
    """Ids, labels and words may hold lone surrogates, which Parquet cannot."""
    return [None if cell is None else encodable(cell) for cell in cells]


def _type(arrow: Any, kind: str) -> Any:
    """Arrow's type for that of a column."""
    if kind == "list of int64":
        return arrow.list_(arrow.int64())
    if kind == "list of pairs":
        fields = [(name, _type(arrow, one)) for name, one in PAIR_FIELDS.items()]
        return arrow.list_(arrow.struct(fields))
    return getattr(arrow, {"double": "float64"}.get(kind, kind))()


def _library() -> Any:
    require("pyarrow.parquet", "A run, which is kept as Parquet,")
    return require("pyarrow", "A run")
