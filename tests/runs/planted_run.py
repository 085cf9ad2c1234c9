"""Folders of runs written by hand, so that what a summary must say is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from piste.runs import shards
from piste.runs.commits import Destination, begin
from piste.runs.shards import Shard

LABELS = ("negative", "positive")
GLUED = ",.!?"  # stands right after the word before


@dataclass(frozen=True)
class PlantedText:
    """A text: its words with their effects towards `target`, and what is known of it."""

    words: Sequence[str]
    effects: Sequence[float]
    target: str = "positive"
    label: str | None = None
    score: float = 1.0
    pairs: Sequence[tuple[int, int, float]] | None = ()  # positions and effect; None: not known
    importance: float = 0.0
    second: int | None = None  # where the second text of a pair begins


def effects_of(words: Sequence[str], weights: dict[str, float], sign: float = 1.0) -> list[float]:
    return [sign * weights.get(word, 0.0) for word in words]


def write_run(
    folder: Path,
    texts: Sequence[PlantedText],
    labels: Sequence[str] = LABELS,
    *,
    target: str | None = None,
    shard: int = 50,
) -> Path:
    """A finished run of these texts."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"model": "planted", "labels": list(labels), "target": target, "ended": len(texts)}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    begin(folder)
    destination = Destination(str(folder.absolute()))
    for number, first in enumerate(range(0, len(texts), shard)):
        made = Shard.of(["effect", "value", "importance", "lin"])
        for index in range(first, min(first + shard, len(texts))):
            _add(made, index, texts[index])
        destination.commit(shards.stage(destination, number, made))
    return folder


def _add(made: Shard, index: int, text: PlantedText) -> None:
    told = {
        "index": index,
        "id": f"t{index}",
        "label": text.label,
        "target": text.target,
        "score": text.score,
        "probability": 0.9,
        "stamp": str(index),
        "pairs": None if text.pairs is None else [_pair(text, *pair) for pair in text.pairs],
    }
    for name, cells in made.texts.items():
        cells.append(told.get(name))
    end = 0
    for position, (word, effect) in enumerate(zip(text.words, text.effects, strict=True)):
        start = end if not position or word in GLUED else end + 1
        end = start + len(word)
        row = {
            "index": index,
            "id": f"t{index}",
            "position": position,
            "target": text.target,
            "word": word,
            "start": start,
            "end": end,
            "segment": int(text.second is not None and position >= text.second),
            "effect": effect,
            "effect_error": 0.01,
            "value": effect,
            "value_error": 0.01,
            "importance": text.importance if effect else 0.0,
            "importance_error": 0.01,
            "lin": effect,
        }
        for name, cells in made.players.items():
            cells.append(row.get(name))


def _pair(text: PlantedText, first: int, second: int, effect: float) -> dict[str, object]:
    return {
        "first": first,
        "second": second,
        "first_word": text.words[first],
        "second_word": text.words[second],
        "effect": effect,
        "error": 0.01,
    }
