"""Transformers cannot count: the same token once or n times is the same to them.

Proposition 4.1 and Corollary 4.2 of arXiv 2405.13536. Without positional embeddings every token of
a run (tau, tau, ... tau) has the same hidden state in every layer, and attention averages equal
things. So an encoder or a decoder of any depth answers a run of any length alike, and no linear
model or GAM on tokens with a weight other than zero can agree with it. Shown on the BERT and GPT-2
of `transformers`, with random weights.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

from papers.arrays import FloatArray
from papers.theory.single_layer import seeded

Answer = Callable[[Tensor], Tensor]  # ids [rows, length] -> numbers [rows] or [rows, width]
VOCABULARY, WIDTH = 20, 24


def encoder(layers: int = 1, heads: int = 4, *, positions: bool = False, seed: int = 0) -> Answer:
    """A random BERT, read at its first token: ids [rows, length] -> [rows, width]."""
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=2 * WIDTH, initializer_range=0.5,
    )  # fmt: skip
    with seeded(seed):
        model = BertModel(config, add_pooling_layer=False).double().eval()
    if not positions:
        torch.nn.init.zeros_(model.embeddings.position_embeddings.weight)
    return lambda ids: torch.select(model(input_ids=ids).last_hidden_state, 1, 0)


def decoder(layers: int = 1, heads: int = 4, *, positions: bool = False, seed: int = 0) -> Answer:
    """A random GPT-2, read at its last token: ids [rows, length] -> [rows, width]."""
    config = GPT2Config(
        vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=layers, n_head=heads, n_positions=64,
        initializer_range=0.5, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    with seeded(seed):
        model = GPT2Model(config).double().eval()
    if not positions:
        torch.nn.init.zeros_(model.wpe.weight)
    return lambda ids: torch.select(model(input_ids=ids).last_hidden_state, 1, -1)


def read_out(answer: Answer, seed: int = 0) -> Answer:
    """One number from the hidden state: a linear classification head."""
    weight = np.random.default_rng(seed).normal(size=WIDTH)
    return lambda ids: answer(ids) @ torch.from_numpy(weight)


def run_spread(answer: Answer, tokens: Sequence[int], longest: int = 8) -> float:
    """How far the answers to (tau), (tau, tau) ... differ from the first, at most."""
    runs = _runs(answer, tokens, longest)
    return float(np.abs(runs - runs[:1]).max())


def forced_weights(answer: Answer, tokens: Sequence[int], longest: int = 8) -> FloatArray:
    """What the n-th tau adds to a run [longest - 1, tokens].

    In a linear model that is the weight of tau, in a GAM its effect at place n: the answers to
    runs leave no choice.
    """
    return np.diff(_runs(answer, tokens, longest), axis=0)


def gam_residual(answer: Answer, tokens: Sequence[int], longest: int = 4) -> float:
    """What the best GAM (an effect of each token at each place) leaves of the answers' deviation.

    Over all runs and all pairs; 0 for an additive model. A linear model is such a GAM too.
    """
    rows: list[Sequence[int]] = [[t] * n for t in tokens for n in range(1, longest + 1)]
    rows += list(product(tokens, repeat=2))
    design = np.zeros((len(rows), longest, max(tokens) + 1))
    for row, ids in enumerate(rows):
        design[row, np.arange(len(ids)), list(ids)] = 1.0
    flat = np.column_stack([np.ones(len(rows)), design.reshape(len(rows), -1)])
    truth = np.concatenate([_ask(answer, [ids]) for ids in rows])
    fitted = flat @ np.linalg.lstsq(flat, truth, rcond=None)[0]
    return float(np.std(truth - fitted) / np.std(truth))


def _runs(answer: Answer, tokens: Sequence[int], longest: int) -> FloatArray:
    """Answers to runs of 1 ... longest of each token [longest, tokens, ...]."""
    lengths = range(1, longest + 1)
    return np.stack([_ask(answer, [[token] * n for token in tokens]) for n in lengths])


def _ask(answer: Answer, rows: Sequence[Sequence[int]]) -> FloatArray:
    with torch.inference_mode():
        return np.asarray(answer(torch.tensor(rows)).numpy(), dtype=np.float64)
