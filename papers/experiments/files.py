"""An outcome as files: a page in Markdown, the numbers as JSON, the pictures."""

from __future__ import annotations

import io
import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from papers.experiments.base import Context, Experiment, Outcome
from papers.tables import Table
from piste.files import write_atomic
from piste.runs import as_markdown

DPI = 150


@dataclass(frozen=True)
class Spent:
    """What a run took."""

    seconds: float  # by the clock
    processor: float  # seconds of all cores together

    def __str__(self) -> str:
        return f"{self.seconds:.0f} s ({self.processor:.0f} s of processor time)"


def write(
    outcome: Outcome, name: str, experiment: Experiment, context: Context, spent: Spent, to: Path
) -> list[Path]:
    """Write everything into the folder `to`; the page first of the paths."""
    to.mkdir(parents=True, exist_ok=True)
    pictures = [write_atomic(to / f"{stem}.png", _png(f)) for stem, f in outcome.figures.items()]
    page = write_atomic(to / "result.md", _page(outcome, name, experiment, context, spent))
    data = {
        "name": name,
        "source": experiment.source,
        "scale": context.scale,
        "seed": context.seed,
        "seconds": round(spent.seconds, 1),
        "processor_seconds": round(spent.processor, 1),
        "settings": dict(outcome.settings),
        "tables": [asdict(table) for table in outcome.tables],
        "findings": list(outcome.findings),
    }
    return [
        page,
        write_atomic(to / "result.json", json.dumps(data, indent=1, default=str)),
        *pictures,
    ]


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    # Pages of text without axes are laid out to the margin; trimming would cut their first line.
    trimmed = "tight" if figure.axes else None
    figure.savefig(stream, format="png", dpi=DPI, bbox_inches=trimmed, metadata={"Software": None})
    return stream.getvalue()


def _page(
    outcome: Outcome, name: str, experiment: Experiment, context: Context, spent: Spent
) -> str:
    parts = [
        f"# {name}: {experiment.what}",
        f"Paper {experiment.source}. Scale: {context.scale}, seed {context.seed};"
        f" {spent} on {platform.machine()}.",
        *(markdown(table) for table in outcome.tables),
        *(f"![{stem}]({stem}.png)" for stem in outcome.figures),
        *(f"* {sentence}" for sentence in outcome.findings),
        "Settings: " + ", ".join(f"{key} {value}" for key, value in outcome.settings.items()) + ".",
    ]
    return "\n\n".join(parts) + "\n"


def markdown(table: Table) -> str:
    """The table as Markdown, its title above it."""
    return f"**{table.title}**\n\n{as_markdown([table.columns, *table.rows]).rstrip()}"
