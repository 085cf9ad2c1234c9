"""Proposition 4.1 and Corollary 4.2, with controls that must break them."""

import numpy as np
import pytest
import torch

from papers.theory import repetition

TOKENS = range(1, 7)
KINDS = {"encoder": repetition.encoder, "decoder": repetition.decoder}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("heads", [1, 4])
def test_runs_of_one_token_are_all_alike(kind, layers, heads):
    answer = KINDS[kind](layers, heads)
    assert repetition.run_spread(answer, TOKENS) < 1e-10
    with torch.inference_mode():
        assert (answer(torch.tensor([[1, 1]])) - answer(torch.tensor([[1, 2]]))).abs().max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_positions_break_it(kind):
    assert repetition.run_spread(KINDS[kind](positions=True), TOKENS) > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_no_additive_model_agrees(kind):
    answer = repetition.read_out(KINDS[kind](2))
    weights = repetition.forced_weights(answer, TOKENS)
    assert weights.shape == (7, 6)
    assert np.abs(weights).max() < 1e-9
    assert repetition.gam_residual(answer, TOKENS) > 0.1


def test_an_additive_model_is_recognised():
    effects = torch.from_numpy(np.random.default_rng(0).normal(size=20))

    def linear(ids: torch.Tensor) -> torch.Tensor:
        return effects[ids].sum(dim=1)

    def gam(ids: torch.Tensor) -> torch.Tensor:
        return (effects[ids] * torch.arange(1, ids.shape[1] + 1)).sum(dim=1)

    assert repetition.forced_weights(linear, TOKENS)[3] == pytest.approx(effects[1:7].numpy())
    assert repetition.gam_residual(linear, TOKENS) < 1e-9
    assert repetition.gam_residual(gam, TOKENS) < 1e-9
    assert repetition.run_spread(linear, TOKENS) > 0.1
