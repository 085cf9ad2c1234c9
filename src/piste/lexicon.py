"""Scores of many words for one model, fitted once over a corpus and shared by its texts."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import FileError, several
from piste.files import as_path, write_atomic
from piste.result.explanation import Player

SCHEMA = 2
Key = tuple[int, ...] | str  # token ids, or the word where a function reads texts


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon:
    """Values and importances of words, with errors, for one model.

    A model of two classes has one column of values, the log-odds of the second; one of more has a
    column for each. `importances` are those of a fit whose special tokens have importance 0.
    """

    model: str
    fingerprint: dict[str, Any]  # what tells one model from another (`models.fingerprint`)
    labels: tuple[str, ...]
    scale: str  # of the values: "log-odds", "raw score" ...
    unit: str
    words: tuple[str, ...]  # as first seen
    keys: tuple[Key, ...]
    counts: IntArray  # [words]: occurrences in the corpus
    values: FloatArray  # [words, columns]
    value_errors: FloatArray  # [words, columns]
    importances: FloatArray  # [words]
    importance_errors: FloatArray  # [words]
    frame: FloatArray | None  # the special tokens' values [columns]
    lengths: FloatArray  # [knots]: numbers of words, rising
    level: FloatArray  # [knots, columns]
    length_scale: FloatArray  # [knots]
    errors: dict[str, float] = field(default_factory=dict)  # typical ones, by kind of sequence
    facts: dict[str, Any] = field(default_factory=dict)  # inputs, texts, sequences, tokens

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"<Lexicon of {several(len(self), self.unit)} for {self.model}>"

    @cached_property
    def places(self) -> dict[Key, int]:
        """The index of each word by its key."""
        return {key: index for index, key in enumerate(self.keys)}

    def find(self, players: Sequence[Player]) -> IntArray:
        """The index of each player's word [players]; -1 for words that are not in here."""
        by_text = bool(self.keys) and isinstance(self.keys[0], str)
        keys = [player.text if by_text else player.ids for player in players]
        return np.array([self.places.get(key, -1) for key in keys], dtype=np.int64)

    def mixture(self, index: int, against: int | None = None) -> FloatArray:
        """What each column counts [columns] in an output's values, or in its contrast with one."""
        columns = self.values.shape[1]
        if columns == 1:
            return np.array([-1.0 if len(self.labels) == 2 and index == 0 else 1.0])
        counts = np.zeros(columns)
        counts[index] = 1.0
        if against is not None:
            counts[against] = -1.0
        return counts

    def mixed_errors(self, mixture: FloatArray) -> FloatArray:
        """Standard errors of the words' mixed values [words].

        Columns that sum to 0 err against each other, those of a contrast by 1 / (columns - 1).
        """
        used = np.count_nonzero(mixture)
        together = len(mixture) / (len(mixture) - 1) if used > 1 else 1.0
        return np.asarray(np.sqrt(together * (self.value_errors**2 @ mixture**2)))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as JSON, compressed where the name ends in .gz."""
        data = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}
        text = json.dumps({"schema": SCHEMA, **data}, allow_nan=False)
        packed = str(path).endswith(".gz")
        return write_atomic(path, gzip.compress(text.encode(), mtime=0) if packed else text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Lexicon:
        """Read what `save` wrote."""
        file = as_path(path)
        try:
            raw = file.read_bytes()
            data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
        except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise FileError(
                f"Cannot read {str(path)[:200]}: {reason}.",
                "Give a file written by `piste lexicon build`.",
            ) from error
        try:
            return _checked(data)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FileError(
                f"{str(path)[:200]} is not a lexicon: {str(error)[:200]}.",
                "Give a file written by `piste lexicon build`.",
            ) from error


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _checked(data: dict[str, Any]) -> Lexicon:
    if data["schema"] != SCHEMA:
        raise ValueError(
            f"its format is {data['schema']!r}, and this version reads {SCHEMA} (build it again)"
        )
    words = tuple(map(str, data["words"]))
    values = _numbers(data["values"], len(words), None)
    columns = values.shape[1]
    lengths = _numbers(data["lengths"], None)
    if not len(lengths) or lengths[0] <= 0 or (np.diff(lengths) <= 0).any():
        raise ValueError("the lengths do not rise from above 0")
    frame = data["frame"]
    return Lexicon(
        model=str(data["model"]),
        fingerprint=_fingerprint(data["fingerprint"]),
        labels=tuple(map(str, data["labels"])),
        scale=str(data["scale"]),
        unit=str(data["unit"]),
        words=words,
        keys=tuple(_key(key) for key in _sized(data["keys"], len(words))),
        counts=_numbers(data["counts"], len(words)).astype(np.int64),
        values=values,
        value_errors=_numbers(data["value_errors"], len(words), columns),
        importances=_numbers(data["importances"], len(words)),
        importance_errors=_numbers(data["importance_errors"], len(words)),
        frame=None if frame is None else _numbers(frame, columns),
        lengths=lengths,
        level=_numbers(data["level"], len(lengths), columns),
        length_scale=_numbers(data["length_scale"], len(lengths)),
        errors={str(kind): float(value) for kind, value in data["errors"].items()},
        facts=dict(data["facts"]),
    )


def _fingerprint(given: Any) -> dict[str, Any]:
    parts = dict(given)
    if "answers" in parts:
        rows = parts["answers"].items()
        parts["answers"] = {str(text): _numbers(row, None).tolist() for text, row in rows}
    return parts


def _key(given: Any) -> Key:
    return given if isinstance(given, str) else tuple(int(token) for token in given)


def _sized(given: Any, size: int) -> list[Any]:
    if not isinstance(given, list) or len(given) != size:
        raise ValueError(f"a list does not have {size} items")
    return given


def _numbers(given: Any, *shape: int | None) -> FloatArray:
    """An array of finite numbers of that shape; None: any length."""
    numbers = np.array(given, dtype=np.float64)
    if numbers.ndim != len(shape):
        numbers = numbers.reshape([0 if size is None else size for size in shape])
    fits = all(size in (None, actual) for size, actual in zip(shape, numbers.shape, strict=True))
    if not fits or not np.isfinite(numbers).all():
        raise ValueError(f"numbers of shape {numbers.shape} are not those of the words")
    return numbers
