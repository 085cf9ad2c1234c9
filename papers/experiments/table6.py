"""Table 6: how well linear, GAM and SLALOM surrogates follow transformers trained on linear data.

All three are fitted to the log-odds of the same random sequences of the vocabulary's words, and
measured on others. The GAM's penalty is chosen on a fifth of the sequences of its own fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from papers.arrays import FloatArray, IntArray
from papers.experiments.base import Context, Outcome
from papers.experiments.languages import (
    LONGEST,
    Language,
    Lengths,
    binomial_lengths,
    linear_language,
    up_to,
)
from papers.experiments.synthetic import PAPER as PAPER_TRAINING
from papers.experiments.synthetic import (
    SMALL_LINEAR,
    TINY,
    SyntheticTraining,
    TrainedTransformer,
    flat,
    framed,
    log_odds,
    not_used,
    transformers_of,
)
from papers.tables import Table
from piste.arrays import Ragged
from piste.models import Classifier
from piste.surrogates import fit_gam, fit_gauss_newton, fit_linear

LINEAR, GAM, SLALOM, FRAMED = "linear", "GAM", "SLALOM", "SLALOM + frame"
COLOURS = {LINEAR: "#999999", GAM: "#E69F00", SLALOM: "#0072B2", FRAMED: "#56B4E9"}
THEIRS = {  # the paper's, where we know them: linear, GAM, SLALOM
    ("gpt2", 1): (20.3, 48.8, 16.9),
    ("gpt2", 12): (25.7, 54.4, 20.3),
    ("distilbert", 1): (28.3, 44.4, 10.8),
    ("distilbert", 12): (50.8, 71.6, 27.5),
    ("bert", 1): (26.3, 43.3, 7.3),
    ("bert", 12): (44.6, 51.4, 18.8),
}
KINDS: Mapping[str, Lengths] = {
    "lengths as in training, Binomial(30, 1/2)": binomial_lengths,
    "every length from 1 to 30 as often": up_to(LONGEST),
}
SurrogateErrors = dict[str, float]  # mean squared error of each surrogate


@dataclass(frozen=True)
class Table6Settings:
    """Sizes of the experiment."""

    training: SyntheticTraining
    layers: tuple[int, ...]
    sequences: int = 5000  # that each surrogate is fitted to
    held_out: int = 2000
    penalties: tuple[float, ...] = (1e-3, 3e-3, 1e-2)  # of the GAM's lasso, one is chosen


SETTINGS = {
    "tiny": Table6Settings(TINY, (1,), sequences=200, held_out=50, penalties=(0.2,)),
    "small": Table6Settings(SMALL_LINEAR, (1, 2)),
    "paper": Table6Settings(PAPER_TRAINING, (1, 2, 6, 12)),
}


def run(context: Context, settings: Table6Settings) -> Outcome:
    """Train, fit the surrogates, and compare."""
    language = linear_language()
    models = transformers_of(context, language, settings.training, settings.layers)
    errors_by_kind: dict[str, list[SurrogateErrors]] = {}
    for kind, lengths in KINDS.items():
        context.say(f"fitting surrogates, {kind}")
        errors_by_kind[kind] = [
            measure(model.classifier, language, lengths, settings, context.seed) for model in models
        ]
    first = next(iter(KINDS))
    return Outcome(
        tables=tuple(table(kind, models, errors) for kind, errors in errors_by_kind.items()),
        figures={"table6": draw(models, errors_by_kind)},
        settings=flat(settings),
        findings=(*findings(models, errors_by_kind[first]), *not_used(context)),
    )


def measure(
    classifier: Classifier,
    language: Language,
    lengths: Lengths,
    settings: Table6Settings,
    seed: int,
) -> SurrogateErrors:
    """The held-out error of each surrogate of one classifier."""
    rng = np.random.default_rng(seed)
    rows = language.rows(rng, settings.sequences, lengths)
    fresh = language.rows(rng, settings.held_out, lengths)
    answers = log_odds(classifier, language, rows)
    wanted = log_odds(classifier, language, fresh)
    frame = framed(classifier)
    predicted = {
        LINEAR: _linear(language, rows, answers, fresh),
        GAM: _gam(language, rows, answers, fresh, settings.penalties),
        SLALOM: _slalom(language, rows, answers, fresh, frame=False),
    }
    if frame:
        predicted[FRAMED] = _slalom(language, rows, answers, fresh, frame=True)
    return {name: float(np.mean((guess - wanted) ** 2)) for name, guess in predicted.items()}


def _linear(language: Language, rows: Ragged, answers: FloatArray, fresh: Ragged) -> FloatArray:
    fit = fit_linear(language.counts(rows).toarray(), answers, ridge=1e-6)
    return np.asarray(fit.intercept + language.counts(fresh) @ fit.weights)


def _gam(
    language: Language,
    rows: Ragged,
    answers: FloatArray,
    fresh: Ragged,
    penalties: Sequence[float],
) -> FloatArray:
    """Word by place, with the penalty that does best on a fifth of the rows."""
    words, order = np.arange(len(language.words)), np.arange(len(rows))
    kept = 4 * len(rows) // 5

    def predicted(fitted: IntArray, penalty: float, sequences: Ragged) -> FloatArray:
        shape = (len(words), LONGEST)
        gam = fit_gam(rows.take(fitted), words, answers[fitted], shape, penalty)
        return gam.predict(sequences, words)

    def error(penalty: float) -> float:
        guess = predicted(order[:kept], penalty, rows.take(order[kept:]))
        return float(np.mean((guess - answers[kept:]) ** 2))

    return predicted(order, min(penalties, key=error), fresh)


def _slalom(
    language: Language, rows: Ragged, answers: FloatArray, fresh: Ragged, *, frame: bool
) -> FloatArray:
    model, _, _ = fit_gauss_newton(language.counts(rows), answers[:, None], frame=frame)
    return np.asarray(model.predict(language.counts(fresh))[:, 0])


def table(
    kind: str, models: Sequence[TrainedTransformer], errors: Sequence[SurrogateErrors]
) -> Table:
    """A row each model: ours, the paper's where known, and how well the model had learnt."""
    columns = ("model", *COLOURS, "paper: linear / GAM / SLALOM", "accuracy (reachable)")
    rows = []
    for model, error in zip(models, errors, strict=True):
        theirs = THEIRS.get((model.architecture, model.layers))
        rows.append(
            (
                model.name,
                *(f"{100 * error[name]:.1f}" if name in error else "no frame" for name in COLOURS),
                "" if theirs is None else " / ".join(f"{number:.1f}" for number in theirs),
                f"{model.accuracy:.3f} ({model.reachable:.3f})",
            )
        )
    return Table(f"Mean squared error x100 on held-out sequences; {kind}", columns, tuple(rows))


def findings(
    models: Sequence[TrainedTransformer], errors: Sequence[SurrogateErrors]
) -> tuple[str, ...]:
    """Which surrogate wins, the GAM's place, the frame and the depth, beside the paper's."""
    wins = sum(min(e[LINEAR], e[GAM]) > e[SLALOM] for e in errors)
    share = np.mean([e[SLALOM] / e[LINEAR] for e in errors])
    known = [theirs[2] / theirs[0] for theirs in THEIRS.values()]
    return (
        f"SLALOM has the smallest error of the paper's three on {wins} of {len(errors)} models:"
        f" {share:.2f} of the linear one's on average, in the paper {np.mean(known):.2f}.",
        *_gam_sentence(errors),
        *_frame_sentence(errors),
        *_depth_sentence(models, errors),
    )


def _gam_sentence(errors: Sequence[SurrogateErrors]) -> list[str]:
    ratio = float(np.mean([e[GAM] / e[LINEAR] for e in errors]))
    theirs = float(np.mean([gam / linear for linear, gam, _ in THEIRS.values()]))
    said = (
        f"The GAM's error is {ratio:.2f} of the linear one's on average, the paper's {theirs:.2f}."
    )
    if ratio < 1.1:
        said += (
            " A linear model is a GAM with equal weights at all places, so with enough sequences"
            " and a light penalty it need not be worse."
        )
    return [said]


def _frame_sentence(errors: Sequence[SurrogateErrors]) -> list[str]:
    framed = [e[FRAMED] / e[SLALOM] for e in errors if FRAMED in e]
    if not framed:
        return []
    return [
        f"With a player for the special tokens, SLALOM's error is {np.mean(framed):.2f} of what it"
        " is without (models with [CLS] and [SEP]; not in the paper)."
    ]


def _depth_sentence(
    models: Sequence[TrainedTransformer], errors: Sequence[SurrogateErrors]
) -> list[str]:
    """Whether more layers are harder to follow."""
    by_depth = {(m.architecture, m.layers): e[SLALOM] for m, e in zip(models, errors, strict=True)}
    least, most = min(m.layers for m in models), max(m.layers for m in models)
    if least == most:
        return []
    kinds = [m.architecture for m in models if m.layers == least]
    harder = sum(by_depth[kind, most] > by_depth[kind, least] for kind in kinds)
    return [
        f"From {least} to {most} layers SLALOM's error grows for {harder} of {len(kinds)}"
        " architectures; in the paper, from 1 to 12, for all three."
    ]


def draw(
    models: Sequence[TrainedTransformer], errors_by_kind: Mapping[str, Sequence[SurrogateErrors]]
) -> Figure:
    """Bars by model and surrogate, a panel for each kind of sequence."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, len(errors_by_kind))
    places, width = np.arange(len(models)), 0.8 / len(COLOURS)
    for axes, (kind, errors) in zip(np.ravel(panels), errors_by_kind.items(), strict=True):
        for offset, (name, colour) in enumerate(COLOURS.items()):
            heights = [100 * error.get(name, np.nan) for error in errors]
            axes.bar(places + offset * width, heights, width, color=colour, label=name)
        axes.set_title(kind, fontsize=9)
        axes.set_xticks(places + 1.5 * width, [m.name for m in models], rotation=35, ha="right")
        axes.set_ylabel("mean squared error x100 (log-odds²)")
        axes.tick_params(axis="x", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    handles, names = np.ravel(panels)[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return figure
