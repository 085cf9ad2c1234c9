"""An open question of arXiv 2402.03485: does its LIME formula survive layers, skips, ReLUs?

The closed forms are asked about the reading layer alone, on the hidden states it sees for the text
and for the text with every word removed, and compared with LIME itself (every subset, large
bandwidth). 1 would be LIME exactly, up to scale.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from papers.arrays import FloatArray
from papers.tables import Table
from papers.theory.closed_forms import lime_integral, three_halves
from papers.theory.deeper import TOY_SHAPE, Deeper, Depth, deeper, read_deeper, trained_deeper
from papers.theory.lime_by_subsets import Removal, exact_lime
from papers.theory.toy import VOCABULARY, distinct_words

TEXT_WORDS = 10
DEPTHS = {
    "the paper's model": Depth(),
    "+ 1 attention layer": Depth(1),
    "... with a skip": Depth(1, skip=True),
    "... with skip and ReLU": Depth(1, skip=True, relu=True),
    "... with skip, ReLU and normalisation": Depth(1, skip=True, relu=True, norm=True),
    "+ 2 such layers": Depth(2, skip=True, relu=True, norm=True),
    "+ 4 such layers": Depth(4, skip=True, relu=True, norm=True),
}
Maker = Callable[[Depth, int], Deeper]


def random_model(depth: Depth, seed: int) -> Deeper:
    return deeper(VOCABULARY, TOY_SHAPE, depth, seed)


def trained_model(depth: Depth, seed: int) -> Deeper:
    return trained_deeper(TOY_SHAPE, depth, seed)


def correlations(make: Maker, depth: Depth, models: int, texts: int = 3) -> FloatArray:
    """Of each text's LIME with the 3/2 rule and with the integral [models * texts, 2]."""
    rows = [_compare(make(depth, seed), seed, texts) for seed in range(models)]
    return np.array([pair for model in rows for pair in model])


def lime_in_depth(models: int = 3, depths: Mapping[str, Depth] = DEPTHS) -> Table:
    """The formula against LIME for each depth, with random and with trained weights."""
    rows = []
    for name, depth in depths.items():
        parts = [correlations(make, depth, models) for make in (random_model, trained_model)]
        cells = [f"{column.mean():.2f} ({column.min():.2f})" for part in parts for column in part.T]
        rows.append((name, *cells))
    columns = ("model", "3/2, random", "integral, random", "3/2, trained", "integral, trained")
    title = f"Correlation with LIME: mean (least) over {models} models and 3 texts each"
    return Table(title, columns, tuple(rows))


def _compare(model: Deeper, seed: int, texts: int) -> Iterator[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    for _ in range(texts):
        ids = distinct_words(rng, TEXT_WORDS)
        truth = exact_lime(Removal(model, ids), TEXT_WORDS)
        reading = read_deeper(model, ids)
        forms = (three_halves(reading), lime_integral(reading))
        rule, integral = (float(np.corrcoef(form, truth)[0, 1]) for form in forms)
        yield rule, integral
