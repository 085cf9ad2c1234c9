"""A classifier that is no transformer: TF-IDF of single words, and three layers with ReLU."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save
from scipy import sparse
from torch import Tensor, nn

from papers.arrays import FloatArray
from papers.theory.single_layer import seeded
from piste.files import write_atomic

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")  # as piste's own words: inner apostrophes stay
ROWS = 1024  # texts at once: they are dense inside the network


@dataclass(frozen=True)
class NetworkPlan:
    """Sizes of the network and how it is trained."""

    vocabulary: int = 5000
    widths: tuple[int, int] = (128, 64)  # of the two hidden layers
    epochs: int = 1  # as for the other models of the paper
    rate: float = 1e-3
    batch: int = 128
    seed: int = 0


@dataclass(frozen=True)
class TfIdf:
    """Words of a text as a unit vector: how often each occurs, weighed by how rare it is."""

    words: tuple[str, ...]  # by falling frequency in the texts it was learnt from
    rarity: FloatArray  # log((1 + texts) / (1 + texts with the word)) + 1, for each word

    @classmethod
    def learn(cls, texts: Iterable[str], most: int) -> TfIdf:
        """The `most` words that occur in the most texts; ties in alphabetical order."""
        holding: Counter[str] = Counter()
        count = 0
        for text in texts:
            holding.update(set(tokens(text)))
            count += 1
        words = tuple(sorted(holding, key=lambda word: (-holding[word], word))[:most])
        seen = np.array([holding[word] for word in words], dtype=np.float64)
        return cls(words, np.log((1 + count) / (1 + seen)) + 1)

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each word."""
        return {word: column for column, word in enumerate(self.words)}

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Vectors [texts, words] of length 1; 0 for a text without a known word."""
        known = [[self.columns[w] for w in tokens(text) if w in self.columns] for text in texts]
        ends = np.cumsum([0, *map(len, known)])
        columns = np.array([column for row in known for column in row], dtype=np.int64)
        shape = (len(texts), len(self.words))
        weighed = sparse.csr_array((self.rarity[columns], columns, ends), shape=shape)
        weighed.sum_duplicates()
        rows = np.repeat(np.arange(len(texts)), np.diff(weighed.indptr))
        weighed.data /= np.sqrt(np.bincount(rows, weighed.data**2, len(texts)))[rows]
        return weighed


@dataclass(frozen=True)
class Network:
    """TF-IDF and the network behind it, as a function of texts."""

    vectors: TfIdf
    layers: nn.Sequential

    def log_odds(self, texts: Sequence[str]) -> FloatArray:
        """The log-odds of the positive label [texts]."""
        given = self.vectors.transform(texts)
        with torch.inference_mode():
            parts = [
                self.layers(_dense(given[start : start + ROWS]))[:, 0]
                for start in range(0, len(texts), ROWS)
            ]
        return np.asarray(torch.cat(parts).double().numpy())

    def accuracy(self, texts: Sequence[str], labels: Sequence[int]) -> float:
        """The share of texts classified as labelled."""
        return float(np.mean((self.log_odds(texts) > 0) == np.array(labels, dtype=bool)))


def tokens(text: str) -> list[str]:
    """The lower-cased words of a text."""
    return WORD.findall(text.lower())


def train(
    texts: Sequence[str],
    labels: Sequence[int],
    plan: NetworkPlan,
    say: Callable[[str], None] = lambda _: None,
) -> Network:
    """Learn the words, then fit the network to labels 0 and 1 with AdamW."""
    vectors = TfIdf.learn(texts, plan.vocabulary)
    given = vectors.transform(texts)
    wanted = torch.tensor(list(labels), dtype=torch.float32)
    with seeded(plan.seed):
        layers = _layers(len(vectors.words), plan.widths)
        optimiser = torch.optim.AdamW(layers.parameters(), lr=plan.rate)
        for epoch in range(plan.epochs):
            for rows in torch.split(torch.randperm(len(texts)), plan.batch):
                optimiser.zero_grad()
                answers = layers(_dense(given[rows.numpy()]))[:, 0]
                loss = nn.functional.binary_cross_entropy_with_logits(answers, wanted[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            say(f"training: epoch {epoch + 1} of {plan.epochs}, loss {loss.item():.3f}")
    return Network(vectors, layers.eval())


def kept(
    cache: Path,
    texts: Sequence[str],
    labels: Sequence[int],
    plan: NetworkPlan,
    say: Callable[[str], None] = lambda _: None,
) -> Network:
    """The network for these texts and this plan: from the cache, else trained and put there."""
    digest = hashlib.sha256(json.dumps([asdict(plan), list(texts), list(labels)]).encode())
    path = cache / f"tfidf-{digest.hexdigest()[:12]}.safetensors"
    if path.exists():
        return read(path)
    network = train(texts, labels, plan, say)
    cache.mkdir(parents=True, exist_ok=True)
    write(network, path)
    return network


def write(network: Network, path: Path) -> Path:
    """One safetensors file with weights, words and their rarity; whole or not at all."""
    state: dict[str, Tensor] = dict(network.layers.state_dict())
    state["rarity"] = torch.from_numpy(network.vectors.rarity)
    return write_atomic(path, save(state, metadata={"words": json.dumps(network.vectors.words)}))


def read(path: Path) -> Network:
    """What `write` wrote."""
    state = load_file(path)
    with safe_open(path, framework="pt") as stream:
        words = tuple(json.loads(stream.metadata()["words"]))
    vectors = TfIdf(words, state.pop("rarity").numpy())
    layers = _layers(len(words), (len(state["0.bias"]), len(state["2.bias"])))
    layers.load_state_dict(state)
    return Network(vectors, layers.eval())


def _layers(inputs: int, widths: tuple[int, int]) -> nn.Sequential:
    first, second = widths
    return nn.Sequential(
        nn.Linear(inputs, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(),
        nn.Linear(second, 1),
    )  # fmt: skip


def _dense(rows: sparse.csr_array) -> Tensor:
    return torch.from_numpy(rows.toarray()).float()
