"""A transformer that is exactly a given SLALOM (Proposition 5.1 of arXiv 2405.13536).

The embedding of a token holds its importance, its value and a constant 1. The query reads only
the constant, the key returns the importance (times the root of the head size, to undo the
scaling), the value carries the value, and everything after passes it on. Heads and layers beyond
the first are null maps, so any number of them leaves the output as it is.
"""

import torch
from torch import Tensor, nn

IMPORTANCE, VALUE, ONE = 0, 1, 2  # coordinates of the embedding
NEGLIGIBLE = -1e4  # an importance whose exponential is exactly 0


class SlalomTransformer(nn.Module):
    """Encoder with skip connections, read at a classification token put before every sequence."""

    def __init__(
        self,
        values: Tensor,
        importances: Tensor,
        *,
        layers: int = 1,
        heads: int = 1,
        head_size: int = 3,
    ) -> None:
        super().__init__()
        tokens = torch.stack([importances, values, torch.ones_like(values)], dim=1)
        # Without weight and value of its own, the classification token only listens.
        listener = torch.tensor([[NEGLIGIBLE, 0.0, 1.0]], dtype=tokens.dtype)
        table = torch.cat([tokens, listener])
        self.embedding = nn.Embedding(len(table), 3, _weight=table)
        self.layers = nn.ModuleList(
            _Layer(3, heads, head_size, active=index == 0, dtype=tokens.dtype)
            for index in range(layers)
        )

    def forward(self, ids: Tensor) -> Tensor:
        """F of every sequence [batch, length] -> [batch]."""
        listener = torch.full_like(ids[:, :1], self.embedding.num_embeddings - 1)
        hidden = self.embedding(torch.cat([listener, ids], dim=1))  # [batch, 1 + length, 3]
        for layer in self.layers:
            hidden = layer(hidden)
        return torch.select(hidden[:, 0], 1, VALUE)


class _Layer(nn.Module):
    """Multi-head attention and a feed-forward net, each beside a skip connection."""

    def __init__(
        self, width: int, heads: int, head_size: int, *, active: bool, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.heads, self.head_size = heads, head_size
        inner = heads * head_size
        self.query, self.key, self.value = (_null(width, inner, dtype) for _ in range(3))
        self.output = _null(inner, width, dtype)
        self.feed_forward = nn.Sequential(_null(width, inner, dtype), nn.ReLU())
        self.feed_forward.append(_null(inner, width, dtype))
        if active:
            self._carry_slalom()

    @torch.no_grad()
    def _carry_slalom(self) -> None:
        self.query.weight[0, ONE] = 1.0
        self.key.weight[0, IMPORTANCE] = self.head_size**0.5
        self.value.weight[0, VALUE] = 1.0
        self.output.weight[VALUE, 0] = 1.0

    def forward(self, hidden: Tensor) -> Tensor:
        attended = nn.functional.scaled_dot_product_attention(
            self._split(self.query(hidden)),
            self._split(self.key(hidden)),
            self._split(self.value(hidden)),
        )
        hidden = hidden + self.output(attended.transpose(1, 2).flatten(2))
        return torch.add(hidden, self.feed_forward(hidden))

    def _split(self, hidden: Tensor) -> Tensor:
        """[batch, length, heads * size] -> [batch, heads, length, size]"""
        batch, length, _ = hidden.shape
        return hidden.view(batch, length, self.heads, self.head_size).transpose(1, 2)


def _null(inputs: int, outputs: int, dtype: torch.dtype) -> nn.Linear:
    linear = nn.Linear(inputs, outputs, bias=False, dtype=dtype)
    nn.init.zeros_(linear.weight)
    return linear
