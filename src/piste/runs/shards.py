"""Explanations as Parquet shards: a table with one row per text, one with one row per player.

A shard is two files. The players' is written first; the texts' holds a digest of it, the stamp of
each row of the data, and a digest of the lexicon that was used. So it can be told whether both
files are whole, belong together and are of the data at hand: a shard is done only if they are.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from piste.data import Example
from piste.errors import FileError
from piste.extras import require
from piste.files import encodable, make_folder, write_atomic
from piste.models.fingerprint import content_digest
from piste.result.explanation import Explanation
from piste.runs.store import stamp
from piste.surrogates import algebra

TEXTS, PLAYERS = "texts", "players"
NAME = re.compile(r"part-(\d{8,})\.parquet")
FACTS = b"piste"  # the key of our facts in the metadata of a file
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
    """The strongest pairs; None where the explanation knows none, as of windows."""
    if explanation.parts is None:
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
        "seconds": explanation.cost.query_seconds + explanation.cost.fit_seconds,
        "notes": "\n".join(explanation.notes) or None,
    }


def write(folder: Path, number: int, shard: Shard, lexicon: str | None = None) -> None:
    """Both files of a shard, the one that counts last. lexicon: a digest of the one used."""
    players = _parquet(PLAYERS, shard.players, {})
    facts = {"players": _digest(players), "lexicon": lexicon}
    texts = _parquet(TEXTS, shard.texts, facts)
    for kind, data in ((PLAYERS, players), (TEXTS, texts)):
        path = _path(folder, kind, number)
        make_folder(path.parent)
        write_atomic(path, data)


def check_library() -> None:
    """Raise before any work if pyarrow is missing."""
    _library()


def numbers(folder: Path, kind: str = TEXTS) -> list[int]:
    """The sorted numbers of the shards that have a file, valid or not."""
    names = [NAME.fullmatch(path.name) for path in (folder / kind).glob("part-*.parquet")]
    return sorted(int(name[1]) for name in names if name is not None)


def done(folder: Path, lexicon: str | None = None) -> dict[int, str]:
    """The complete shards made with this lexicon, each with a digest of its rows."""
    rows = {number: _rows(folder, number, lexicon) for number in numbers(folder)}
    return {number: digest for number, digest in rows.items() if digest is not None}


def rows_digest(rows: Iterable[tuple[int, str]]) -> str:
    """A digest of a shard's rows: their numbers and stamps."""
    return content_digest(list(rows))


def extent(folder: Path, size: int) -> int:
    """The number of texts the folder covers, with `size` texts per shard."""
    there = numbers(folder)
    if not there:
        return 0
    try:
        last = _library().parquet.read_metadata(_path(folder, TEXTS, there[-1])).num_rows
    except DAMAGED:  # it had one text at least
        last = 1
    return there[-1] * size + int(last)


def remove_halves(folder: Path) -> None:
    """Remove the players of shards that were not finished."""
    for number in {*numbers(folder, PLAYERS)} - {*numbers(folder)}:
        _path(folder, PLAYERS, number).unlink(missing_ok=True)


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
        path = _path(folder, kind, number)
        try:
            table, known = _table(path, None if columns is None else [*columns, *optional])
        except DAMAGED as error:
            raise FileError(
                f"{path} cannot be read: {str(error)[:200]}.",
                "Run the same `piste run` again: it makes what is missing or damaged anew.",
            ) from error
        lacking = [name for name in columns or () if name not in known]
        if lacking:
            raise FileError(
                f"The run in {folder} has no {', '.join(lacking)}.",
                "Words are summed up by the scores of context or slalom: run it with one of them.",
            )
        yield table.to_pydict()


def _rows(folder: Path, number: int, lexicon: str | None) -> str | None:
    """A digest of a shard's rows; None where a file is gone or damaged, or the lexicon another."""
    try:
        table, _ = _table(_path(folder, TEXTS, number), None)
        facts = json.loads(table.schema.metadata[FACTS])
        players = _digest(_path(folder, PLAYERS, number).read_bytes())
        cells = [table.column(name).to_pylist() for name in ("index", "stamp")]
    except DAMAGED:
        return None
    whole = facts == {"players": players, "lexicon": lexicon}
    return rows_digest(zip(*cells, strict=True)) if whole else None


def _table(path: Path, columns: Sequence[str] | None) -> tuple[Any, list[str]]:
    """The columns that are there, with their checksums verified, and the names of all."""
    with _library().parquet.ParquetFile(path, page_checksum_verification=True) as file:
        names: list[str] = file.schema_arrow.names
        kept = None if columns is None else [name for name in columns if name in names]
        return file.read(columns=kept), names


def _path(folder: Path, kind: str, number: int) -> Path:
    return folder / kind / f"part-{number:08d}.parquet"


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _parquet(kind: str, table: Table, facts: dict[str, Any]) -> bytes:
    arrow = _library()
    kinds = TEXT_COLUMNS if kind == TEXTS else PLAYER_COLUMNS
    types = {name: kinds.get(name, "double") for name in table}
    fields = [(name, _type(arrow, kind)) for name, kind in types.items()]
    schema = arrow.schema(fields).with_metadata({FACTS: json.dumps(facts)})
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
