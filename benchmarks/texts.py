"""The reviews that are explained, in an order whose every beginning is a fair mix."""

import gzip
import hashlib
import json
from itertools import islice
from pathlib import Path

import numpy as np

from piste.arrays import Ragged
from piste.models.protocol import Classifier
from piste.models.query import Query

MIX = ("100", "100", "200")  # words of the reviews, over and over


def read(path: Path) -> list[dict]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def mixed(rows: list[dict], count: int, seed: int = 0) -> list[dict]:
    """Shuffled by a fixed seed: two reviews of 100 words, then one of 200, and again.

    Rows of other data have no subset and are only shuffled.
    """
    shuffled = [rows[index] for index in np.random.default_rng(seed).permutation(len(rows))]
    if not all("subset" in row for row in rows):
        return shuffled[:count]
    queues = {kind: iter([r for r in shuffled if r["subset"] == kind]) for kind in set(MIX)}
    kinds = (MIX[index % len(MIX)] for index in range(count))
    return [row for kind in kinds for row in islice(queues[kind], 1)]


def with_targets(rows: list[dict], classifier: Classifier) -> list[dict]:
    """What a contender needs: id, text, and the class that the model predicts for the whole."""
    return [
        {"id": row["id"], "text": row["text"], "target": predicted(row["text"], classifier)}
        for row in rows
    ]


def predicted(text: str, classifier: Classifier) -> int:
    encoded = classifier.encode(text)
    whole = Ragged.of([encoded.ids])
    return int(np.argmax(Query(classifier, encoded.frame).logits(whole)[0]))


def fingerprint(folder: Path) -> str:
    """Of the weights: results of another model are never taken for this one's."""
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:8]
