"""Figure 9: SLALOM-Ana's closed form against sampled fits, as the context grows.

The sampled fits see random sequences of up to as many words as the context; the closed form
always asks single words and pairs. All are tried on sequences of exactly that many words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from scipy import sparse

from papers.arrays import FloatArray
from papers.experiments.base import Context, Outcome
from papers.experiments.languages import (
    KnownSlalom,
    Language,
    exactly,
    known_slalom,
    slalom_language,
    up_to,
)
from papers.experiments.synthetic import PAPER as PAPER_TRAINING
from papers.experiments.synthetic import (
    SMALL_SLALOM,
    TINY,
    SyntheticTraining,
    flat,
    log_odds,
    not_used,
    transformers_of,
)
from papers.experiments.table7_8 import NEWTON, SGD, parameter_errors, sampled_fits, squared
from papers.tables import Table
from piste.design import pairs, singles
from piste.models import Classifier
from piste.surrogates import SgdSettings, SlalomModel, choose_references, solve_pairs

ANA, FRUGAL = "Ana", "Gauss-Newton, Ana's budget"
STYLES = {ANA: ("#D55E00", "o-"), SGD: ("#0072B2", "s-"), NEWTON: ("#009E73", "^--")}
GROWS = 2.0  # times the error of the shortest context: more is growth
ALIKE = 2.0  # times one another: less is alike


@dataclass(frozen=True)
class Fig9Settings:
    """Sizes of the experiment."""

    training: SyntheticTraining
    layers: tuple[int, ...]
    known: KnownSlalom = KnownSlalom()
    contexts: tuple[int, ...] = (2, 5, 10, 20, 30)  # words
    sequences: int = 5000  # of a sampled fit
    held_out: int = 1000  # of each context
    draws: int = 10  # of the fits at Ana's budget, whose mean is reported
    sgd: SgdSettings = field(default_factory=SgdSettings)


SETTINGS = {
    "tiny": Fig9Settings(
        TINY, (1,), KnownSlalom(words=5), (2, 6), 200, 50, 2, SgdSettings(epochs=1)
    ),
    "small": Fig9Settings(SMALL_SLALOM, (2,)),
    "paper": Fig9Settings(PAPER_TRAINING, (1, 2, 6, 12)),
}


@dataclass(frozen=True)
class Point:
    """Mean squared errors of one fit at one context."""

    logits: float  # against the classifier
    true_logits: float  # against the known SLALOM
    parameters: float  # against the known SLALOM: mean of values' and importances'


Curves = dict[str, list[Point]]  # by fit: a point each context


def run(context: Context, settings: Fig9Settings) -> Outcome:
    """Train, fit in every way, and draw."""
    settings = replace(settings, known=replace(settings.known, seed=context.seed))
    language, truth = slalom_language(settings.known), known_slalom(settings.known)
    by_model, doubtful = {}, {}
    for model in transformers_of(context, language, settings.training, settings.layers):
        context.say(f"fitting {model.name}")
        ana, doubtful[model.name] = closed_form(model.classifier, language)
        by_model[model.name] = measure(
            model.classifier, language, truth, ana, settings, context.seed
        )
    return Outcome(
        tables=(
            table("logits", "log-odds against the model", by_model, settings.contexts),
            table("true_logits", "log-odds against the true SLALOM", by_model, settings.contexts),
            table("parameters", "parameters", by_model, settings.contexts),
        ),
        figures={"fig9": draw(by_model, settings.contexts)},
        settings=flat(settings) | {"sequences of Ana": 2 * settings.known.words - 1},
        findings=(*findings(by_model, settings.contexts, doubtful), *not_used(context)),
    )


def closed_form(classifier: Classifier, language: Language) -> tuple[SlalomModel, int]:
    """SLALOM-Ana over all words, and for how many words a pair's answer made no sense."""
    count = len(language.words)
    values = log_odds(classifier, language, singles(count))
    references = choose_references(values)
    others = np.flatnonzero(references.partner >= 0)
    answers = values.copy()
    rows = pairs(others.astype(np.int64), references.partner[others])
    answers[others] = log_odds(classifier, language, rows)
    model, doubtful = solve_pairs(values, references, answers)
    return model, len(doubtful)


def measure(
    classifier: Classifier,
    language: Language,
    truth: SlalomModel,
    ana: SlalomModel,
    settings: Fig9Settings,
    seed: int,
) -> Curves:
    """The errors of every fit to one classifier at each context."""
    curves: Curves = {name: [] for name in (ANA, SGD, NEWTON, FRUGAL)}
    for words in settings.contexts:
        rng = np.random.default_rng([seed, words])
        held_out = _HeldOut(classifier, language, truth, words, settings.held_out, rng)
        rows = language.rows(rng, settings.sequences, up_to(words))
        answers = log_odds(classifier, language, rows)
        models = fitted(language.counts(rows), answers, settings, seed) | {ANA: [ana]}
        for name, some in models.items():
            curves[name].append(_mean([held_out.point(model) for model in some]))
    return curves


def fitted(
    counts: sparse.csr_array, answers: FloatArray, settings: Fig9Settings, seed: int
) -> dict[str, list[SlalomModel]]:
    """A model from all sequences for each sampled fit, and several from as few as Ana asks."""
    fits = sampled_fits(settings.sgd, frame=False)
    few = 2 * counts.shape[1] - 1
    parts = [slice(few * draw, few * (draw + 1)) for draw in range(settings.draws)]
    models = {name: [fit(counts, answers, seed)] for name, fit in fits.items()}
    models[FRUGAL] = [fits[NEWTON](counts[part], answers[part], seed) for part in parts]
    return models


class _HeldOut:
    """Held-out sequences of one context, with the model's answers and the true ones."""

    def __init__(
        self,
        classifier: Classifier,
        language: Language,
        truth: SlalomModel,
        words: int,
        held_out: int,
        rng: np.random.Generator,
    ) -> None:
        rows = language.rows(rng, held_out, exactly(words))
        self.counts, self.truth = language.counts(rows), truth
        self.answers, self.true = log_odds(classifier, language, rows), language.truth(rows)

    def point(self, model: SlalomModel) -> Point:
        guess = model.predict(self.counts)[:, 0]
        parameters = float(np.mean(parameter_errors(model, self.truth)))
        return Point(squared(guess, self.answers), squared(guess, self.true), parameters)


def _mean(points: Sequence[Point]) -> Point:
    columns = [[p.logits, p.true_logits, p.parameters] for p in points]
    return Point(*(float(number) for number in np.mean(columns, axis=0)))


def curve(points: Sequence[Point], error: str) -> FloatArray:
    """One error of a fit at each context [contexts]."""
    return np.array([getattr(point, error) for point in points])


def table(error: str, what: str, by_model: Mapping[str, Curves], contexts: Sequence[int]) -> Table:
    """A row each model and fit, a column each context."""
    rows = [
        (name, fit, *(f"{number:.3f}" for number in curve(points, error)))
        for name, curves in by_model.items()
        for fit, points in curves.items()
    ]
    columns = ("model", "fit", *(f"{words} words" for words in contexts))
    return Table(f"Mean squared error of {what}, by context", columns, tuple(rows))


def findings(
    by_model: Mapping[str, Curves], contexts: Sequence[int], doubtful: Mapping[str, int]
) -> tuple[str, ...]:
    """Parameters alike or not, log-odds growing or flat, beside what the paper shows."""
    grows = {fit: _growing(by_model, fit) for fit in (ANA, SGD, NEWTON)}
    share = ", ".join(f"{fit} {number:.1f}" for fit, number in _growths(by_model).items())
    alike = sum(_are_alike(curves) for curves in by_model.values())
    unclear = {name: number for name, number in doubtful.items() if number}
    said = [
        f"Parameters: Ana's error and SGD's are alike (within a factor of {ALIKE:g}, mean over"
        f" contexts) for {alike} of {len(by_model)} models; in the paper they are alike.",
        f"Log-odds: from {contexts[0]} to {contexts[-1]} words the error grows (by more than"
        f" {GROWS:g} times) for {grows[ANA]} of {len(by_model)} models with Ana, for"
        f" {grows[SGD]} with SGD, for {grows[NEWTON]} with Gauss-Newton. In the paper Ana's"
        " grows, SGD's stays flat.",
        f"Ratio of the error at {contexts[-1]} words to that at {contexts[0]}, typical model:"
        f" {share}. At {contexts[-1]} words Ana's error is {_against(by_model):.1f} times SGD's.",
    ]
    if unclear:
        listed = "; ".join(f"{name} {number}" for name, number in unclear.items())
        said.append(f"Words whose pair answered outside the range of its parts: {listed}.")
    return tuple(said)


def _growing(by_model: Mapping[str, Curves], fit: str) -> int:
    curves = [curve(curves[fit], "logits") for curves in by_model.values()]
    return sum(bool(numbers[-1] > GROWS * numbers[0]) for numbers in curves)


def _growths(by_model: Mapping[str, Curves]) -> dict[str, float]:
    """The median over models of the last error over the first."""
    ends = {fit: [curve(c[fit], "logits")[[0, -1]] for c in by_model.values()] for fit in STYLES}
    return {fit: float(np.median([last / first for first, last in e])) for fit, e in ends.items()}


def _against(by_model: Mapping[str, Curves]) -> float:
    """Ana's error over SGD's at the longest context, the median over models."""
    return float(np.median([c[ANA][-1].logits / c[SGD][-1].logits for c in by_model.values()]))


def _are_alike(curves: Curves) -> bool:
    ana, sgd = (float(curve(curves[fit], "parameters").mean()) for fit in (ANA, SGD))
    return max(ana, sgd) <= ALIKE * min(ana, sgd)


def draw(by_model: Mapping[str, Curves], contexts: Sequence[int]) -> Figure:
    """Parameters above, log-odds below; a column each model."""
    figure = Figure(figsize=(3.2 * len(by_model), 5.4), layout="constrained")
    panels = np.atleast_2d(figure.subplots(2, len(by_model), sharex=True, sharey="row"))
    panels = panels.reshape(2, len(by_model))
    whats = (("parameters", "of parameters"), ("logits", "of log-odds"))
    for place, (name, curves) in enumerate(by_model.items()):
        panels[0, place].set_title(name, fontsize=10)
        panels[1, place].set_xlabel("context (words)")
        for axes, (error, _) in zip(panels[:, place], whats, strict=True):
            for fit, (colour, style) in STYLES.items():
                numbers = curve(curves[fit], error)
                axes.plot(contexts, numbers, style, color=colour, label=fit, ms=4)
            _plain_log_scale(axes)
            axes.spines[["top", "right"]].set_visible(False)
    for axes, (_, what) in zip(panels[:, 0], whats, strict=True):
        axes.set_ylabel(f"mean squared error\n{what}")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return figure


def _plain_log_scale(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
