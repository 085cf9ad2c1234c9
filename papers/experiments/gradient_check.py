"""Paper B: the gradient's closed form against autograd, at every position of many reviews."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.arrays import FloatArray, IntArray
from papers.experiments import single_layer_imdb as imdb
from papers.experiments.base import Context, Outcome
from papers.tables import Table
from papers.theory.closed_forms import autograd, gradient
from papers.theory.single_layer import SingleLayer
from piste.render import house_style

CLS, WORDS, PADDING = "[CLS]", "words", "padding"
PLACES = (WORDS, CLS, PADDING)
COLOURS = {WORDS: "#0072b2", CLS: "#d55e00", PADDING: "#000000"}
MARKS = {WORDS: "o", CLS: "^", PADDING: "+"}
DOUBLE, SINGLE = "float64", "float32"
PICTURED = 50  # reviews whose components are kept for the picture
EQUAL = {DOUBLE: 1e-9, SINGLE: 1e-3}  # the most that rounding can explain, relative


@dataclass(frozen=True)
class GradientCheckSettings:
    """The model, and how many reviews are checked."""

    model: imdb.SingleLayerSettings
    reviews: int
    points: int = 200  # of the picture, for each kind of place


SETTINGS = {
    "tiny": GradientCheckSettings(imdb.SETTINGS["tiny"], reviews=4),
    "small": GradientCheckSettings(imdb.SETTINGS["small"], reviews=1_000),
    "paper": GradientCheckSettings(imdb.SETTINGS["paper"], reviews=1_000),
}


@dataclass(frozen=True)
class Comparison:
    """Both gradients at all places of one kind, compared."""

    relative: FloatArray  # each place's difference over its gradient, as lengths [places]
    absolute: float  # the largest difference of a component
    largest: float  # component of autograd's
    squares: tuple[float, float]  # sums, of the differences and of autograd's components
    components: tuple[FloatArray, FloatArray]  # autograd's and the closed form's, for the picture

    @classmethod
    def of(cls, autograd: FloatArray, closed: FloatArray, pictured: bool = True) -> Comparison:
        """Of gradients [places, width]."""
        apart = autograd - closed
        lengths = np.linalg.norm(autograd, axis=1)
        shown = (autograd, closed) if pictured else (autograd[:0], closed[:0])
        return cls(
            np.asarray(np.linalg.norm(apart, axis=1) / np.where(lengths > 0, lengths, 1.0)),
            float(np.abs(apart).max()),
            float(np.abs(autograd).max()),
            (float((apart**2).sum()), float((autograd**2).sum())),
            (shown[0].ravel(), shown[1].ravel()),
        )

    @classmethod
    def joined(cls, parts: Sequence[Comparison]) -> Comparison:
        """Of all places of the parts."""
        return cls(
            np.concatenate([part.relative for part in parts]),
            max(part.absolute for part in parts),
            max(part.largest for part in parts),
            (sum(part.squares[0] for part in parts), sum(part.squares[1] for part in parts)),
            (
                np.concatenate([part.components[0] for part in parts]),
                np.concatenate([part.components[1] for part in parts]),
            ),
        )

    @property
    def whole(self) -> float:
        """The difference of all places over all their gradients."""
        return math.sqrt(self.squares[0] / self.squares[1])


Comparisons = Mapping[str, Mapping[str, Comparison]]  # by precision and kind of place


def run(context: Context, settings: GradientCheckSettings) -> Outcome:
    """Compare the gradients of the trained model."""
    stage = imdb.stage(context, settings.model)
    texts = stage.texts(settings.reviews)
    pairs_by_precision = {}
    for name, module in ((DOUBLE, stage.model.exact), (SINGLE, stage.model.classifier.module)):
        context.say(f"gradients of {len(texts):,} reviews in {name}")
        pairs_by_precision[name] = measure(module, texts)
    return stage.outcome(
        tables=(_table(pairs_by_precision, len(texts)),),
        figures={"gradients": draw(pairs_by_precision, settings.points)},
        settings={
            "reviews checked": f"the first {len(texts):,} of the test file",
            "positions": "all of the window",
            "components": "all",
            "closed form computed in": DOUBLE,
        },
        findings=findings(pairs_by_precision, len(texts)),
        shows_sentence=False,
    )


def measure(
    module: SingleLayer,
    texts: Sequence[IntArray],
    closed_form: Callable[[SingleLayer, IntArray], FloatArray] = gradient,
) -> dict[str, Comparison]:
    """Both gradients of all texts, by kind of place; kinds that never occur are left out."""
    parts: dict[str, list[Comparison]] = {}
    for number, ids in enumerate(texts):
        sides = autograd(module, ids), closed_form(module, ids)
        for kind in PLACES:
            places = _places(kind, len(ids))
            ours, theirs = (side[places] for side in sides)
            if len(ours):
                compared = Comparison.of(ours, theirs, number < PICTURED)
                parts.setdefault(kind, []).append(compared)
    return {kind: Comparison.joined(parts[kind]) for kind in PLACES if kind in parts}


def findings(pairs_by_precision: Comparisons, reviews: int) -> tuple[str, ...]:
    """Whether the closed form is the gradient, in each precision and at [CLS]."""
    said = []
    for precision, pairs in pairs_by_precision.items():
        worst = max(float(pair.relative.max()) for pair in pairs.values())
        absolute = max(pair.absolute for pair in pairs.values())
        verdict = "agree to rounding" if worst < EQUAL[precision] else "differ beyond rounding"
        said.append(
            f"In {precision} autograd and the closed form {verdict} at every position of"
            f" {reviews:,} reviews: the largest difference is {absolute:.0e} of a component and"
            f" {worst:.0e} of a position's gradient."
        )
    at_cls = float(pairs_by_precision[DOUBLE][CLS].relative.max())
    held = "holds" if at_cls < EQUAL[DOUBLE] else "does not hold"
    said.append(
        "At [CLS], which the paper's formula leaves out because the query depends on it, the"
        f" formula with the query's term {held}: largest relative difference {at_cls:.0e}."
    )
    return tuple(said)


def draw(pairs_by_precision: Comparisons, points: int) -> Figure:
    """Closed form against autograd, and how large the differences are."""
    with house_style():
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _scatter(left, pairs_by_precision[DOUBLE], points)
        _differences(right, pairs_by_precision)
    return figure


def spread_out(values: FloatArray, points: int) -> IntArray:
    """Which values to show: the next one at or above each of `points` even steps of the range."""
    order = np.argsort(values)
    steps = np.linspace(values.min(), values.max(), points)
    return np.unique(order[np.searchsorted(values[order], steps)])


def _scatter(axes: Axes, pairs: Mapping[str, Comparison], points: int) -> None:
    """Components of each kind, picked evenly over their range: most of them are near 0."""
    for kind, colour in COLOURS.items():
        if kind in pairs:
            x, y = pairs[kind].components
            chosen = spread_out(x, points)
            (line,) = axes.plot(x[chosen], y[chosen], MARKS[kind], color=colour, label=kind)
            line.set(markersize=4, fillstyle="none", alpha=0.7)
    axes.axline((0, 0), slope=1, color="black", linewidth=0.7, zorder=0)
    axes.set_xlabel("autograd, log-odds a unit of the embedding")
    axes.set_ylabel("closed form, log-odds a unit of the embedding")
    axes.set_title(f"components of the gradient, {DOUBLE}", fontsize=10)
    axes.legend(frameon=False)


def _differences(axes: Axes, pairs_by_precision: Comparisons) -> None:
    """The relative difference of every position, on a scale of powers of ten."""
    bins = np.arange(-18, 1, 0.5)
    for precision, style in ((DOUBLE, "-"), (SINGLE, "--")):
        for kind, colour in COLOURS.items():
            if kind not in pairs_by_precision[precision]:
                continue
            logs = np.log10(np.maximum(pairs_by_precision[precision][kind].relative, 1e-18))
            counts, edges = np.histogram(logs, bins)
            share = 100 * counts / len(logs)
            label = kind if precision == DOUBLE else None
            axes.stairs(share, edges, color=colour, linestyle=style, linewidth=1.5, label=label)
    for precision, at in ((DOUBLE, -15), (SINGLE, -6)):
        axes.text(at, 101, precision, ha="center", va="bottom")
    axes.set(xlim=(-18, 0), ylim=(0, 110))
    axes.xaxis.set_major_formatter(lambda power, _: f"$10^{{{power:.0f}}}$")
    axes.set_xlabel("relative difference of a position's gradient")
    axes.set_ylabel("positions, %")
    axes.set_title("closed form and autograd apart", fontsize=10)
    axes.legend(frameon=False, loc="center", bbox_to_anchor=(0.42, 0.6))


def _table(pairs_by_precision: Comparisons, reviews: int) -> Table:
    rows = tuple(
        (
            precision,
            kind,
            f"{len(pair.relative):,}",
            f"{pair.largest:.2g}",
            f"{pair.absolute:.1e}",
            f"{pair.relative.max():.1e}",
            f"{pair.whole:.1e}",
        )
        for precision, pairs in pairs_by_precision.items()
        for kind, pair in pairs.items()
    )
    columns = (
        "autograd in", "places", "positions", "largest component", "largest difference",
        "largest relative difference of a position", "relative difference of all",
    )  # fmt: skip
    return Table(f"Autograd against the closed form, {reviews:,} test reviews", columns, rows)


def _places(kind: str, length: int) -> slice:
    """Where such places are in a window, for a text of `length`, [CLS] included."""
    return {CLS: slice(0, 1), WORDS: slice(1, length), PADDING: slice(length, None)}[kind]
