"""Paper A, camera-ready, Table 2: seconds per explanation by the number of samples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from papers.experiments import table11
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import COLOURS, DASHES
from papers.experiments.table11 import EFF, LIME, SHAP, Contender, Table11Settings, Timing
from papers.tables import Table
from piste import Slalom, load

FIDEL = "SLALOM-fidel"
PAPER, PAPER_SAMPLES = {SHAP: 11.56, LIME: 3.93, FIDEL: 3.77, EFF: 2.03}, 5000
NAMES = (SHAP, LIME, FIDEL, EFF)


@dataclass(frozen=True)
class RuntimeSettings:
    """Table 11's texts and repeats, with other samples."""

    timed: Table11Settings
    embedded: bool = True  # the model is piste's own, in torch


SETTINGS = {
    "tiny": RuntimeSettings(replace(table11.SETTINGS["tiny"], samples=(40, 80))),
    "small": RuntimeSettings(
        replace(table11.SETTINGS["small"], samples=(500, 1000, 5000), texts=1, repeats=1)
    ),
    "paper": RuntimeSettings(
        replace(table11.SETTINGS["paper"], samples=(500, 1000, 5000, 10_000)), embedded=False
    ),
}


def run(context: Context, settings: RuntimeSettings) -> Outcome:
    """Time every method with every number of samples, on the same texts."""
    timed = settings.timed
    texts = table11.chosen([row.text for row in context.examples("yelp", "test")], timed)
    classifier = load(backend="torch") if settings.embedded else table11.prepared(context, timed)
    timings = table11.measure(
        classifier,
        texts,
        contenders(timed.samples),
        timed,
        context.seed,
        context.say,
        time.process_time,
    )
    return Outcome(
        (_table(timings, len(texts)),),
        {"seconds": draw(timings)},
        {
            "model": repr(classifier) if settings.embedded else "as in table 11",
            "texts": f"{len(texts)} of {timed.fewest} to {timed.most} words",
            "seconds": "of processor time, so that other work on the machine does not count",
        },
        findings(timings),
    )


def contenders(samples: Sequence[int]) -> list[Contender]:
    """Those that sample, for each number of samples."""
    fidel = Slalom.paper("fidel")
    return [
        contender
        for count in samples
        for contender in (
            *(one for one in table11.contenders([count]) if one.name in NAMES),
            Contender(FIDEL, replace(fidel, deletions=count), count, "deletions"),
        )
    ]


def findings(timings: Sequence[Timing]) -> tuple[str, ...]:
    """As multiples of SLALOM-eff's, at the most samples."""
    most = max(timing.samples or 0 for timing in timings)
    last = {timing.name: timing for timing in timings if timing.samples == most}
    ratios = ", ".join(
        f"{name} {last[name].seconds / last[EFF].seconds:.1f} ({PAPER[name] / PAPER[EFF]:.1f})"
        for name in NAMES
    )
    order = sorted(NAMES, key=lambda name: -last[name].seconds)
    theirs = sorted(NAMES, key=lambda name: -PAPER[name])
    sent = {name: last[name].tokens / last[EFF].tokens for name in NAMES}
    tokens = ", ".join(f"{name} {times:.1f}" for name, times in sent.items())
    same = "as in the paper" if order == theirs else "in the paper " + ", ".join(theirs)
    return (
        f"At {most:,} samples, as multiples of SLALOM-eff's time (the paper's at {PAPER_SAMPLES:,}"
        f" in brackets): {ratios}.",
        f"From slowest to fastest: {', '.join(order)}, {same}.",
        f"Tokens sent through the model, as multiples of SLALOM-eff's: {tokens}. Copies of the text"
        " without a few words (fidel) are longer than those without half of them (SHAP, LIME).",
        "LRP, which needs one backward pass, takes 0.02 s in the paper; it was not run here.",
    )


def draw(timings: Sequence[Timing]) -> Figure:
    """Seconds by samples, a line a method."""
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axes = figure.subplots()
    for index, name in enumerate(NAMES):
        own = [timing for timing in timings if timing.name == name]
        axes.plot(
            [timing.samples or 0 for timing in own],
            [timing.seconds for timing in own],
            DASHES[index],
            marker="o",
            color=COLOURS[index],
            label=name,
        )
    axes.set(xscale="log", yscale="log", xlabel="samples", ylabel="processor seconds")
    counts = sorted({timing.samples or 0 for timing in timings})
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _table(timings: Sequence[Timing], texts: int) -> Table:
    base = {timing.samples: timing.seconds for timing in timings if timing.name == EFF}
    rows = tuple(
        (
            timing.name,
            f"{timing.samples:,}",
            f"{timing.seconds:.2f}",
            f"{timing.forwards:,.0f}",
            f"{timing.tokens:,.0f}",
            f"{timing.seconds / base[timing.samples]:.1f}",
            f"{PAPER[timing.name]:g}" if timing.samples == PAPER_SAMPLES else "–",
        )
        for timing in timings
    )
    columns = (
        "method", "samples", "processor seconds", "sequences", "tokens", "ratio to eff",
        "paper's seconds, A100",
    )  # fmt: skip
    return Table(f"Seconds per explanation; medians, number of reviews: {texts}", columns, rows)
