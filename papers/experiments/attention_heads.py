"""Paper B: where each head of the single-layer model looks, in one sentence and in many reviews."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.arrays import FloatArray, IntArray
from papers.experiments import single_layer_imdb as imdb
from papers.experiments.base import Context, Outcome
from papers.experiments.course import curve_table, draw_curves
from papers.tables import Table
from papers.theory.closed_forms import attention
from papers.theory.single_layer import SingleLayer
from piste.render import house_style, literal

TOP = 3  # words named for each head
SHADES = "Purples"  # weights have no side


@dataclass(frozen=True)
class AttentionHeadsSettings:
    """The model, and over how many reviews its heads are averaged."""

    model: imdb.SingleLayerSettings
    reviews: int


SETTINGS = {
    "tiny": AttentionHeadsSettings(imdb.SETTINGS["tiny"], reviews=10),
    "small": AttentionHeadsSettings(imdb.SETTINGS["small"], reviews=300),
    "paper": AttentionHeadsSettings(imdb.SETTINGS["paper"], reviews=25_000),
}


@dataclass(frozen=True)
class HeadAttention:
    """Where the heads look in one text."""

    weights: FloatArray  # alpha [heads, window]
    length: int  # of the text, [CLS] included; the padding is behind it

    @property
    def words(self) -> FloatArray:
        """Of each word [heads, words]."""
        return self.weights[:, 1 : self.length]

    @property
    def on_cls(self) -> FloatArray:
        return self.weights[:, 0]

    @property
    def on_padding(self) -> FloatArray:
        """All of it together [heads]."""
        return np.asarray(self.weights[:, self.length :].sum(axis=1))

    @property
    def padding(self) -> float:
        """The share of the window's positions that are padding."""
        return 1 - self.length / int(self.weights.shape[1])

    @property
    def entropy(self) -> FloatArray:
        """In nats [heads]; log of the window where a head looks at all positions alike."""
        logs = np.log(np.where(self.weights > 0, self.weights, 1.0))
        return np.asarray(-(self.weights * logs).sum(axis=1))


@dataclass(frozen=True)
class HeadAverages:
    """Means over reviews, for each head."""

    entropy: FloatArray  # [heads]
    on_padding: FloatArray  # [heads]
    strongest: FloatArray  # [heads]: the weight of the position that draws most
    padding: float  # share of positions
    least: float  # the least weight of all
    same_top: float  # how often two heads look most at the same word
    reviews: int


def run(context: Context, settings: AttentionHeadsSettings) -> Outcome:
    """Show the heads of the trained model."""
    stage = imdb.stage(context, settings.model)
    module, tokens = stage.model.exact, stage.sentence.tokens
    curve = stage.model.facts["curve"]
    view = look(module, stage.sentence.ids)
    context.say("reading reviews")
    sample = measure(module, stage.texts(settings.reviews))
    return stage.outcome(
        tables=(
            _sentence_table(view, tokens),
            _sample_table(sample, module.shape.window),
            curve_table(curve),
        ),
        figures={
            "heads": draw(view, tokens),
            "learning": draw_curves({"the model": curve}, imdb.PAPER_ACCURACY),
        },
        settings={"reviews averaged": sample.reviews},
        findings=findings(view, tokens, sample),
    )


def look(module: SingleLayer, ids: IntArray) -> HeadAttention:
    """The heads' weights in a text [length], [CLS] first."""
    return HeadAttention(attention(module, ids), len(ids))


def measure(module: SingleLayer, texts: Sequence[IntArray]) -> HeadAverages:
    """Means over texts."""
    looks = [look(module, ids) for ids in texts]
    return HeadAverages(
        entropy=np.mean([one.entropy for one in looks], axis=0),
        on_padding=np.mean([one.on_padding for one in looks], axis=0),
        strongest=np.mean([one.weights.max(axis=1) for one in looks], axis=0),
        padding=float(np.mean([one.padding for one in looks])),
        least=float(min(one.weights.min() for one in looks)),
        same_top=float(np.mean([_same_top(one) for one in looks])),
        reviews=len(looks),
    )


def top_words(weights: FloatArray, tokens: Sequence[str], count: int = TOP) -> str:
    """The positions that draw most [words], with their weights."""
    order = np.argsort(-weights, kind="stable")[:count]
    return ", ".join(f"{tokens[place]} {weights[place]:.1%}" for place in order)


def findings(view: HeadAttention, tokens: Sequence[str], sample: HeadAverages) -> tuple[str, ...]:
    """What the heads do, from the numbers."""
    tops = [tokens[place] for place in view.words.argmax(axis=1)]
    negative = "no weight is" if sample.least >= 0 else "some weights are"
    drawn, share = float(sample.on_padding.mean()), sample.padding
    more = "less" if drawn < share else "more"
    return (
        f"The {len(tops)} heads look most at {len(set(tops))} different words of the sentence"
        f" ({', '.join(tops)}); in {sample.reviews:,} test reviews two heads share their strongest"
        f" word {sample.same_top:.0%} of the time.",
        f"The padding, which is not masked, draws {view.on_padding.mean():.1%} of the attention in"
        f" the sentence ({view.padding:.0%} of the positions), {view.on_padding.min():.1%} to"
        f" {view.on_padding.max():.1%} by head; over the reviews {drawn:.1%} on {share:.0%} of the"
        f" positions, {more} than attention spread evenly would give it.",
        f"Over the reviews {negative} negative (the least is {sample.least:.0e}): attention can say"
        " where the model looks, not for which label a word speaks.",
    )


def draw(view: HeadAttention, tokens: Sequence[str]) -> Figure:
    """Heads by words as shades; beside them what the padding draws."""
    mean, largest = view.weights.mean(axis=0), view.weights.max(axis=0)
    both = HeadAttention(np.vstack([view.weights, mean, largest]), view.length)
    names = [*_names(len(view.weights)), "α-avg", "α-max"]
    with house_style():
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        shades, bars = figure.subplots(1, 2, width_ratios=(7, 1), sharey=True)
        _shades(figure, shades, both.words, tokens, names)
        _bars(bars, view.on_padding)
    return figure


def _shades(
    figure: Figure, axes: Axes, weights: FloatArray, tokens: Sequence[str], names: Sequence[str]
) -> None:
    image = axes.imshow(100 * weights, cmap=SHADES, vmin=0, vmax=100, aspect="auto")
    axes.set_xticks(range(len(tokens)))
    axes.set_xticklabels(
        [literal(token) for token in tokens], rotation=60, ha="right", rotation_mode="anchor",
        parse_math=False,
    )  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.axhline(len(names) - 2.5, color="black", linewidth=1)
    axes.set_xlabel("words of the sentence, in order")
    figure.colorbar(image, ax=axes, label="attention at [CLS], %", pad=0.01)
    for row, place in zip(*np.nonzero(weights >= 0.05), strict=True):
        _number(axes, weights[row, place], int(row), int(place))


def _number(axes: Axes, weight: float, row: int, place: int) -> None:
    colour = "white" if weight > 0.5 else "black"
    shown = f"{100 * weight:.0f}"
    axes.text(place, row, shown, ha="center", va="center", fontsize=7.5, color=colour)


def _bars(axes: Axes, on_padding: FloatArray) -> None:
    axes.barh(range(len(on_padding)), 100 * on_padding, color="#7d62c8", height=0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("on the padding, %")
    axes.tick_params(axis="y", labelleft=False, left=False)
    for row, share in enumerate(on_padding):
        side, at = ("right", -2) if share > 0.6 else ("left", 2)
        colour = "white" if share > 0.6 else "black"
        axes.text(
            100 * share + at, row, f"{100 * share:.1f}", ha=side, va="center", fontsize=8,
            color=colour,
        )  # fmt: skip


def _sentence_table(view: HeadAttention, tokens: Sequence[str]) -> Table:
    bound = math.log(view.weights.shape[1])
    rows = [
        (
            name,
            f"{view.entropy[head]:.2f}",
            f"{view.on_cls[head]:.1%}",
            f"{view.words[head].sum():.1%}",
            f"{view.on_padding[head]:.1%}",
            top_words(view.words[head], tokens),
        )
        for head, name in enumerate(_names(len(view.weights)))
    ]
    mean, largest = view.words.mean(axis=0), view.words.max(axis=0)
    shares = (f"{view.on_cls.mean():.1%}", f"{mean.sum():.1%}", f"{view.on_padding.mean():.1%}")
    rows.append(("α-avg", f"{view.entropy.mean():.2f} (mean)", *shares, top_words(mean, tokens)))
    rows.append(("α-max", "–", "–", "–", "–", top_words(largest, tokens)))
    columns = ("", f"entropy, nats (at most {bound:.2f})", "on [CLS]", "on words", "on padding")
    return Table("The sentence", (*columns, "strongest words"), tuple(rows))


def _sample_table(sample: HeadAverages, window: int) -> Table:
    rows = [
        (
            name,
            f"{sample.entropy[head]:.2f}",
            f"{math.exp(sample.entropy[head]):.1f}",
            f"{sample.strongest[head]:.1%}",
            f"{sample.on_padding[head]:.1%}",
        )
        for head, name in enumerate(_names(len(sample.entropy)))
    ]
    even = ("spread evenly", f"{math.log(window):.2f}", f"{window}", f"{1 / window:.1%}")
    return Table(
        f"Means over the first {sample.reviews:,} test reviews",
        ("", "entropy, nats", "exp of it, positions", "strongest position", "on padding"),
        (*rows, (*even, f"{sample.padding:.1%}")),
    )


def _same_top(view: HeadAttention) -> float:
    """The share of pairs of heads whose strongest words are at the same place."""
    tops = view.words.argmax(axis=1).tolist()
    pairs = list(combinations(tops, 2))
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else math.nan


def _names(heads: int) -> list[str]:
    return [f"head {number}" for number in range(1, heads + 1)]
