"""Made-up data sets in the form that the experiments read."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from papers.theory.toy import WEIGHTS, toy_reviews

MARKED = 0.8  # words at least so strong are marked by the annotators


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_data_sets(folder: Path) -> Path:
    """imdb/ and yelp/ of toy reviews with labels, yelp_hat/ of toy reviews with human maps."""
    for name, first in (("imdb", 0), ("yelp", 10)):
        for part, texts, seed in (("train", 400, first), ("test", 80, first + 1)):
            write_rows(folder / name / f"{part}.jsonl", reviews(part, texts, seed))
    write_rows(folder / "yelp_hat" / "hat.jsonl", map(annotated, reviews("hat", 12, 20)))
    return folder


def reviews(part: str, texts: int, seed: int) -> list[dict[str, object]]:
    pairs = zip(*toy_reviews(np.random.default_rng(seed), texts), strict=True)
    return [
        {"id": f"{part}/{number}", "text": text, "label": label}
        for number, (text, label) in enumerate(pairs)
    ]


def annotated(row: dict[str, object]) -> dict[str, object]:
    """Two annotators who agree; a first word that only one of them marks keeps both kinds."""
    words = str(row["text"]).split()
    strong = [int(abs(WEIGHTS[word]) >= MARKED) for word in words]
    return {**row, "words": words, "maps": [strong, [*strong[:-1], 1]]}
