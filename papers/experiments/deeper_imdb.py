"""Paper B's open question on real reviews: do its closed forms for LIME survive six layers?

Five layers of self-attention, with skips, ReLU nets and normalisation, stand before the paper's
reading layer. The closed forms are asked about the reading layer alone, on the states that it sees,
and compared with LIME itself. The paper's own model gets the same reviews and the same samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from papers.arrays import BoolArray, FloatArray, IntArray
from papers.experiments import single_layer_imdb as imdb
from papers.experiments.base import Context, Outcome
from papers.experiments.course import Course, Point, curve_table
from papers.tables import Table
from papers.theory.closed_forms import Reading, lime_integral, read_text, three_halves
from papers.theory.deeper import Deeper, Depth, read_deeper
from papers.theory.lime_by_subsets import Removal, weighted_fit
from papers.theory.single_layer import UNK, Training, seeded
from piste import Example
from piste.runs import Interval, interval

SINGLE, DEEP = "the paper's model", "six layers"
FORMS = ("LIME, half the samples", "3/2 rule", "integral")  # each against LIME
COLOURS = ("#c9c9c9", "#de6800", "#1f77d6")


@dataclass(frozen=True)
class DeeperSettings:
    """The paper's model, what stands before its reading layer here, and the comparison."""

    single: imdb.SingleLayerSettings
    train: int
    window: int  # of the deeper model; reviews are cut for both
    epochs: int
    rate: float
    reviews: int
    samples: int  # of LIME
    batch: int = 16
    depth: Depth = Depth(blocks=5, skip=True, relu=True, norm=True)


SETTINGS = {
    "tiny": DeeperSettings(
        imdb.SETTINGS["tiny"], train=60, window=16, epochs=1, rate=1e-3, reviews=3, samples=60
    ),
    "small": DeeperSettings(
        imdb.SETTINGS["small"], train=8_000, window=48, epochs=2, rate=3e-4, reviews=20,
        samples=600,
    ),
    "paper": DeeperSettings(
        imdb.SETTINGS["paper"], train=20_000, window=256, epochs=10, rate=1e-4, reviews=1_000,
        samples=5_000,
    ),
}  # fmt: skip
Read = Callable[[IntArray], Reading]
Model = Callable[[Tensor], Tensor]  # ids [rows, length] -> log-odds [rows]


def run(context: Context, settings: DeeperSettings) -> Outcome:
    """Train what is missing, and compare both models' forms with their LIME."""
    stage = imdb.stage(context, settings.single)
    deep, facts = trained_deep(context, settings, stage.model)
    single = stage.model.exact
    models: dict[str, tuple[Model, Read]] = {
        SINGLE: (single, lambda ids: read_text(single, ids)),
        DEEP: (deep, lambda ids: read_deeper(deep, ids)),
    }
    texts = chosen(stage.texts(2 * settings.reviews), settings)
    found = {name: correlations(context, *pair, texts, settings) for name, pair in models.items()}
    return Outcome(
        (_table(found, len(texts)), curve_table(facts["curve"])),
        {"correlations": draw(found)},
        _reported(settings, facts, len(texts)),
        findings(found, facts, stage.model.facts["test accuracy"]),
    )


def trained_deep(
    context: Context, settings: DeeperSettings, single: imdb.TrainedSingleLayer
) -> tuple[Deeper, dict[str, Any]]:
    """Its word vectors start as those of the paper's model, the rest from nothing."""
    examples = imdb.reviews(context, "train", settings.train)
    held = imdb.reviews(context, "test", single.facts["tested"])[-single.facts["validated"] :]
    shape = replace(settings.single.shape, window=settings.window)
    with seeded(context.seed):
        model = Deeper(len(single.classifier.words), shape, settings.depth)
        model.reader.embedding.load_state_dict(single.classifier.module.embedding.state_dict())
        digest = imdb.digest(examples, settings, context.seed)
        course = Course(context.cache / f"deeper-imdb-{digest}.pt", settings.epochs, context.say)
        truth = torch.tensor([float(example.label or 0) for example in examples])
        held_rows = rows(single, held, settings.window)
        right = torch.tensor([example.label == 1 for example in held])
        course.run(
            Training(model, settings.rate, settings.batch),
            rows(single, examples, settings.window),
            truth,
            lambda: accuracy(model, held_rows, right),
        )
    curve: list[Point] = course.curve
    facts = {"curve": curve, "accuracy": curve[-1]["held"], "tested": len(held)}
    return model.eval(), facts


def rows(single: imdb.TrainedSingleLayer, examples: Sequence[Example], window: int) -> Tensor:
    """Reviews as ids [reviews, window], [CLS] first, cut where the window ends."""
    texts = [single.ids(example.text)[:window] for example in examples]
    padded = [np.pad(ids, (0, window - len(ids)), constant_values=UNK) for ids in texts]
    return torch.from_numpy(np.stack(padded))


def accuracy(model: Deeper, held: Tensor, right: Tensor) -> float:
    """The share of rows classified as labelled."""
    with torch.inference_mode():
        margins = torch.cat([model(part) for part in torch.split(held, 64)])
    return float(((margins > 0) == right).double().mean())


def chosen(texts: Sequence[IntArray], settings: DeeperSettings) -> list[IntArray]:
    """The first reviews of at least two distinct words, cut to the window."""
    cut = [ids[: settings.window] for ids in texts]
    return [ids for ids in cut if len(np.unique(ids[1:])) > 1][: settings.reviews]


def correlations(
    context: Context, model: Model, read: Read, texts: Sequence[IntArray], settings: DeeperSettings
) -> FloatArray:
    """Each of FORMS with LIME [texts, 3]; half of the samples with the other half says how well
    LIME agrees with itself."""
    rng, found = np.random.default_rng(context.seed), []
    for number, ids in enumerate(texts, start=1):
        context.say(f"review {number} of {len(texts)}")
        removal = Removal(model, ids)
        kept = draws(rng, settings.samples, len(removal))
        answers = removal(kept)
        whole, one, other = (
            weighted_fit(kept[part], answers[part], np.ones(len(answers[part])))
            for part in (slice(None), slice(0, None, 2), slice(1, None, 2))
        )
        reading = read(ids)
        forms = (three_halves(reading), lime_integral(reading))
        found.append([_alike(one, other), *(_alike(form, whole) for form in forms)])
    return np.array(found)


def draws(rng: np.random.Generator, samples: int, words: int) -> BoolArray:
    """Which words are kept [samples, words]: LIME removes 1 ... all of them, as often each."""
    removed = rng.integers(1, words, samples, endpoint=True)
    ranks = rng.random((samples, words)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks >= removed[:, None])


def findings(
    found: Mapping[str, FloatArray], facts: Mapping[str, Any], single_accuracy: float
) -> tuple[str, ...]:
    """What is left of the closed forms."""
    means = {name: rows.mean(axis=0) for name, rows in found.items()}
    single, deep = means[SINGLE], means[DEEP]
    return (
        f"With one layer the paper's 3/2 rule correlates {single[1]:.2f} with LIME and the integral"
        f" {single[2]:.2f}; under six layers {deep[1]:.2f} and {deep[2]:.2f}. LIME's own halves"
        f" correlate {single[0]:.2f} and {deep[0]:.2f}.",
        "The forms know only the reading layer: what the layers before it do when words go"
        " is not in them.",
        f"The deeper model is right on {facts['accuracy']:.1%} of {facts['tested']:,} test reviews"
        f" (of their first words), the paper's model on {single_accuracy:.1%}.",
    )


def draw(found: Mapping[str, FloatArray]) -> Figure:
    """Correlations with LIME, by model."""
    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    for place, form in enumerate(FORMS):
        means = [interval(rows[:, place]) for rows in found.values()]
        axes.bar(
            np.arange(len(found)) + 0.27 * (place - 1),
            [mean.mean for mean in means],
            0.25,
            yerr=_reach(means),
            color=COLOURS[place],
            label=form,
        )
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set_xticks(range(len(found)), list(found))
    axes.set_ylabel("correlation with LIME")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _reach(means: Sequence[Interval]) -> list[list[float]]:
    return [[m.mean - m.low for m in means], [m.high - m.mean for m in means]]


def _table(found: Mapping[str, FloatArray], texts: int) -> Table:
    rows = tuple(
        (name, *(str(interval(column)) for column in values.T)) for name, values in found.items()
    )
    return Table(f"Correlation with LIME, {texts:,} test reviews", ("model", *FORMS), rows)


def _alike(one: FloatArray, other: FloatArray) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def _reported(
    settings: DeeperSettings, facts: Mapping[str, Any], reviews: int
) -> dict[str, object]:
    return {
        "layers": f"{settings.depth.blocks} with {asdict(settings.depth)}, and the reading layer",
        "training reviews": settings.train,
        "epochs": settings.epochs,
        "AdamW learning rate": settings.rate,
        "batch": settings.batch,
        "window": settings.window,
        "reviews": f"the first {reviews:,} of the test file, cut to the window",
        "LIME": f"{settings.samples:,} samples, infinite width, no ridge, [UNK] in place",
        "word vectors": "started as the paper's model's",
        "held reviews": f"the last {facts['tested']:,} test reviews, of their first words",
    }
