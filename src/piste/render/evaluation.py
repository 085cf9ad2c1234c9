"""An evaluation as tables in a terminal, files in a folder, and a figure of the curves."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from piste.errors import several
from piste.files import write_atomic
from piste.metrics import METRICS
from piste.render.clean import one_line
from piste.render.evaluation_figure import deletion_figure
from piste.render.figure import saved
from piste.render.plain import captured, plain
from piste.render.words import listed
from piste.runs.evaluate import Evaluation
from piste.runs.statistics import (
    FEW,
    Interval,
    agreements,
    as_csv,
    as_markdown,
    costs,
    differences,
    headed,
    markdown_cell,
    means,
    numbers,
    table,
)

_LEGEND = (
    "Means over texts, ± half the 95 % bootstrap interval. A method is called better only where "
    "the interval of the paired difference excludes 0. passes: cost, in forward passes of the "
    "full text."
)
LISTED = 5  # failures named in a terminal


def show(evaluation: Evaluation, console: Console | None = None) -> None:
    """Means, costs, and the methods that differ significantly from the first."""
    console = console or Console()
    console.print(_printed(_figures(evaluation)))
    console.print()
    for line in verdicts(evaluation):
        console.print(plain(f"· {line}"))
    console.print(Text(_LEGEND, "dim"))
    for metric in evaluation.metrics:
        console.print(Text(f"  {metric}: {METRICS[metric].says}", "dim"))
    _show_failures(evaluation, console)


def as_text(evaluation: Evaluation) -> str:
    """The same as plain text."""
    return captured(lambda console: show(evaluation, console))


def _figures(evaluation: Evaluation) -> list[list[str]]:
    """A row for each metric, a column for each method: there are more metrics than methods."""
    intervals, spent = means(evaluation), costs(evaluation)
    rows = [["", *evaluation.views]]
    for metric in evaluation.metrics:
        cells = [intervals[view][metric] for view in evaluation.views]
        rows.append([headed(metric), *(_short(cell) for cell in cells)])
    taken = [f"{spent[view].passes:.1f}" if view in spent else "-" for view in evaluation.views]
    return [*rows, ["passes", *taken]]


def _short(cell: Interval) -> str:
    if not cell.texts:
        return "-"
    return f"{cell.mean:.3f} ±{(cell.high - cell.low) / 2:.2f}"


def verdicts(evaluation: Evaluation) -> list[str]:
    """Significant differences from the first method, then those that are undecided."""
    first = evaluation.views[0]
    if len(evaluation.rows) < FEW:
        return [f"Fewer than {FEW} texts: no method is called better than another."]
    pairs = [pair for pair in differences(evaluation) if first in (pair.one, pair.other)]
    open_pairs: dict[str, list[str]] = {}
    few = {pair.metric: pair.interval.texts for pair in pairs if pair.interval.texts < FEW}
    for pair in pairs:
        if pair.better is None and pair.metric not in few:
            open_pairs.setdefault(pair.metric, []).append(pair.other)
    undecided = [
        f"{metric}: no difference beyond chance between {listed([first, *others])}"
        for metric, others in open_pairs.items()
    ]
    unsaid = [
        f"{metric}: {several(n, 'text')}, too few to say (at least {FEW})"
        for metric, n in few.items()
    ]
    return [str(pair) for pair in pairs if pair.better is not None] + undecided + unsaid


def _printed(rows: list[list[str]]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for index, title in enumerate(rows[0]):
        shown.add_column(plain(title), justify="left" if index == 0 else "right", no_wrap=not index)
    for row in rows[1:]:
        shown.add_row(*map(plain, row))
    return shown


def _show_failures(evaluation: Evaluation, console: Console) -> None:
    failed = evaluation.failures()
    if not failed:
        return
    console.print(Text(f"\n{len(failed)} failed:", "bold"))
    for text, method, reason in failed[:LISTED]:
        console.print(plain(f"  {one_line(text, 30)} ({method}): {one_line(reason, 200)}"))
    if len(failed) > LISTED:
        console.print(Text(f"  ... and {len(failed) - LISTED} more."))


def write(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Tables as Markdown and CSV, every pair of methods, what failed, the curves."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, str | bytes] = {
        "table.md": _page(evaluation),
        "table.csv": as_csv(numbers(evaluation)),
        "pairs.csv": as_csv(_pairs(evaluation)),
        "costs.csv": as_csv(_costs(evaluation)),
        "failures.csv": as_csv([("text", "method", "reason"), *evaluation.failures()]),
        "curves.png": saved(deletion_figure(evaluation), ".png"),
    }
    return [write_atomic(folder / name, data) for name, data in files.items()]


def _page(evaluation: Evaluation) -> str:
    matrix = agreements(evaluation)
    shown = [["rank agreement", *evaluation.views]]
    for view, row in zip(evaluation.views, matrix, strict=True):
        shown.append([view, *("-" if value != value else f"{value:.2f}" for value in row)])
    lines = "".join(f"* {markdown_cell(line)}\n" for line in verdicts(evaluation))
    failed = len(evaluation.failures())
    texts = several(len(evaluation.rows), "text")
    note = f"{texts}, {several(failed, 'failure')} (failures.csv)."
    return "\n".join([as_markdown(table(evaluation)), lines, as_markdown(shown), note, ""])


def _pairs(evaluation: Evaluation) -> list[list[object]]:
    rows: list[list[object]] = [
        ["metric", "method", "other", "difference", "low", "high", "texts", "better"]
    ]
    for pair in differences(evaluation):
        gap = pair.interval
        numbers_of = [gap.mean, gap.low, gap.high, gap.texts]
        rows.append([pair.metric, pair.one, pair.other, *numbers_of, pair.better or ""])
    return rows


def _costs(evaluation: Evaluation) -> list[list[object]]:
    rows: list[list[object]] = [["method", "sequences", "tokens", "passes", "seconds"]]
    for view, spent in costs(evaluation).items():
        rows.append([view, spent.sequences, spent.tokens, spent.passes, spent.seconds])
    return rows
