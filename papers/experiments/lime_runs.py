"""Runs of LIME, the closed forms that they should scatter around, and how far off they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from papers.arrays import FloatArray, IntArray
from papers.theory.closed_forms import lime_integral, read_text, three_halves
from papers.theory.single_layer import SingleLayer
from papers.theory.single_layer_classifier import SingleLayerClassifier
from piste import Lime, explain

POSITIVE = 1  # the label whose log-odds f is


@dataclass(frozen=True)
class Forms:
    """What LIME tends to [words], distinct words in the order of their ids."""

    words: IntArray  # their ids
    exact: FloatArray  # the integral
    rule: FloatArray  # the paper's 3/2 approximation


@dataclass(frozen=True)
class LimeErrors:
    """How far runs of one size are from the closed forms, relative to the exact one's norm."""

    samples: int
    width: float
    one_run: float  # the mean over runs, against the exact form
    mean: float  # the mean of the runs, against the exact form
    rule: float  # the mean of the runs, against the 3/2 rule
    spread: float  # of one coefficient between runs: the root mean square over words


@dataclass(frozen=True)
class RuleFit:
    """How near the 3/2 rule comes to the exact form."""

    correlation: float
    distance: float  # relative to the exact form's norm
    slope: float  # the exact form is about so many times the rule


def closed_forms(module: SingleLayer, ids: IntArray) -> Forms:
    """Both closed forms for a text [length], [CLS] first."""
    reading = read_text(module, ids)
    return Forms(np.unique(ids[1:]), lime_integral(reading), three_halves(reading))


def lime_runs(
    classifier: SingleLayerClassifier, text: str, method: Lime, seeds: Iterable[int]
) -> FloatArray:
    """Coefficients [seeds, words] of the distinct words, in the order of their ids."""
    runs = []
    for seed in seeds:
        explanation = explain(text, classifier, method, target=POSITIVE, seed=seed)
        pairs = zip(explanation.players, explanation.scores["weight"].tolist(), strict=True)
        weights = {player.ids[0]: weight for player, weight in pairs}
        runs.append([weights[number] for number in sorted(weights)])
    return np.array(runs)


def measure(runs: FloatArray, forms: Forms, samples: int, width: float = math.inf) -> LimeErrors:
    """Distances of runs [runs, words] from the closed forms."""
    size = float(np.linalg.norm(forms.exact))
    mean = runs.mean(axis=0)
    spread = runs.std(axis=0, ddof=1) if len(runs) > 1 else np.full(len(mean), math.nan)
    return LimeErrors(
        samples=samples,
        width=width,
        one_run=float(np.linalg.norm(runs - forms.exact, axis=1).mean()) / size,
        mean=float(np.linalg.norm(mean - forms.exact)) / size,
        rule=float(np.linalg.norm(mean - forms.rule)) / size,
        spread=float(np.sqrt((spread**2).mean())),
    )


def of_large_width(errors: Sequence[LimeErrors]) -> list[LimeErrors]:
    """Those that the closed forms speak of, in the order of their samples."""
    return [one for one in errors if math.isinf(one.width)]


def rate(errors: Sequence[LimeErrors]) -> float:
    """The power of the samples with which one run's error falls: -1/2 for pure sampling noise."""
    wide = of_large_width(errors)
    if len(wide) < 2:
        return math.nan
    logs = np.log([[one.samples, one.one_run] for one in wide])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def rule_fit(forms: Forms) -> RuleFit:
    """The 3/2 rule against the exact form."""
    rule, exact = forms.rule, forms.exact
    return RuleFit(
        correlation=float(np.corrcoef(rule, exact)[0, 1]),
        distance=float(np.linalg.norm(rule - exact) / np.linalg.norm(exact)),
        slope=float(rule @ exact / (rule @ rule)),
    )


def within(runs: FloatArray, exact: FloatArray) -> NDArray[np.bool_]:
    """Whether the exact form is in the 95 % interval of the runs' mean, for each word [words]."""
    error = runs.std(axis=0, ddof=1) / math.sqrt(len(runs))
    reach = float(student.ppf(0.975, len(runs) - 1))
    return np.asarray(np.abs(runs.mean(axis=0) - exact) <= reach * error)
