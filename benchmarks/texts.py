"""The reviews that are explained, in an order whose every beginning is a fair mix."""

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np

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
