"""An open question of arXiv 2402.03485: when does attention agree with removing words?

Replacing word t by [UNK] in place changes a head's answer F by exactly

    (g_t (u_t - F) - h_t (u_h - F)) / (D - g_t + h_t),    D = sum of all weights,

with g, u the word's weight and effect, h, u_h those of [UNK]. Attention is g_t / D alone. So it
ranks words by what their removal does only where the rest is alike for all words, or where
attention differs so much from word to word that the rest no longer matters. Measured here:
Spearman's rank correlation of the mean attention over heads with the size of the change.
"""

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np
import torch
from torch import Tensor

from papers.arrays import FloatArray, IntArray, rank_correlation
from papers.tables import Table
from papers.theory.deeper import TOY_SHAPE, Deeper, Depth, deeper, read_deeper, trained_deeper
from papers.theory.lime_by_subsets import Removal
from papers.theory.single_layer import CLS, UNK, Shape, SingleLayer
from papers.theory.toy import FIRST, VOCABULARY, WORDS, distinct_words, toy_rows

Trainer = Callable[[Shape, Depth, int], Deeper]
TEXT_WORDS = 20
# The weight of [UNK] relative to the typical word's, and what the words' scores are times.
SETTINGS = {
    "[UNK] weighs as a word": (1.0, 1.0),
    "[UNK] weighs 0.001": (0.001, 1.0),
    "as a word, scores x 5": (1.0, 5.0),
}
# Effects of a vocabulary of words, from standard normal noise.
EFFECTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "equally strong, on both sides": np.sign,
    "of all strengths, on both sides": lambda noise: noise,
    "equally strong, on one side": np.ones_like,
    "one word in five matters": lambda noise: np.where(np.abs(noise) > 1.28, np.sign(noise), 0.0),
}


def removal_effects(model: Deeper, ids: IntArray) -> FloatArray:
    """f - f without the word [words]."""
    game = Removal(model, ids)
    words = len(game)
    kept = np.concatenate([np.ones((1, words), dtype=bool), ~np.eye(words, dtype=bool)])
    answers = game(kept)
    return np.asarray(answers[0] - answers[1:])


def word_attention(model: Deeper, ids: IntArray) -> FloatArray:
    """The reading layer's attention, mean over heads, summed over a word's places [words]."""
    reading = read_deeper(model, ids)
    alpha = reading.weight / reading.weight.sum(axis=1, keepdims=True)
    return reading.per_word(alpha.mean(axis=0))


@dataclass(frozen=True)
class RemovalAgreement:
    """How attention agrees with removal, mean over texts."""

    size: float  # rank correlation with the size of the removal's effect
    signed: float  # with the effect itself
    attention: float  # deviation between words of log attention
    rest: float  # and of log (size of the effect / attention), which attention does not tell


def agreement(model: Deeper, seed: int, texts: int = 5) -> RemovalAgreement:
    """Attention and removal on random texts."""
    rng = np.random.default_rng(seed)
    rows = [_text_agreement(model, distinct_words(rng, TEXT_WORDS)) for _ in range(texts)]
    return RemovalAgreement(*np.mean(rows, axis=0).tolist())


def _text_agreement(model: Deeper, ids: IntArray) -> tuple[float, ...]:
    attention, effect = word_attention(model, ids), removal_effects(model, ids)
    rest = np.abs(effect) / attention
    return (
        rank_correlation(attention, np.abs(effect)),
        rank_correlation(attention, effect),
        float(np.std(np.log(attention))),
        float(np.std(np.log(rest))),
    )


def planted_model(kind: str, pull: float, sharpness: float, seed: int) -> Deeper:
    """A single layer without positions, with planted effects; that of [UNK] is 0."""
    model = deeper(VOCABULARY, TOY_SHAPE, Depth(), seed)
    noise = np.random.default_rng(seed).normal(size=len(WORDS))
    effects = torch.from_numpy(np.append(0.0, EFFECTS[kind](noise)))
    with torch.no_grad():
        model.reader.positions.zero_()
        _plant(model.reader, effects, math.log(pull), sharpness)
    return model


def attention_and_values(models: int = 6) -> Table:
    """Agreement by the effects of the words, the weight of [UNK] and the sharpness."""
    rows = [
        (kind, *(_planted_agreement(kind, *setting, models) for setting in SETTINGS.values()))
        for kind in EFFECTS
    ]
    title = "Rank correlation of attention and removal, single layer"
    return Table(title, ("effects of the words", *SETTINGS), tuple(rows))


def attention_and_depth(models: int = 3, train: Trainer = trained_deeper) -> Table:
    """Agreement before and after training, by depth."""
    rows = []
    for blocks in (0, 1, 2, 4):
        depth = Depth(blocks, skip=True, relu=True, norm=True)
        start = [deeper(VOCABULARY, TOY_SHAPE, depth, seed) for seed in range(models)]
        end = [train(TOY_SHAPE, depth, seed) for seed in range(models)]
        rows.append((str(blocks + 1), *_cells(start), *_cells(end), _right(end)))
    names = ("with size", "with effect", "spread of attention", "of the rest")
    columns = [f"{name}, {state}" for state in ("random", "trained") for name in names]
    title = "Rank correlation of attention with removal, and spreads of the logs, by depth"
    return Table(title, ("layers", *columns, "labels right, trained"), tuple(rows))


def _planted_agreement(kind: str, pull: float, sharpness: float, models: int) -> str:
    made = [planted_model(kind, pull, sharpness, seed) for seed in range(models)]
    return f"{np.mean([agreement(model, seed).size for seed, model in enumerate(made)]):.2f}"


def _cells(models: list[Deeper]) -> list[str]:
    rows = [astuple(agreement(model, seed)) for seed, model in enumerate(models)]
    return [f"{number:.2f}" for number in np.mean(rows, axis=0)]


def _right(models: list[Deeper]) -> str:
    """How many labels of fresh toy texts the models get right."""
    ids, truth = toy_rows(np.random.default_rng(1000), 1000, TOY_SHAPE.window)
    with torch.inference_mode():
        right = [float(((model(ids) > 0) == truth.bool()).double().mean()) for model in models]
    return f"{np.mean(right):.2f}"


def _plant(reader: SingleLayer, effects: Tensor, log_pull: float, sharpness: float) -> None:
    """Move embeddings by the least that gives [UNK] and the words these effects [1 + words].

    The words' scores are multiplied, and [UNK] gets their mean plus `log_pull`; [CLS] stays.
    """
    tokens = torch.tensor([UNK, *range(FIRST, VOCABULARY)])
    table = reader.embedding.weight[tokens]  # [1 + words, width]
    first = reader.embedding.weight[CLS]
    query = torch.einsum("kae,e->ka", reader.query, first)
    scores = torch.einsum("kae,ka->ke", reader.key, query) / math.sqrt(TOY_SHAPE.key_width)
    wanted = sharpness * table @ scores.T  # [1 + words, heads]
    wanted[0] = wanted[1:].mean(dim=0) + log_pull
    directions = torch.cat([reader.readout, scores])  # [2 heads, width]
    target = torch.cat([effects[:, None].expand(-1, TOY_SHAPE.heads), wanted], dim=1)
    moved = table + (target - table @ directions.T) @ torch.linalg.pinv(directions).T
    reader.embedding.weight[tokens] = moved
