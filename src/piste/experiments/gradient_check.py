"""Paper B: the gradient's closed form against autograd, at every position of many reviews."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from piste.experiments import single_layer_imdb as imdb
from piste.experiments.base import Context, Outcome
from piste.explanation import FloatArray
from piste.ragged import IntArray
from piste.render.figure import house_style
from piste.theory.closed_forms import autograd, gradient
from piste.theory.report import Table
from piste.theory.single_layer import SingleLayer

CLS, WORDS, PADDING = "[CLS]", "words", "padding"
PLACES = (WORDS, CLS, PADDING)
COLOURS = {WORDS: "#0072b2", CLS: "#d55e00", PADDING: "#000000"}
MARKS = {WORDS: "o", CLS: "^", PADDING: "+"}
DOUBLE, SINGLE = "float64", "float32"
EQUAL = {DOUBLE: 1e-9, SINGLE: 1e-3}  # the most that rounding can explain, relative


@dataclass(frozen=True)
class Settings:
    """The model, and how many reviews are checked."""

    model: imdb.Settings
    reviews: int
    points: int = 200  # of the picture, for each kind of place


SMALL = Settings(imdb.SMALL, reviews=50)
PAPER = Settings(imdb.PAPER, reviews=1_000)


@dataclass(frozen=True)
class Pair:
    """Both gradients at all places of one kind [places, width]."""

    autograd: FloatArray
    closed: FloatArray

    @property
    def absolute(self) -> float:
        """The largest difference of a component."""
        return float(np.abs(self.autograd - self.closed).max())

    @property
    def relative(self) -> FloatArray:
        """Each place's difference over its gradient, as lengths of vectors [places]."""
        lengths = np.linalg.norm(self.autograd, axis=1)
        apart = np.linalg.norm(self.autograd - self.closed, axis=1)
        return np.asarray(apart / np.where(lengths > 0, lengths, 1.0))

    @property
    def whole(self) -> float:
        """The difference of all places over all their gradients."""
        return float(np.linalg.norm(self.autograd - self.closed) / np.linalg.norm(self.autograd))


Found = Mapping[str, Mapping[str, Pair]]  # by precision and kind of place


def run(context: Context) -> Outcome:
    """Compare the gradients of the trained model."""
    return reproduce(context, context.pick(SMALL, PAPER))


def reproduce(context: Context, settings: Settings) -> Outcome:
    """The figure and its numbers with the given settings."""
    stage = imdb.stage(context, settings.model)
    texts = stage.texts(settings.reviews)
    found = {}
    for name, module in ((DOUBLE, stage.model.exact), (SINGLE, stage.model.classifier.module)):
        context.say(f"gradients of {len(texts):,} reviews in {name}")
        found[name] = measure(module, texts)
    return stage.outcome(
        tables=(_table(found, len(texts)),),
        figures={"gradients": draw(found, settings.points)},
        settings={
            "reviews checked": f"the first {len(texts):,} of the test file",
            "positions": "all of the window",
            "components": "all",
            "closed form computed in": DOUBLE,
        },
        findings=findings(found, len(texts)),
        shows_sentence=False,
    )


def measure(
    module: SingleLayer,
    texts: Sequence[IntArray],
    closed_form: Callable[[SingleLayer, IntArray], FloatArray] = gradient,
) -> dict[str, Pair]:
    """Both gradients of all texts, by kind of place; kinds that never occur are left out."""
    both = [(autograd(module, ids), closed_form(module, ids), len(ids)) for ids in texts]
    found = {}
    for kind in PLACES:
        sides = [
            np.concatenate([pair[side][_places(kind, length)] for *pair, length in both])
            for side in (0, 1)
        ]
        if len(sides[0]):
            found[kind] = Pair(*sides)
    return found


def findings(found: Found, reviews: int) -> tuple[str, ...]:
    """Whether the closed form is the gradient, in each precision and at [CLS]."""
    said = []
    for precision, pairs in found.items():
        worst = max(float(pair.relative.max()) for pair in pairs.values())
        absolute = max(pair.absolute for pair in pairs.values())
        verdict = "agree to rounding" if worst < EQUAL[precision] else "differ beyond rounding"
        said.append(
            f"In {precision} autograd and the closed form {verdict} at every position of"
            f" {reviews:,} reviews: the largest difference is {absolute:.0e} of a component and"
            f" {worst:.0e} of a position's gradient."
        )
    at_cls = float(found[DOUBLE][CLS].relative.max())
    held = "holds" if at_cls < EQUAL[DOUBLE] else "does not hold"
    said.append(
        "At [CLS], which the paper's formula leaves out because the query depends on it, the"
        f" formula with the query's term {held}: largest relative difference {at_cls:.0e}."
    )
    return tuple(said)


def draw(found: Found, points: int) -> Figure:
    """Closed form against autograd, and how large the differences are."""
    with house_style():
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _scatter(left, found[DOUBLE], points)
        _differences(right, found)
    return figure


def spread_out(values: FloatArray, points: int) -> IntArray:
    """Which values to show: the next one at or above each of `points` even steps of the range."""
    order = np.argsort(values)
    steps = np.linspace(values.min(), values.max(), points)
    return np.unique(order[np.searchsorted(values[order], steps)])


def _scatter(axes: Axes, pairs: Mapping[str, Pair], points: int) -> None:
    """Components of each kind, picked evenly over their range: most of them are near 0."""
    for kind, colour in COLOURS.items():
        if kind in pairs:
            x, y = pairs[kind].autograd.ravel(), pairs[kind].closed.ravel()
            chosen = spread_out(x, points)
            (line,) = axes.plot(x[chosen], y[chosen], MARKS[kind], color=colour, label=kind)
            line.set(markersize=4, fillstyle="none", alpha=0.7)
    axes.axline((0, 0), slope=1, color="black", linewidth=0.7, zorder=0)
    axes.set_xlabel("autograd, log-odds a unit of the embedding")
    axes.set_ylabel("closed form, log-odds a unit of the embedding")
    axes.set_title(f"components of the gradient, {DOUBLE}", fontsize=10)
    axes.legend(frameon=False)


def _differences(axes: Axes, found: Found) -> None:
    """The relative difference of every position, on a scale of powers of ten."""
    bins = np.arange(-18, 1, 0.5)
    for precision, style in ((DOUBLE, "-"), (SINGLE, "--")):
        for kind, colour in COLOURS.items():
            if kind not in found[precision]:
                continue
            logs = np.log10(np.maximum(found[precision][kind].relative, 1e-18))
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


def _table(found: Found, reviews: int) -> Table:
    rows = tuple(
        (
            precision,
            kind,
            f"{len(pair.autograd):,}",
            f"{np.abs(pair.autograd).max():.2g}",
            f"{pair.absolute:.1e}",
            f"{pair.relative.max():.1e}",
            f"{pair.whole:.1e}",
        )
        for precision, pairs in found.items()
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
