"""The single-layer attention classifier of "Attention Meets Post-hoc Interpretability".

(arXiv 2402.03485, section 2.) A text is [CLS], its words, and [UNK] up to the window's end; the
padding is *not* masked. With W_p(t) sinusoidal, for each of K heads,

    e_t = W_e[token_t] + W_p(t)      k_t = W_k e_t      v_t = W_v e_t      q = W_q e_0
    alpha_t = softmax_t(q . k_t / sqrt(d_att))          f = mean over heads of W_l sum_t alpha_t v_t

No bias, no skip, one query. We let f be the log-odds of the second of two classes, so W_l is one
row a head.
"""

import contextlib
import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

UNK, CLS = 0, 1  # the first two numbers of every vocabulary


@dataclass(frozen=True)
class Shape:
    """The sizes of the model; the defaults are the paper's."""

    width: int = 128  # d_e
    key_width: int = 64  # d_att
    value_width: int = 64  # d_out
    heads: int = 6  # K
    window: int = 256  # T_max, [CLS] included


PAPER = Shape()


class SingleLayer(nn.Module):
    """Token ids [batch, length] -> log-odds [batch]."""

    positions: Tensor  # [window, width]

    def __init__(self, vocabulary: int, shape: Shape = PAPER) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(vocabulary, shape.width)
        self.register_buffer("positions", sinusoids(shape.window, shape.width))
        self.query = _matrices(shape.heads, shape.key_width, shape.width)
        self.key = _matrices(shape.heads, shape.key_width, shape.width)
        self.value = _matrices(shape.heads, shape.value_width, shape.width)
        self.last = _matrices(shape.heads, shape.value_width)  # W_l [heads, value_width]

    def forward(self, ids: Tensor) -> Tensor:
        return self.read(self.embed(self.pad(ids)))

    def pad(self, ids: Tensor) -> Tensor:
        """[batch, length] -> [batch, window], with [UNK] behind the text."""
        if ids.shape[1] > self.shape.window:  # torch would cut it without a word
            raise ValueError(f"{ids.shape[1]} tokens do not fit the window, {self.shape.window}")
        return nn.functional.pad(ids, (0, self.shape.window - ids.shape[1]), value=UNK)

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        """e_t of tokens [batch, length] that stand at `start` and after."""
        where = self.positions[start : start + ids.shape[1]]
        return torch.add(self.embedding(ids), where)

    def extend(self, embedded: Tensor) -> Tensor:
        """Embeddings of a text [batch, length, width] with those of the padding behind them."""
        rows, length, _ = embedded.shape
        unknown = torch.full((rows, self.shape.window - length), UNK, device=embedded.device)
        return torch.cat([embedded, self.embed(unknown, length)], dim=1)

    def read(self, embedded: Tensor) -> Tensor:
        """f [batch] of embeddings [batch, window, width]."""
        return (self.attention(embedded) * self.effects(embedded)).sum(-1).mean(-1)

    def attention(self, embedded: Tensor) -> Tensor:
        """alpha [batch, heads, window], of the query at [CLS]."""
        return self.scores(embedded).softmax(-1)

    def scores(self, embedded: Tensor) -> Tensor:
        """q . k_t / sqrt(d_att) [batch, heads, window].

        Taken as (W_k^T q) . e_t: there is one query, so no key needs to be written down.
        """
        query = torch.einsum("kae,be->bka", self.query, embedded[:, 0])
        reader = torch.einsum("kae,bka->bke", self.key, query) / math.sqrt(self.shape.key_width)
        return reader @ embedded.transpose(1, 2)

    def effects(self, embedded: Tensor) -> Tensor:
        """W_l v_t [batch, heads, window], taken as (W_l W_v) e_t: no value is written down."""
        return self.readout @ embedded.transpose(1, 2)

    @property
    def readout(self) -> Tensor:
        """W_l W_v [heads, width]."""
        return torch.einsum("ko,koe->ke", self.last, self.value)


def negated(module: SingleLayer) -> SingleLayer:
    """The model whose last layer, and with it every answer, has the other sign."""
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.last.neg_()
    return other


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers from `seed` on; the caller's come back as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class Training:
    """Minimises the logistic loss of a module's log-odds [rows] against truth 0 or 1 [rows].

    By AdamW, epoch after epoch; between two of them `state` holds all that the next ones need.
    """

    def __init__(self, module: nn.Module, rate: float, batch: int) -> None:
        self.module, self.batch, self.epochs = module, batch, 0
        self.optimizer = torch.optim.AdamW(module.parameters(), lr=rate, fused=True)

    def epoch(self, ids: Tensor, truth: Tensor) -> float:
        """Once through all rows, in an order drawn from torch's generator; the mean loss."""
        self.module.train()
        total = 0.0
        for rows in torch.split(torch.randperm(len(ids)), self.batch):
            self.optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(
                self.module(ids[rows]), truth[rows]
            )
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            total += loss.item() * len(rows)
        self.module.eval()
        self.epochs += 1
        return total / len(ids)

    def run(self, ids: Tensor, truth: Tensor, epochs: int) -> None:
        """So many epochs."""
        for _ in range(epochs):
            self.epoch(ids, truth)

    def state(self) -> dict[str, Any]:
        """Weights, the optimizer's moments, and torch's random numbers."""
        return {
            "epochs": self.epochs,
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.random.get_rng_state(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on as if it had never stopped."""
        self.epochs = state["epochs"]
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.random.set_rng_state(state["random"])
        self.module.eval()


def sinusoids(positions: int, width: int) -> Tensor:
    """W_p [positions, width]: sines in the even columns, cosines in the odd ones."""
    where = torch.arange(positions, dtype=torch.float64)[:, None]
    rates = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    table = torch.zeros(positions, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(where * rates)
    table[:, 1::2] = torch.cos(where * rates[: width // 2])
    return table.to(torch.get_default_dtype())


def _matrices(*sizes: int) -> nn.Parameter:
    """Uniform within 1 / sqrt(inputs), as torch starts a linear layer."""
    bound = 1 / math.sqrt(sizes[-1])
    return nn.Parameter(torch.empty(*sizes).uniform_(-bound, bound))
