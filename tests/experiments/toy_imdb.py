"""Made-up reviews in a folder like IMDB's, and a model that trains on them in a second."""

import json
from pathlib import Path

import numpy as np

from piste.experiments.base import Context
from piste.experiments.single_layer_imdb import Settings
from piste.theory.single_layer import Shape
from piste.theory.toy import toy_reviews

TINY = Settings(
    train=300,
    validation=50,
    test=60,
    epochs=2,
    rate=1e-2,
    words=30,  # of 32: two words of the toy vocabulary stay unknown
    shape=Shape(width=16, key_width=8, value_width=8, heads=3, window=32),
)


def toy_context(folder: Path, **given: object) -> Context:
    """A context whose imdb/ holds 400 training and 80 test reviews."""
    for part, texts, seed in (("train", 400, 0), ("test", 80, 1)):
        pairs = zip(*toy_reviews(np.random.default_rng(seed), texts), strict=True)
        write_reviews(folder, part, [(text, label) for text, label in pairs])
    return Context(folder / "cache", data=folder / "data", **given)


def write_reviews(folder: Path, part: str, pairs: list[tuple[str, object]]) -> None:
    path = folder / "data" / "imdb" / f"{part}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (
        {"id": f"{part}/{number}", "text": text, "label": label}
        for number, (text, label) in enumerate(pairs)
    )
    path.write_text("\n".join(map(json.dumps, rows)))


def save_figures(outcome, folder: Path) -> list[str]:
    """Draw every figure to a file, as the report does; a warning fails the test."""
    for name, figure in outcome.figures.items():
        figure.savefig(folder / f"{name}.png", bbox_inches="tight")
        assert (folder / f"{name}.png").stat().st_size > 5_000
    return sorted(outcome.figures)
