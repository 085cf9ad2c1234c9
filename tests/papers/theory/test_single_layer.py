"""The model of paper B, written out head by head, against the module."""

import numpy as np
import pytest
import torch

from papers.theory.single_layer import CLS, PAPER, UNK, SingleLayer, sinusoids
from tests.papers.theory.small import random_layer, some_ids


@torch.no_grad()
def written_out(module: SingleLayer, ids: list[int]) -> float:
    """f by the formulas of the paper, one head and one position at a time."""
    shape = module.shape
    tokens = [*ids, *[UNK] * (shape.window - len(ids))]
    embedded = [module.embedding.weight[n] + module.positions[t] for t, n in enumerate(tokens)]
    answers = []
    for head in range(shape.heads):
        query = module.query[head] @ embedded[0]
        scores = [query @ (module.key[head] @ e) / shape.key_width**0.5 for e in embedded]
        alpha = torch.stack(scores).softmax(0)
        pooled = sum(a * (module.value[head] @ e) for a, e in zip(alpha, embedded, strict=True))
        answers.append(float(module.last[head] @ pooled))
    return float(np.mean(answers))


@pytest.mark.parametrize("length", [1, 6, 16])
def test_the_module_is_the_paper_s_formula(length):
    module, ids = random_layer(), some_ids(length - 1)
    with torch.no_grad():
        answer = float(module(torch.from_numpy(ids)[None])[0])
    assert answer == pytest.approx(written_out(module, ids.tolist()), abs=1e-12)


def test_padding_is_not_masked():
    module, ids = random_layer(), torch.from_numpy(some_ids(4))[None]
    padded = torch.cat([ids, torch.full((1, 3), UNK)], dim=1)
    with torch.no_grad():
        assert module(ids).numpy() == pytest.approx(module(padded).numpy(), abs=1e-14)
        attention = module.attention(module.embed(module.pad(ids)))
    assert attention[..., 5:].sum() > 0.3  # eleven of sixteen places
    assert attention.sum(-1).numpy() == pytest.approx(1.0)


def test_embeddings_of_a_text_are_extended_by_the_padding():
    module, ids = random_layer(), torch.from_numpy(some_ids(4))[None]
    whole = module.embed(module.pad(ids))
    assert torch.equal(module.extend(module.embed(ids)), whole)


def test_positions_and_order_matter():
    module = random_layer()
    with torch.no_grad():
        forth, back = module(torch.tensor([[CLS, 5, 9], [CLS, 9, 5]]))
    assert abs(forth - back) > 1e-4


def test_sinusoids():
    table = sinusoids(50, 10).numpy()
    assert table[0] == pytest.approx([0, 1] * 5)
    assert table[7, :2] == pytest.approx([np.sin(7), np.cos(7)], abs=1e-6)
    assert table[3, 4] == pytest.approx(np.sin(3 / 10_000**0.4), abs=1e-6)
    assert sinusoids(4, 5).shape == (4, 5)


def test_the_defaults_are_the_paper_s():
    module = SingleLayer(10)
    assert (PAPER.width, PAPER.key_width, PAPER.heads, PAPER.window) == (128, 64, 6, 256)
    assert module.query.shape == module.key.shape == (6, 64, 128)
    assert module.value.shape == (6, 64, 128)
    assert module.last.shape == (6, 64)
    assert len(list(module.parameters())) == 5  # no bias anywhere
