"""Tables 7 and 8: is a known SLALOM recovered from transformers that learnt it from labels?

Each transformer is trained on texts whose labels follow a SLALOM; a SLALOM is fitted to its
log-odds; both its log-odds and its parameters are compared with the first one's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import sparse

from papers.arrays import FloatArray
from papers.experiments.base import Context, Outcome
from papers.experiments.languages import KnownSlalom, Language, known_slalom, slalom_language
from papers.experiments.synthetic import (
    COLOURS,
    SMALL_SLALOM,
    TINY,
    SyntheticTraining,
    TrainedTransformer,
    flat,
    framed,
    log_odds,
    not_used,
    of_counts,
    transformers_of,
)
from papers.experiments.synthetic import PAPER as PAPER_TRAINING
from papers.tables import Table
from piste.models import Classifier
from piste.surrogates import SgdSettings, SlalomModel, fit_gauss_newton, fit_sgd

SGD, NEWTON, FRAMED = "SGD", "Gauss-Newton", "Gauss-Newton + frame"
ITSELF = "the SLALOM itself"
EXACT = 1e-6  # an error that counts as none
PAPER_LOGITS, PAPER_PARAMETERS = (0.001, 0.017), (0.09, 1.65)
Fit = Callable[[sparse.csr_array, FloatArray, int], SlalomModel]  # counts, log-odds, seed


@dataclass(frozen=True)
class RecoverySettings:
    """Sizes of the experiment."""

    training: SyntheticTraining
    layers: tuple[int, ...]
    known: KnownSlalom = KnownSlalom()
    sequences: int = 5000  # that a SLALOM is fitted to
    held_out: int = 2000
    sgd: SgdSettings = field(default_factory=SgdSettings)


SETTINGS = {
    "tiny": RecoverySettings(TINY, (1,), KnownSlalom(words=5), 200, 50, SgdSettings(epochs=1)),
    "small": RecoverySettings(SMALL_SLALOM, (1, 2)),
    "paper": RecoverySettings(PAPER_TRAINING, (1, 2, 6, 12)),
}


@dataclass(frozen=True, eq=False)
class Recovery:
    """A fitted SLALOM, and its mean squared errors."""

    model: SlalomModel  # importances sum to 0
    logits: float  # against the true log-odds, on held-out sequences
    to_model: float  # against the classifier's log-odds, on the same
    values: float  # against the true values
    importances: float

    @property
    def parameters(self) -> float:
        return (self.values + self.importances) / 2


@dataclass(frozen=True, eq=False)
class RecoveryFits:
    """One classifier: how far it is from the truth itself, and the fits to it."""

    own: float  # mean squared error of its log-odds
    fits: dict[str, Recovery]


def run(context: Context, settings: RecoverySettings) -> Outcome:
    """Train, fit, and compare with the truth."""
    settings = replace(settings, known=replace(settings.known, seed=context.seed))
    language, truth = slalom_language(settings.known), known_slalom(settings.known)
    models = transformers_of(context, language, settings.training, settings.layers)
    classifiers = {ITSELF: as_classifier(language, truth)}
    classifiers |= {model.name: model.classifier for model in models}
    by_model = {}
    for name, classifier in classifiers.items():
        context.say(f"fitting a SLALOM to {name}")
        by_model[name] = measure(classifier, language, truth, settings, context.seed)
    return Outcome(
        tables=(logits_table(by_model, models), parameters_table(by_model)),
        figures={"table7_8": draw(by_model, models, truth)},
        settings=flat(settings),
        findings=(*findings(by_model), *not_used(context)),
    )


def as_classifier(language: Language, truth: SlalomModel) -> Classifier:
    """The known SLALOM as something to ask: what a fit makes of a perfect pupil."""
    return of_counts(language, lambda counts: truth.predict(sparse.csr_array(counts))[:, 0], ITSELF)


def sampled_fits(sgd: SgdSettings, *, frame: bool) -> dict[str, Fit]:
    """The fits to random sequences; one with the special tokens as a player where there are any."""

    def newton(counts: sparse.csr_array, answers: FloatArray, *, framed: bool) -> SlalomModel:
        return fit_gauss_newton(counts, answers[:, None], frame=framed)[0]

    fits: dict[str, Fit] = {
        SGD: lambda counts, answers, seed: fit_sgd(
            counts, answers[:, None], settings=sgd, seed=seed
        )[0],
        NEWTON: lambda counts, answers, _: newton(counts, answers, framed=False),
    }
    if frame:
        fits[FRAMED] = lambda counts, answers, _: newton(counts, answers, framed=True)
    return fits


def measure(
    classifier: Classifier,
    language: Language,
    truth: SlalomModel,
    settings: RecoverySettings,
    seed: int,
) -> RecoveryFits:
    """Fit a SLALOM in every way to one classifier, and compare each with the truth."""
    rng = np.random.default_rng(seed)
    rows, fresh = (language.rows(rng, n) for n in (settings.sequences, settings.held_out))
    answers, wanted = log_odds(classifier, language, rows), log_odds(classifier, language, fresh)
    true, counts = language.truth(fresh), language.counts(fresh)
    frame = framed(classifier)
    fits = {}
    for name, fit in sampled_fits(settings.sgd, frame=frame).items():
        model = fit(language.counts(rows), answers, seed).normalised(0.0)
        guess = model.predict(counts)[:, 0]
        errors = parameter_errors(model, truth)
        fits[name] = Recovery(model, squared(guess, true), squared(guess, wanted), *errors)
    return RecoveryFits(squared(wanted, true), fits)


def parameter_errors(model: SlalomModel, truth: SlalomModel) -> tuple[float, float]:
    """Mean squared errors of values (of each word alone) and of importances, both summing to 0."""
    return (
        squared(model.alone()[:, 0], truth.alone()[:, 0]),
        squared(model.normalised(0.0).importances, truth.normalised(0.0).importances),
    )


def squared(one: FloatArray, other: FloatArray) -> float:
    """Their mean squared difference."""
    return float(np.mean((one - other) ** 2))


def logits_table(
    by_model: Mapping[str, RecoveryFits], models: Sequence[TrainedTransformer]
) -> Table:
    """Table 7: errors of log-odds."""
    accuracy = {model.name: f"{model.accuracy:.3f} ({model.reachable:.3f})" for model in models}
    columns = ("model", "model itself", SGD, NEWTON, FRAMED, "paper", "accuracy (reachable)")
    rows = []
    for name, one in by_model.items():
        cells = [_pair(one.fits[fit]) if fit in one.fits else "" for fit in (SGD, NEWTON, FRAMED)]
        theirs = "" if name == ITSELF else "{:.3f}-{:.3f}".format(*PAPER_LOGITS)
        rows.append((name, f"{one.own:.3f}", *cells, theirs, accuracy.get(name, "")))
    title = (
        "Table 7: mean squared error of log-odds against the true SLALOM"
        " (in brackets: of the fit against the model it explains)"
    )
    return Table(title, columns, tuple(rows))


def _pair(one: Recovery) -> str:
    return f"{one.logits:.3f} ({one.to_model:.3f})"


def parameters_table(by_model: Mapping[str, RecoveryFits]) -> Table:
    """Table 8: errors of parameters."""
    columns = ("model", "fit", "values", "importances", "both", "paper")
    rows = []
    for name, one in by_model.items():
        theirs = "" if name == ITSELF else "{:.2f}-{:.2f}".format(*PAPER_PARAMETERS)
        for fit, recovery in one.fits.items():
            numbers = (recovery.values, recovery.importances, recovery.parameters)
            rows.append((name, fit, *(f"{number:.2f}" for number in numbers), theirs))
    title = "Table 8: mean squared error of the parameters, importances summing to 0"
    return Table(title, columns, tuple(rows))


def findings(by_model: Mapping[str, RecoveryFits]) -> tuple[str, ...]:
    """Our ranges beside the paper's, and where the errors come from."""
    learnt = {name: one for name, one in by_model.items() if name != ITSELF}
    fits = [one.fits[NEWTON] for one in learnt.values()]
    said = [
        _range_sentence("log-odds", [fit.logits for fit in fits], PAPER_LOGITS),
        _range_sentence("parameters", [fit.parameters for fit in fits], PAPER_PARAMETERS),
    ]
    return (*said, _nearer_sentence(list(learnt.values())), *_exact_sentence(by_model.get(ITSELF)))


def _nearer_sentence(learnt: Sequence[RecoveryFits]) -> str:
    nearer = sum(one.fits[NEWTON].logits < one.own for one in learnt)
    said = (
        "The fitted SLALOM is nearer to the truth than the transformer that it was fitted to for"
        f" {nearer} of {len(learnt)} models"
    )
    return f"{said}: it leaves out what is not SLALOM." if nearer == len(learnt) else f"{said}."


def _exact_sentence(itself: RecoveryFits | None) -> list[str]:
    if itself is None:
        return []
    logits, parameters = itself.fits[NEWTON].logits, itself.fits[NEWTON].parameters
    said = (
        f"Asked directly, the SLALOM itself is recovered to {logits:.0e} in log-odds and"
        f" {parameters:.0e} in parameters"
    )
    small = logits < EXACT and parameters < EXACT
    return [f"{said}: the errors above are the models', not the fit's." if small else f"{said}."]


def _range_sentence(what: str, ours: Sequence[float], theirs: tuple[float, float]) -> str:
    low, high = min(ours), max(ours)
    if low > theirs[1]:
        place = "above the paper's range"
    elif high < theirs[0]:
        place = "below the paper's range"
    else:
        inside = theirs[0] <= low and high <= theirs[1]
        place = "inside the paper's range" if inside else "overlapping the paper's range"
    return (
        f"Mean squared errors of {what} run from {low:.3f} to {high:.3f} (Gauss-Newton),"
        f" {place} of {theirs[0]:g} to {theirs[1]:g}."
    )


def draw(
    by_model: Mapping[str, RecoveryFits], models: Sequence[TrainedTransformer], truth: SlalomModel
) -> Figure:
    """Recovered against true, values on the left, importances on the right."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for model in models:
        fitted = by_model[model.name].fits[NEWTON].model
        _points(left, truth.values[:, 0], fitted.values[:, 0], model)
        _points(right, truth.importances, fitted.importances, model)
    for axes, what in ((left, "value (log-odds)"), (right, "importance")):
        axes.axline((0, 0), slope=1, color="black", lw=0.8, ls=":")
        axes.set_xlabel(f"true {what}")
        axes.set_ylabel(f"recovered {what}")
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False, fontsize=8)
    return figure


def _points(axes: Axes, true: FloatArray, fitted: FloatArray, model: TrainedTransformer) -> None:
    colour, marker = COLOURS[model.architecture], "os^D"[(model.layers - 1) % 4]
    axes.scatter(true, fitted, s=22, color=colour, marker=marker, alpha=0.8, label=model.name)
