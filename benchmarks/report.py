"""RESULTS.md and its plot, written from the summaries."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import matplotlib
from protocol import DRAWS, MOST_REMOVED
from summary import Estimate, Row

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

OURS = ("piste", "numpy", "scipy", "torch", "transformers", "openvino")
COLOURS = {
    "piste": "#d62728",
    "slalom-explanations": "#ff9f1c",
    "lime": "#2ca02c",
    "shap": "#1f77b4",
    "captum": "#9467bd",
    "interpreto": "#8c564b",
}
HEAD = (
    "",
    "explainer",
    "texts",
    "seconds a text",
    "time against piste",
    "forward passes",
    "deletion ↑",
    "deletion against piste ↑",
    "insertion ↓",
    "deletion by token ↑",
    "removal error ↓",
)


@dataclass
class Section:
    """One model's results."""

    name: str  # of the plot's file, too
    title: str
    rows: list[Row]
    problems: list[str] = field(default_factory=list)


@dataclass
class Report:
    """Everything that goes onto the page."""

    command: str
    peers: Mapping[str, str]  # versions
    steps: int
    sections: list[Section]
    extras: Mapping[str, str]  # heading -> what a benchmark printed
    note: str = ""  # what a reader must know of this run


def write(report: Report, page: Path) -> None:
    """The page, and beside it one plot for each model."""
    parts = [_top(report)]
    for section in report.sections:
        picture = page.parent / f"quality-{section.name}.png"
        plot(section, picture)
        parts.append(_section(section, picture.name))
    parts.append(_notes(report.steps))
    for heading, printed in report.extras.items():
        parts.append(f"## {heading}\n\n```text\n{printed.rstrip()}\n```\n")
    page.write_text("\n".join(parts), encoding="utf-8")


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def _top(report: Report) -> str:
    ours = ", ".join(f"{name} {version(name)}" for name in OURS)
    peers = ", ".join(f"{name} {number}" for name, number in report.peers.items())
    return (
        "# Results\n\n"
        "Written by the command below; do not edit. The notes under the tables say how to read"
        " them.\n\n"
        f"* Command: `{report.command}`\n"
        f"* Date: {date.today().isoformat()}\n"
        f"* Machine: {machine()}\n"
        f"* piste's environment: Python {platform.python_version()}, {ours}\n"
        f"* The peers' environment: {peers}\n" + (f"* Note: {report.note}\n" if report.note else "")
    )


def _section(section: Section, picture: str) -> str:
    lines = [f"## {section.title}\n", _table(section.rows), ""]
    lines += [f"* {problem}" for problem in section.problems]
    lines += ["", f"![Deletion against cost]({picture})\n"]
    return "\n".join(lines)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(HEAD) + " |", "|---:|---" + "|---:" * (len(HEAD) - 2) + "|"]
    lines += [
        "| " + " | ".join([str(number), *_cells(row)]) + " |"
        for number, row in enumerate(rows, start=1)
    ]
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    failed = f" ({row.failed} failed)" if row.failed else ""
    return [
        row.title,
        f"{row.texts}{failed}",
        f"{row.seconds:.2f}",
        f"{row.times:.2g}×" if row.times < 10 else f"{row.times:.0f}×",
        f"{row.fe:.0f}",
        _interval(row.deletion),
        _interval(row.against, "+"),
        _interval(row.insertion),
        _interval(row.token_deletion),
        f"{row.removal:.2f}" if row.removal < 100 else f"{row.removal:.0f}",
    ]


def _interval(found: Estimate, sign: str = "") -> str:
    return f"{found.mean:{sign}.3f} [{found.low:{sign}.3f}, {found.high:{sign}.3f}]"


def _notes(steps: int) -> str:
    return f"""## How to read the tables

* Texts: Yelp reviews in a fixed order, two of about 100 words for each one of about 200. Every
  explainer has a time allowance and takes the reviews in that order, so slow ones get through
  fewer. Their rows hold fewer texts; the columns *against piste* compare on the same texts only.
* Target: the log-odds of the class that the model predicts for the whole review. Everybody
  explains that number; lime too, which would fit probabilities if it were given them.
* Seconds: the explanation alone, after a warm-up text, without loading. Peers run in eager torch
  with all cores and batches of 32 sequences sorted by length (slalom-explanations sets 16 by
  itself; batches of captum and of shap's Partition are as large as the library makes them, 32 at
  most). piste runs on its default backend unless the row says torch.
* Forward passes, of the full text: tokens sent through the model, padding included, divided by
  the tokens of the review. *Budget n* gives an explainer so many samples that this comes
  near n; without a budget or samples it runs on its defaults.
* Deletion: take away the highest-scored word, then the next, really removed; the mean drop of the
  predicted class's probability, read at {steps} evenly spaced steps at most. Insertion: keep only
  the highest-scored words; the mean of what is missing, lower is better. By token: the same
  deletion with single tokens, at half as many steps. Scores of other units are laid onto words
  and tokens by characters.
* Removal error: 1 to {MOST_REMOVED} random words are removed, {DRAWS} times a review; the error of
  the predicted change of the log-odds relative to predicting no change (1.00), median over texts.
  Additive explainers predict the sum of the scores; lime's coefficient stands for all occurrences
  of a word and is divided among them; slalom-explanations and piste predict by
  their surrogates.
* Brackets: 95 % bootstrap intervals over texts. Few texts, wide intervals.
* lime and shap's Kernel show the ten strongest words by default. lime is asked for all of them;
  shap is run both ways. lime does not score punctuation. shap's Partition and interpreto replace
  absent words by the mask token, the others delete them.
* In the plot each explainer, by its number in the table, stands where its ratio and its
  difference to piste, on the texts they share, put it; bars are the intervals of the difference.
"""


def plot(section: Section, path: Path) -> None:
    """Deletion against seconds and against fe, both relative to piste on the same texts."""
    figure, axes = plt.subplots(1, 2, figsize=(15, 6.5), sharey=True, layout="constrained")
    ours = section.rows[0]
    _panel(axes[0], section.rows, [ours.seconds * row.times for row in section.rows])
    _panel(axes[1], section.rows, [ours.fe * row.fe_times for row in section.rows])
    axes[0].set(xlabel="seconds a text", ylabel="deletion, higher is better")
    axes[1].set(xlabel="tokens through the model / tokens of the text")
    handles, names = axes[1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", fontsize=7, frameon=False)
    figure.suptitle(f"Quality against cost: {section.title}")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(axis: plt.Axes, rows: Sequence[Row], costs: Sequence[float]) -> None:
    for number, (row, cost) in enumerate(zip(rows, costs, strict=True), start=1):
        place = rows[0].deletion.mean + row.against.mean
        low, high = row.against.mean - row.against.low, row.against.high - row.against.mean
        look = {"color": COLOURS.get(row.title.split()[0].rstrip(","), "grey"), "alpha": 0.8}
        label = f"{number}  {row.title}"
        axis.errorbar(cost, place, [[low], [high]], fmt="o", lw=0.6, label=label, **look)
        axis.annotate(str(number), (cost, place), (4, 3), textcoords="offset points", fontsize=8)
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.25)
