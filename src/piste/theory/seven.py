"""The seven explanations that arXiv 2402.03485 compares, of one text of the single-layer model."""

from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

from piste.explanation import FloatArray
from piste.ragged import IntArray
from piste.theory import closed_forms
from piste.theory.single_layer import SingleLayer

NAMES = ("alpha-avg", "alpha-max", "G-avg", "G-l1", "G-l2", "GxI", "LIME")
SIGNED = ("G-avg", "GxI", "LIME")  # the others have no side


def seven(module: SingleLayer, ids: IntArray) -> dict[str, FloatArray]:
    """Scores of each word, in the order of `Removal.words`; all in closed form.

    Attention (mean and largest over heads), the gradient of f at the word's embedding (its mean,
    L1 and L2 norm, and its product with the embedding), and LIME for endless samples.
    """
    reading = closed_forms.read_text(module, ids)
    slope = closed_forms.gradient(module, ids)  # [window, width]
    positions = {
        "alpha-avg": closed_forms.alpha_avg(module, ids),
        "alpha-max": closed_forms.alpha_max(module, ids),
        "G-avg": slope.mean(axis=1),
        "G-l1": np.abs(slope).sum(axis=1),
        "G-l2": np.sqrt((slope**2).sum(axis=1)),
        "GxI": (slope * closed_forms.embed(module, ids)).sum(axis=1),
    }
    scores = {name: reading.per_word(numbers) for name, numbers in positions.items()}
    return scores | {"LIME": closed_forms.lime_integral(reading)}


def rank_correlations(scores: dict[str, FloatArray]) -> dict[tuple[str, str], float]:
    """Spearman's correlation of every pair of explanations."""
    return {
        (one, other): float(spearmanr(scores[one], scores[other]).statistic)
        for one, other in combinations(scores, 2)
    }
