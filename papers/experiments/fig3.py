"""Figure 3: growing runs of "perfect". The truth grows with every word; who follows it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.arrays import FloatArray
from papers.experiments.base import Context, Outcome
from papers.experiments.languages import WEIGHTS, Language, linear_language
from papers.experiments.synthetic import (
    COLOURS,
    SMALL_LINEAR,
    TINY,
    NetTraining,
    SyntheticTraining,
    TrainedTransformer,
    counts_net,
    flat,
    log_odds,
    not_used,
    transformers_of,
)
from papers.experiments.synthetic import PAPER as PAPER_TRAINING
from papers.tables import Table
from piste.arrays import Ragged
from piste.models import Classifier

WORD = "perfect"
TRUTH, NET = "linear truth", "ReLU net on counts"
THEIRS = {TRUTH: "grows", NET: ""}  # the paper's; every transformer goes flat
SHOWN = (1, 5, 10, 20)  # repeats that the table tells
FLAT = 0.1  # of the truth's slope: less is flat
STYLES = ("-", "--", "-.", ":")  # by number of layers, the fewest first


@dataclass(frozen=True)
class Fig3Settings:
    """Sizes of the experiment."""

    training: SyntheticTraining
    layers: tuple[int, ...]
    net: NetTraining = NetTraining()
    longest: int = 28  # repeats


SETTINGS = {
    "tiny": Fig3Settings(TINY, (1,), NetTraining(units=10, texts=300), longest=8),
    "small": Fig3Settings(SMALL_LINEAR, (1, 2)),
    "paper": Fig3Settings(PAPER_TRAINING, (1, 2, 6, 12)),
}


@dataclass(frozen=True)
class GrowingRun:
    """Log-odds of 1, 2 ... repeats, and how they grow."""

    log_odds: FloatArray  # [repeats]

    def at(self, repeats: int) -> float | None:
        return float(self.log_odds[repeats - 1]) if repeats <= len(self.log_odds) else None

    @property
    def slopes(self) -> tuple[float, float]:
        """Log-odds a word over the first half of the repeats and over the last (least squares)."""
        half = len(self.log_odds) // 2
        return _slope(self.log_odds[:half]), _slope(self.log_odds[half:])

    @property
    def goes_flat(self) -> bool:
        return abs(self.slopes[1]) < FLAT * WEIGHTS[WORD]


def run(context: Context, settings: Fig3Settings) -> Outcome:
    """Train, ask, and draw."""
    language = linear_language()
    models = transformers_of(context, language, settings.training, settings.layers)
    context.say("training the net on counts")
    classifiers = {model.name: model.classifier for model in models}
    classifiers[NET] = counts_net(language, settings.net, context.seed)
    runs = measure(classifiers, language, settings.longest)
    return Outcome(
        tables=(table(runs),),
        figures={"fig3": draw(runs, models)},
        settings=flat(settings),
        findings=(*findings(runs), *not_used(context)),
    )


def measure(
    classifiers: Mapping[str, Classifier], language: Language, longest: int
) -> dict[str, GrowingRun]:
    """The truth's and each classifier's answers to growing runs of the word."""
    rows = growing_runs(language, longest)
    truth = {TRUTH: GrowingRun(language.truth(rows))}
    return truth | {
        name: GrowingRun(log_odds(c, language, rows)) for name, c in classifiers.items()
    }


def growing_runs(language: Language, longest: int) -> Ragged:
    """The word once, twice ... `longest` times."""
    number = language.words.index(WORD)
    return Ragged.of([[number] * repeats for repeats in range(1, longest + 1)])


def _slope(numbers: FloatArray) -> float:
    if len(numbers) < 2:
        return 0.0
    return float(np.polynomial.polynomial.polyfit(np.arange(len(numbers)), numbers, 1)[1])


def table(runs: Mapping[str, GrowingRun]) -> Table:
    """Log-odds by repeats, and the slope of each half."""
    slopes = ("slope, first half", "last half", "ratio")
    columns = ("classifier", *(f"{n} x" for n in SHOWN), *slopes, "paper")
    rows = [
        (name, *(_number(one.at(n)) for n in SHOWN), *_growth(one), THEIRS.get(name, "goes flat"))
        for name, one in runs.items()
    ]
    return Table(f'Log-odds of runs of "{WORD}"; slopes in log-odds a word', columns, tuple(rows))


def _growth(one: GrowingRun) -> tuple[str, str, str]:
    first, last = one.slopes
    steep = abs(first) >= FLAT * WEIGHTS[WORD]
    return f"{first:+.3f}", f"{last:+.3f}", f"{last / first:.2f}" if steep else "first half flat"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def findings(runs: Mapping[str, GrowingRun]) -> tuple[str, ...]:
    """Who goes flat and who grows, beside what the paper shows."""
    models = {name: one for name, one in runs.items() if name not in (TRUTH, NET)}
    bent = [name for name, one in models.items() if one.goes_flat]
    others = [name for name in models if name not in bent]
    said = []
    if bent:
        said.append(_flat_sentence([models[name] for name in bent], len(models)))
    if others:
        said.append(f"Unlike in the paper, these still move in the last half: {'; '.join(others)}.")
    if NET in runs:
        said.append(_net_sentence(runs[NET]))
    return tuple(said)


def _flat_sentence(flat: Sequence[GrowingRun], models: int) -> str:
    most = max(abs(one.slopes[1]) for one in flat)
    return (
        f"{len(flat)} of {models} transformers go flat: over the last half of the repeats they move"
        f" by at most {most:.3f} a word, the truth by {WEIGHTS[WORD]}. The paper's all go flat."
    )


def _net_sentence(net: GrowingRun) -> str:
    last, truth = net.slopes[1], WEIGHTS[WORD]
    does = "goes flat too" if net.goes_flat else "keeps growing"
    return f"The ReLU net on counts {does}: {last:.2f} a word in the last half, the truth {truth}."


def draw(runs: Mapping[str, GrowingRun], models: Sequence[TrainedTransformer]) -> Figure:
    """Log-odds against repeats."""
    figure = Figure(figsize=(7, 4.2))
    axes = figure.subplots()
    for name, colour, style in ((TRUTH, "black", "-"), (NET, "#CC79A7", "-")):
        _line(axes, runs[name].log_odds, name, colour, style)
    depths = sorted({model.layers for model in models})
    for model in models:
        style = STYLES[depths.index(model.layers) % len(STYLES)]
        _line(axes, runs[model.name].log_odds, model.name, COLOURS[model.architecture], style)
    axes.set_xlabel(f'repeats of "{WORD}" (words)')
    axes.set_ylabel('log-odds of "positive"')
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _line(axes: Axes, numbers: FloatArray, name: str, colour: str, style: str) -> None:
    axes.plot(np.arange(1, len(numbers) + 1), numbers, style, color=colour, label=name, lw=1.6)
