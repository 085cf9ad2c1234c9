"""Appendix A: KernelSHAP on growing runs of "perfect". Its value a word should be 1.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from papers.arrays import FloatArray
from papers.experiments.base import Context, Outcome
from papers.experiments.fig3 import NET, STYLES, WORD
from papers.experiments.languages import WEIGHTS, linear_language
from papers.experiments.synthetic import (
    COLOURS,
    POSITIVE,
    SMALL_LINEAR,
    TINY,
    NetTraining,
    SyntheticTraining,
    TrainedTransformer,
    counts_net,
    flat,
    not_used,
    transformers_of,
)
from papers.experiments.synthetic import PAPER as PAPER_TRAINING
from papers.tables import Table
from piste import KernelShap, explain
from piste.models import Classifier

TRUE = WEIGHTS[WORD]
CLOSE = 0.2  # of the true value: nearer is recovered


@dataclass(frozen=True)
class AppendixASettings:
    """Sizes of the experiment."""

    training: SyntheticTraining
    layers: tuple[int, ...]
    runs: tuple[int, ...]  # lengths that are explained
    net: NetTraining = NetTraining()
    nets: int = 3  # trained from as many seeds
    samples: int = 1000  # coalitions, where all are more


SETTINGS = {
    "tiny": AppendixASettings(
        TINY, (1,), (1, 3), NetTraining(units=10, texts=300), nets=2, samples=20
    ),
    "small": AppendixASettings(SMALL_LINEAR, (1, 2), (1, 2, 3, 5, 7, 10, 14, 20, 28)),
    "paper": AppendixASettings(PAPER_TRAINING, (1, 2, 6, 12), tuple(range(1, 29))),
}


def run(context: Context, settings: AppendixASettings) -> Outcome:
    """Train, explain, and draw."""
    language = linear_language()
    models = transformers_of(context, language, settings.training, settings.layers)
    context.say("training the nets on counts")
    seeds = range(context.seed, context.seed + settings.nets)
    classifiers = {
        f"{NET}, seed {seed}": counts_net(language, settings.net, seed) for seed in seeds
    }
    classifiers |= {model.name: model.classifier for model in models}
    context.say("explaining")
    values = {
        name: measure(classifier, settings.runs, settings.samples, context.seed)
        for name, classifier in classifiers.items()
    }
    return Outcome(
        tables=(table(values, settings.runs),),
        figures={"appendix_a": draw(values, settings.runs, models)},
        settings=flat(settings) | {"unit": "token", "repeats": "separate"},
        findings=(*findings(values), *not_used(context)),
    )


def measure(classifier: Classifier, runs: Sequence[int], samples: int, seed: int) -> FloatArray:
    """KernelSHAP's value of one word of a run, the mean over its words [runs].

    The paper's game begins at 0, whatever a function says of an empty text.
    """
    if hasattr(classifier, "reads_nothing"):
        setattr(classifier, "reads_nothing", False)  # noqa: B010  # only functions have it
    return np.array([_value(classifier, repeats, samples, seed) for repeats in runs])


def _value(classifier: Classifier, repeats: int, samples: int, seed: int) -> float:
    text = " ".join([WORD] * repeats)
    explanation = explain(
        text,
        classifier,
        KernelShap(samples=samples),
        target=POSITIVE,
        unit="token",
        repeats="separate",
        seed=seed,
    )
    return float(np.mean(explanation.scores["shapley"]))


def table(by_name: Mapping[str, FloatArray], runs: Sequence[int]) -> Table:
    """A row each classifier, a column each length, and the spread between them."""
    columns = ("classifier", *(f"{repeats} x" for repeats in runs), "paper")
    rows = []
    for name, values in by_name.items():
        paper = f"recovers {TRUE}" if is_net(name) else f"does not recover {TRUE}"
        rows.append((name, *(f"{value:.2f}" for value in values), paper))
    title = f'KernelSHAP value of one "{WORD}" in runs of it; its true weight is {TRUE}'
    return Table(title, columns, tuple(rows))


def is_net(name: str) -> bool:
    """Whether it is one of the nets on counts."""
    return name.startswith(NET)


def recovered(values: FloatArray) -> bool:
    """Whether every run's value is near the true one."""
    return bool(np.abs(values - TRUE).max() <= CLOSE * TRUE)


def findings(by_name: Mapping[str, FloatArray]) -> tuple[str, ...]:
    """Who recovers the true value at every length."""
    nets = [values for name, values in by_name.items() if is_net(name)]
    models = {name: values for name, values in by_name.items() if not is_net(name)}
    failed = [values for values in models.values() if not recovered(values)]
    said = [_net_sentence(nets)] if nets else []
    if failed:
        low, high = min(v.min() for v in failed), max(v.max() for v in failed)
        said.append(
            f"{len(failed)} of {len(models)} transformers do not recover it: a word's value runs"
            f" from {high:.2f} to {low:.2f} with the length of the run. None does in the paper."
        )
    said += [
        f"Unlike in the paper, {name} recovers it." for name in models if recovered(models[name])
    ]
    return tuple(said)


def _net_sentence(nets: Sequence[FloatArray]) -> str:
    right = sum(recovered(values) for values in nets)
    low, high = min(v.min() for v in nets), max(v.max() for v in nets)
    return (
        f"KernelSHAP recovers {TRUE} (within {CLOSE:.0%} at every length) from {right} of"
        f" {len(nets)} ReLU nets: its values lie between {low:.2f} and {high:.2f}. The paper's net"
        " gives it."
    )


def draw(
    by_name: Mapping[str, FloatArray], runs: Sequence[int], models: Sequence[TrainedTransformer]
) -> Figure:
    """Value a word against the length of the run."""
    figure = Figure(figsize=(7, 4.2))
    axes = figure.subplots()
    axes.axhline(TRUE, color="black", lw=1, ls=":", label=f"true weight, {TRUE}")
    for place, name in enumerate(filter(is_net, by_name)):
        label = "" if place else f"{NET}, one line a seed"
        axes.plot(runs, by_name[name], "o-", color="#CC79A7", label=label, ms=3, lw=1)
    depths = sorted({model.layers for model in models})
    for model in models:
        style = STYLES[depths.index(model.layers) % len(STYLES)]
        colour = COLOURS[model.architecture]
        axes.plot(runs, by_name[model.name], f"o{style}", color=colour, label=model.name, ms=4)
    axes.set_xlabel(f'length of the run of "{WORD}" (words)')
    axes.set_ylabel("KernelSHAP value of one word (log-odds)")
    axes.axhline(0, color="0.8", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return figure
