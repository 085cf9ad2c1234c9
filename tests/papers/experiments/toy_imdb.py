"""Made-up reviews in a folder like IMDB's, and a model that trains on them in a second."""

from collections.abc import Sequence
from pathlib import Path

from papers.experiments.base import Context
from papers.experiments.single_layer_imdb import SETTINGS
from tests.papers.experiments.data_sets import write_data_sets, write_rows

TINY = SETTINGS["tiny"]


def toy_context(folder: Path, **given: object) -> Context:
    """A context whose imdb/ holds 400 training and 80 test reviews."""
    return Context(folder / "cache", "tiny", write_data_sets(folder / "data"), **given)


def write_reviews(folder: Path, part: str, pairs: Sequence[tuple[str, object]]) -> None:
    rows = (
        {"id": f"{part}/{number}", "text": text, "label": label}
        for number, (text, label) in enumerate(pairs)
    )
    write_rows(folder / "data" / "imdb" / f"{part}.jsonl", rows)


def save_figures(outcome, folder: Path) -> list[str]:
    """Draw every figure to a file, as the report does; a warning fails the test."""
    for name, figure in outcome.figures.items():
        figure.savefig(folder / f"{name}.png", bbox_inches="tight")
        assert (folder / f"{name}.png").stat().st_size > 5_000
    return sorted(outcome.figures)
