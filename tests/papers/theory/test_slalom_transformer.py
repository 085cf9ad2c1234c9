"""Proposition 5.1 as a real torch module, and its recovery from outside."""

import numpy as np
import pytest
import torch

import piste
from papers.theory.slalom_transformer import SlalomTransformer

WORDS = [f"w{index}" for index in range(30)]


def transformer(**settings) -> tuple[SlalomTransformer, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    values, importances = rng.normal(size=(2, len(WORDS)))
    tensors = (torch.from_numpy(values), torch.from_numpy(importances))
    return SlalomTransformer(*tensors, **settings), values, importances


SHAPES = [{}, {"heads": 4}, {"layers": 3, "heads": 2, "head_size": 8}]


@pytest.mark.parametrize("settings", SHAPES)
def test_the_transformer_is_exactly_the_slalom(settings):
    module, values, importances = transformer(**settings)
    ids = torch.randint(30, (50, 7), generator=torch.Generator().manual_seed(0))
    weights = np.exp(importances[ids])
    expected = (weights * values[ids]).sum(axis=1) / weights.sum(axis=1)
    with torch.no_grad():
        assert module(ids).numpy() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["slalom", "slalom-ana"])
@pytest.mark.parametrize("settings", SHAPES)
def test_the_transformer_is_recovered(settings, method):
    module, values, importances = transformer(**settings)
    numbers = {word: index for index, word in enumerate(WORDS)}

    def function(texts: list[str]) -> torch.Tensor:
        ids = [torch.tensor([[numbers[word] for word in text.split()]]) for text in texts]
        with torch.no_grad():
            return torch.cat([module(row) for row in ids])

    classifier = piste.from_function(function)
    explanation = piste.explain(" ".join(WORDS), classifier, method, target="positive")
    assert np.corrcoef(explanation.scores["value"], values)[0, 1] > 0.999
    assert np.corrcoef(explanation.scores["importance"], importances)[0, 1] > 0.999
