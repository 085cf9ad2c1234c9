"""Paper A, Table 11: seconds per explanation on a six-layer BERT, all methods through one door."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
import transformers
from matplotlib.figure import Figure

from papers.arrays import FloatArray
from papers.experiments.architectures import Size, build, wordpieces
from papers.experiments.base import Context, Outcome
from papers.experiments.training import quiet
from papers.tables import Table
from papers.theory.single_layer import seeded
from piste import Gradients, IntegratedGradients, KernelShap, Lime, Slalom, explain, load
from piste.errors import FileError
from piste.methods import Method
from piste.models import Classifier

SHAP, LIME, IG, GRAD, EFF, OURS = "SHAP", "LIME", "IG", "Grad", "SLALOM-eff", "SLALOM, default"
# Seconds on an A100 by method and samples; IG and Grad do not sample.
PAPER_SECONDS: dict[tuple[str, int | None], float] = {
    (SHAP, 1000): 3.89, (SHAP, 10_000): 45.5,
    (LIME, 1000): 1.55, (LIME, 10_000): 15.6,
    (EFF, 1000): 0.24, (EFF, 10_000): 2.40,
    (IG, None): 0.05, (GRAD, None): 0.01,
}  # fmt: skip
ALIKE = 1.5  # times: below it, two methods are called equally fast
WARM_UP = 64  # samples of the runs that are not counted
OUR_COLOUR, PAPER_COLOUR = "#0072B2", "#D55E00"  # told apart by colour-blind readers too


@dataclass(frozen=True)
class Table11Settings:
    """The model's size, the texts, and how often each is timed."""

    size: Size
    samples: tuple[int, ...]
    texts: int
    vocabulary: int
    tokenized: int | None  # training reviews that the tokenizer is made from; None: all
    fewest: int = 90  # words of a text
    most: int = 110
    repeats: int = 2  # of each explanation, at most
    patience: float = 3.0  # seconds: an explanation that took longer is not repeated


SETTINGS = {
    "tiny": Table11Settings(
        Size(1, 16, 2), (40,), texts=1, vocabulary=60, tokenized=None, fewest=4, most=30,
        repeats=1,
    ),
    "small": Table11Settings(
        Size(6, 384, 12), (1000,), texts=3, vocabulary=8000, tokenized=3000
    ),
    "paper": Table11Settings(
        Size(6, 768, 12), (1000, 10_000), texts=10, vocabulary=30_522, tokenized=None,
        repeats=5, patience=60.0,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """A method as it is timed; `samples` is None where that is no setting of it."""

    name: str
    method: Method
    samples: int | None = None
    setting: str = "samples"  # the method's name for them

    @property
    def light(self) -> Method:
        """The same method with little to do."""
        method: Any = self.method
        return replace(method, **{self.setting: WARM_UP}) if self.samples else self.method


@dataclass(frozen=True)
class Timing:
    """What one method took: medians over the texts (of the medians over a text's runs)."""

    name: str
    samples: int | None
    seconds: float
    fit: float  # seconds of it that were not spent on the model
    forwards: float
    tokens: float
    runs: int  # all texts together

    @property
    def paper(self) -> float | None:
        """The paper's seconds."""
        return PAPER_SECONDS.get((self.name, self.samples))


@dataclass(frozen=True)
class Ratio:
    """A method's seconds as a multiple of SLALOM-eff's, ours and the paper's."""

    timing: Timing
    ours: float
    paper: float | None


def run(context: Context, settings: Table11Settings) -> Outcome:
    """Build or load the model, time every method on the same texts."""
    texts = chosen([row.text for row in context.examples("yelp", "test")], settings)
    classifier, timed = prepared(context, settings), contenders(settings.samples)
    ratios = against_slalom(measure(classifier, texts, timed, settings, context.seed, context.say))
    shown = _reported(context, settings, classifier, len(texts))
    return Outcome((_table(ratios, len(texts)),), {"ratios": draw(ratios)}, shown, findings(ratios))


def chosen(texts: Sequence[str], settings: Table11Settings) -> list[str]:
    """The first texts of about a hundred words."""
    fits = [text for text in texts if settings.fewest <= len(text.split()) <= settings.most]
    if not fits:
        raise FileError(f"No review has {settings.fewest} words or so.", "Check --data.")
    return fits[: settings.texts]


def prepared(context: Context, settings: Table11Settings) -> Classifier:
    """The model in torch on the wanted device: the given weights, or random ones."""
    if context.pretrained is not None:
        model, tokenizer = cut(context.pretrained, settings.size.layers)
    else:
        context.say("making a tokenizer and a model")
        rows = context.examples("yelp", "train", settings.tokenized)
        tokenizer = wordpieces([row.text for row in rows], settings.vocabulary)
        with seeded(context.seed):
            model = build("bert", settings.size, len(tokenizer))
    return load(model.eval(), tokenizer, device=context.device, backend="torch")


def cut(source: str, layers: int) -> tuple[Any, Any]:
    """A pretrained model's first layers with a head for two classes, and its tokenizer."""
    with quiet():
        config = transformers.AutoConfig.from_pretrained(source, num_labels=2)
        config.num_hidden_layers = min(layers, config.num_hidden_layers)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            source, config=config, ignore_mismatched_sizes=True
        )
        return model, transformers.AutoTokenizer.from_pretrained(source)


def contenders(samples: Sequence[int]) -> list[Contender]:
    """Those that sample, for each number of samples; then the others, once."""
    sampling = []
    for count in samples:
        sampling += [
            Contender(SHAP, KernelShap(samples=count), count),
            Contender(LIME, Lime(samples=count), count),
            Contender(EFF, replace(Slalom.paper("eff"), samples=count), count),
        ]
    others: dict[str, Method] = {OURS: Slalom(), IG: IntegratedGradients(), GRAD: Gradients()}
    return sampling + [Contender(name, method) for name, method in others.items()]


def measure(
    classifier: Classifier,
    texts: Sequence[str],
    methods: Sequence[Contender],
    settings: Table11Settings,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Timing]:
    """Time every method on every text, after a short run of each that does not count."""
    for contender in methods:
        explain(texts[0], classifier, contender.light, seed=seed)
    timings = []
    for contender in methods:
        say(f"timing {contender.name}")
        runs = [_runs(classifier, text, contender, settings, seed, clock) for text in texts]
        typical = np.median([np.median(each, axis=0) for each in runs], axis=0)
        timings.append(_timing(contender, typical, sum(map(len, runs))))
    return timings


def _timing(contender: Contender, typical: FloatArray, runs: int) -> Timing:
    seconds, fit, forwards, tokens = typical.tolist()
    return Timing(contender.name, contender.samples, seconds, fit, forwards, tokens, runs)


def _runs(
    classifier: Classifier,
    text: str,
    contender: Contender,
    settings: Table11Settings,
    seed: int,
    clock: Callable[[], float],
) -> list[tuple[float, float, float, float]]:
    """Seconds, seconds without the model, sequences and tokens of each run on one text."""
    rows: list[tuple[float, float, float, float]] = []
    while len(rows) < settings.repeats and sum(row[0] for row in rows) < settings.patience:
        started = clock()
        cost = explain(text, classifier, contender.method, seed=seed).cost
        rows.append((clock() - started, cost.fit_seconds, cost.forwards, cost.tokens))
    return rows


def against_slalom(timings: Sequence[Timing]) -> list[Ratio]:
    """Each method against SLALOM-eff with as many samples; those that do not sample, the fewest."""
    slalom = {timing.samples: timing for timing in timings if timing.name == EFF}
    first = next(iter(slalom.values()))
    ratios = []
    for timing in timings:
        base = slalom.get(timing.samples, first)
        theirs = timing.paper / base.paper if timing.paper and base.paper else None
        ratios.append(Ratio(timing, timing.seconds / base.seconds, theirs))
    return ratios


def _table(ratios: Sequence[Ratio], texts: int) -> Table:
    rows = [
        (
            named(ratio.timing),
            f"{ratio.timing.seconds:.2f}",
            f"{ratio.timing.fit:.2f}",
            f"{ratio.timing.forwards:,.0f}",
            f"{ratio.timing.tokens:,.0f}",
            f"{ratio.ours:.2f}",
            "–" if ratio.paper is None else f"{ratio.paper:.2f}",
            "–" if ratio.timing.paper is None else f"{ratio.timing.paper:.2f}",
            str(ratio.timing.runs),
        )
        for ratio in ratios
    ]
    columns = (
        "method", "seconds", "fit", "sequences", "tokens", "ratio", "paper's ratio",
        "paper's seconds, A100", "runs",
    )  # fmt: skip
    title = (
        f"Seconds per explanation, medians of {texts} reviews; ratio: to SLALOM-eff (paper: A100)"
    )
    return Table(title, columns, tuple(rows))


def named(timing: Timing) -> str:
    """The method, with its samples where it has that setting."""
    return timing.name if timing.samples is None else f"{timing.name}, {timing.samples:,} samples"


def findings(ratios: Sequence[Ratio]) -> tuple[str, ...]:
    """Who is slower than SLALOM here and there, and what goes through the model for it."""
    both = [ratio for ratio in ratios if ratio.paper is not None and ratio.timing.name != EFF]
    apart = [named(r.timing) for r in both if (r.ours > 1) != ((r.paper or 0) > 1)]
    multiples = "; ".join(f"{named(r.timing)} {r.ours:.2f} ({r.paper:.2f})" for r in both)
    sides = "All are on the paper's side of SLALOM."
    if apart:
        sides = f"On the other side of SLALOM than in the paper: {', '.join(apart)}."
    first = {ratio.timing.name: ratio for ratio in reversed(ratios)}
    return (
        "Seconds depend on the machine. As multiples of SLALOM-eff's, with the paper's in"
        f" brackets: {multiples}. {sides}",
        *(_tokens(first[name], first[EFF]) for name in (SHAP, LIME)),
        _tokens(first[IG], first[EFF]) + " The way back of its gradients is not in these tokens.",
        *_batches(first[SHAP], first[LIME]),
        f"SLALOM with piste's defaults asks {first[OURS].timing.forwards:,.0f} sequences and takes"
        f" {first[OURS].ours:.2f} times SLALOM-eff's time.",
    )


def _tokens(other: Ratio, slalom: Ratio) -> str:
    share = other.timing.tokens / slalom.timing.tokens
    return (
        f"{other.timing.name} sends {share:.1f} times SLALOM-eff's tokens through the model, in"
        f" {other.timing.forwards / slalom.timing.forwards:.2f} times its sequences, and takes"
        f" {other.ours:.2f} times as long."
    )


def _batches(shap: Ratio, lime: Ratio) -> tuple[str, ...]:
    """The paper's SHAP is slower than its LIME; where ours are alike, why."""
    ours, theirs = shap.ours / lime.ours, (shap.paper or 0.0) / (lime.paper or 1.0)
    if not 1 / ALIKE < ours < ALIKE < theirs:
        return ()
    return (
        f"SHAP takes {ours:.2f} times as long as LIME, in the paper {theirs:.2f}: here both send"
        " their sequences in the same batches; the public code runs SHAP one at a time.",
    )


def draw(ratios: Sequence[Ratio]) -> Figure:
    """The ratios as points, ours and the paper's."""
    figure = Figure(figsize=(7, 0.8 + 0.45 * len(ratios)))
    axes = figure.subplots()
    places = np.arange(len(ratios))[::-1]
    theirs = [np.nan if ratio.paper is None else ratio.paper for ratio in ratios]
    axes.axvline(1.0, color="0.6", linewidth=1, zorder=0)
    axes.scatter([r.ours for r in ratios], places, s=55, color=OUR_COLOUR, label="measured here")
    axes.scatter(theirs, places, s=55, marker="D", facecolors="none", edgecolors=PAPER_COLOUR,
                 linewidths=1.6, label="paper (A100)")  # fmt: skip
    axes.set_xscale("log")
    axes.set_yticks(places, [named(ratio.timing) for ratio in ratios])
    axes.set_xlabel("time per explanation, as a multiple of SLALOM-eff's")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    return figure


def _reported(
    context: Context, settings: Table11Settings, classifier: Classifier, texts: int
) -> dict[str, object]:
    random = "random: the time of a pass does not depend on them (what SLALOM's rounds ask does)"
    return {
        **asdict(settings),
        "texts": texts,
        "weights": context.pretrained or random,
        "backend": classifier.backend,
        "threads": torch.get_num_threads(),
        "IG steps": IntegratedGradients().steps,
        "counted": "everything from text to scores, with the checks on fresh sequences",
    }
