"""The single-layer model with layers, skips and non-linearities put before its reading layer.

With no blocks it is `SingleLayer` itself. The reading layer stays as it was, so the closed forms
can be asked about a deeper model too, on the hidden states that the reading layer sees: they are
then no theorem, and `lime_in_depth` measures what is left of them.
"""

import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from papers.arrays import IntArray
from papers.theory.closed_forms import Reading, read_states, removed
from papers.theory.single_layer import Shape, SingleLayer, Training, seeded
from papers.theory.toy import VOCABULARY, toy_rows

TOY_SHAPE = Shape(width=16, key_width=8, value_width=8, heads=4, window=24)  # of toy reviews


@dataclass(frozen=True)
class Depth:
    """What stands before the reading layer."""

    blocks: int = 0  # of full self-attention
    skip: bool = False  # around each part of a block
    relu: bool = False  # a feed-forward net with a ReLU in each block
    norm: bool = False  # layer normalisation after each part of a block


class Deeper(nn.Module):
    """Token ids [batch, length] -> log-odds [batch]."""

    def __init__(self, vocabulary: int, shape: Shape, depth: Depth) -> None:
        super().__init__()
        self.reader = SingleLayer(vocabulary, shape)
        self.blocks = nn.ModuleList(Block(shape, depth) for _ in range(depth.blocks))

    def forward(self, ids: Tensor) -> Tensor:
        return self.reader.read(self.states(ids))

    def states(self, ids: Tensor) -> Tensor:
        """What the reading layer sees [batch, window, width]."""
        hidden = self.reader.embed(self.reader.pad(ids))
        for block in self.blocks:
            hidden = block(hidden)
        return hidden


class Block(nn.Module):
    """Multi-head self-attention at every position, and a feed-forward net if wanted."""

    def __init__(self, shape: Shape, depth: Depth) -> None:
        super().__init__()
        self.shape, self.depth = shape, depth
        inner = shape.heads * shape.key_width
        self.query, self.key, self.value = (
            nn.Linear(shape.width, inner, bias=False) for _ in range(3)
        )
        self.output = nn.Linear(inner, shape.width, bias=False)
        twice = 2 * shape.width
        self.feed = nn.Sequential(nn.Linear(shape.width, twice), nn.ReLU())
        self.feed.append(nn.Linear(twice, shape.width))
        self.norm = nn.LayerNorm(shape.width)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = self._join(hidden, self._mix(hidden))
        return self._join(hidden, self.feed(hidden)) if self.depth.relu else hidden

    def _mix(self, hidden: Tensor) -> Tensor:
        mixed = nn.functional.scaled_dot_product_attention(
            self._split(self.query(hidden)),
            self._split(self.key(hidden)),
            self._split(self.value(hidden)),
        )
        return torch.as_tensor(self.output(mixed.transpose(1, 2).flatten(2)))

    def _split(self, hidden: Tensor) -> Tensor:
        """[batch, window, heads * size] -> [batch, heads, window, size]"""
        batch, window, _ = hidden.shape
        return hidden.view(batch, window, self.shape.heads, -1).transpose(1, 2)

    def _join(self, before: Tensor, added: Tensor) -> Tensor:
        joined = before + added if self.depth.skip else added
        return torch.as_tensor(self.norm(joined)) if self.depth.norm else joined


def deeper(vocabulary: int, shape: Shape, depth: Depth, seed: int) -> Deeper:
    """A random model in float64."""
    with seeded(seed):
        return Deeper(vocabulary, shape, depth).double().eval()


@functools.cache  # several questions are put to the same models
def trained_deeper(shape: Shape, depth: Depth, seed: int, texts: int = 3000) -> Deeper:
    """A model trained on `toy` reviews, in float64; token `toy.FIRST` + i is the i-th toy word."""
    model = deeper(VOCABULARY, shape, depth, seed)
    ids, truth = toy_rows(np.random.default_rng(seed), texts, shape.window)
    with seeded(seed):
        Training(model, rate=5e-3, batch=64).run(ids, truth, epochs=4)
    return model


def read_deeper(model: Deeper, ids: IntArray) -> Reading:
    """The closed forms' view of a text: the reading layer's input, with and without the words."""
    with torch.no_grad():
        whole, gone = (model.states(torch.from_numpy(rows)[None]) for rows in (ids, removed(ids)))
        return read_states(model.reader, whole, gone, ids)
