"""The claims of "Attention Mechanisms Don't Learn Additive Models" (arXiv 2405.13536), checked."""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from papers.arrays import FloatArray, IntArray
from papers.tables import SLALOM_PAPER, Finding
from papers.theory import repetition, slalom_bert, slalom_transformer
from piste import surrogates

Answer = Callable[[IntArray], FloatArray]  # ids [rows, length] -> F [rows]
TOKENS = range(1, 9)
KINDS = ("encoder", "decoder")
WORDS = 30
SHAPES: tuple[Mapping[str, int], ...] = (
    {},
    {"heads": 4},
    {"layers": 3, "heads": 2, "head_size": 8},
)


def runs_are_alike() -> Finding:
    shapes = [(kind, layers, heads) for kind in KINDS for layers in (1, 3) for heads in (1, 4)]
    spread = max(
        repetition.run_spread(getattr(repetition, kind)(layers, heads), TOKENS)
        for kind, layers, heads in shapes
    )
    control = min(
        repetition.run_spread(getattr(repetition, kind)(1, positions=True), TOKENS)
        for kind in KINDS
    )
    return Finding(
        SLALOM_PAPER,
        "Encoders and decoders of any depth answer (t), (t, t), ... alike (Prop. 4.1)",
        f"largest difference {spread:.0e} over {len(shapes)} models, runs of 1 to 8;"
        f" with positional embeddings {control:.1f}",
        spread < 1e-9 and control > 0.01,
    )


def no_additive_model() -> Finding:
    answers = [repetition.read_out(getattr(repetition, kind)(2)) for kind in KINDS]
    weight = max(float(np.abs(repetition.forced_weights(a, TOKENS)).max()) for a in answers)
    left = min(repetition.gam_residual(answer, TOKENS) for answer in answers)
    return Finding(
        SLALOM_PAPER,
        "So no linear model or GAM with a weight other than 0 agrees with them (Cor. 4.2)",
        f"the weights that runs allow: {weight:.0e} at most; the best GAM on tokens and places"
        f" leaves {left:.0%} of the deviation",
        weight < 1e-8 and left > 0.05,
    )


def transformer_is_slalom() -> Finding:
    worst = max(_distance(_own_transformer(settings)) for settings in SHAPES)
    return Finding(
        SLALOM_PAPER,
        "A transformer can be exactly a given SLALOM (Prop. 5.1)",
        f"own transformer, {len(SHAPES)} shapes up to 3 layers and 4 heads: largest difference"
        f" {worst:.0e}",
        worst < 1e-9,
    )


def bert_is_slalom() -> Finding:
    worst = max(_distance(_bert(settings)) for settings in SHAPES)
    return Finding(
        SLALOM_PAPER,
        "The same with the BERT of transformers, normalisation and tanh included",
        f"{len(SHAPES)} shapes: largest difference {worst:.0e}",
        worst < 1e-8,
    )


def slalom_is_recovered() -> Finding:
    values, importances = _planted()
    answer = _own_transformer({"layers": 2, "heads": 2})
    singles = answer(np.arange(WORDS)[:, None])
    references = surrogates.choose_references(singles)
    others = np.flatnonzero(references.partner >= 0)
    pairs = np.zeros(WORDS)
    pairs[others] = answer(np.stack([others, references.partner[others]], axis=1))
    model, _ = surrogates.solve_pairs(singles, references, pairs)
    error = max(
        float(np.abs(model.values[:, 0] - values).max()),
        float(np.abs(_centred(model.importances) - _centred(importances)).max()),
    )
    answers = WORDS + len(others)
    return Finding(
        SLALOM_PAPER,
        "2 |V| - 1 answers recover every value and importance (Prop. 5.2)",
        f"|V| = {WORDS}: {answers} answers, largest error {error:.0e}",
        error < 1e-6 and answers == 2 * WORDS - 1,
    )


CHECKS = (
    runs_are_alike,
    no_additive_model,
    transformer_is_slalom,
    bert_is_slalom,
    slalom_is_recovered,
)


def _planted() -> tuple[FloatArray, FloatArray]:
    """Values and importances [words]."""
    rng = np.random.default_rng(0)
    return rng.normal(size=WORDS), rng.normal(size=WORDS)


def _own_transformer(settings: Mapping[str, int]) -> Answer:
    values, importances = map(torch.from_numpy, _planted())
    module = slalom_transformer.SlalomTransformer(values, importances, **settings)
    return lambda ids: _numpy(module(torch.from_numpy(ids)))


def _bert(settings: Mapping[str, int]) -> Answer:
    values, importances = map(torch.from_numpy, _planted())
    model = slalom_bert.slalom_bert(values, importances, **{"head_size": 6, **settings})

    def answer(ids: IntArray) -> FloatArray:
        framed = np.column_stack([np.full(len(ids), WORDS), ids])
        logits = _numpy(model(torch.from_numpy(framed)).logits)
        return np.asarray(logits[:, 1] - logits[:, 0])

    return answer


def _distance(answer: Answer) -> float:
    """From the formula, on random sequences of seven."""
    values, importances = _planted()
    ids = np.random.default_rng(1).integers(WORDS, size=(50, 7))
    weights = np.exp(importances[ids])
    formula = (weights * values[ids]).sum(axis=1) / weights.sum(axis=1)
    return float(np.abs(answer(ids) - formula).max())


def _centred(numbers: FloatArray) -> FloatArray:
    return np.asarray(numbers - numbers.mean())


def _numpy(tensor: torch.Tensor) -> FloatArray:
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)
