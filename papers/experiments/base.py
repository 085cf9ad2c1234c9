"""What an experiment is given, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papers.tables import Table
from piste import Example
from piste.data import read_examples
from piste.errors import FileError, choices
from piste.files import cache_directory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# tiny: seconds, to see an experiment run; small: minutes on two cores; paper: the papers' sizes.
SCALES = ("tiny", "small", "paper")


def default_cache() -> Path:
    """Where trained models are kept."""
    return cache_directory() / "experiments"


@dataclass(frozen=True)
class Context:
    """Where an experiment runs, and how large."""

    cache: Path  # trained models are kept here and shared between experiments
    scale: str = "small"
    data: Path | None = None  # a folder with imdb/, yelp/, yelp_hat/ ...
    device: str | None = None
    pretrained: str | None = None  # a hub name or a folder to start from instead of our own
    seed: int = 0
    say: Callable[[str], None] = field(default=lambda _: None)  # one line of progress

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise choices("scale", self.scale, SCALES)

    def examples(self, name: str, part: str = "train", limit: int | None = None) -> list[Example]:
        """Rows of a data set: DATA/name/part.jsonl.gz, or the only file of that folder."""
        if self.data is None:
            raise FileError(
                f"This experiment reads {name}.",
                f"Give --data, a folder with {name}/ in it: JSON lines with text and label.",
            )
        folder = self.data / name
        files = sorted(folder.glob(f"{part}.*")) or sorted(folder.glob("*.jsonl*"))
        if not files:
            raise FileError(f"There is no data in {folder}.", "Check --data.")
        return list(read_examples(files[0], limit=limit))


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment: ours beside the paper's."""

    tables: tuple[Table, ...]
    figures: Mapping[str, Figure] = field(default_factory=dict)  # by file name, without suffix
    settings: Mapping[str, Any] = field(default_factory=dict)  # all that shaped the numbers
    findings: tuple[str, ...] = ()  # what agrees, what differs and why, in sentences


@dataclass(frozen=True)
class Experiment:
    """One line of the list: what is reproduced, from where, and the function that does it."""

    what: str
    source: str  # "A, Table 6"
    # In papers.experiments. It has SETTINGS by scale, and the function takes one of them:
    # run(context, settings) -> Outcome.
    module: str
    data: tuple[str, ...] = ()  # folders of --data that it reads
    function: str = "run"
