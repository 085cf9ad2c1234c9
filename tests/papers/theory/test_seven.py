"""The seven explanations of one text, each against its definition."""

import numpy as np
import pytest
import torch

from papers.theory.closed_forms import embed, rank_correlations, seven_explanations
from papers.theory.lime_by_subsets import Removal, exact_lime
from tests.papers.theory.small import random_layer, some_ids


def test_each_is_what_its_name_says():
    module, ids = random_layer(), some_ids(7)
    scores = seven_explanations(module, ids)
    order = np.argsort(ids[1:])  # the words in the order of their ids
    embedded = torch.from_numpy(embed(module, ids))[None].requires_grad_()
    module.read(embedded).sum().backward()
    slope = embedded.grad[0].numpy()[1:8][order]
    values = embedded.detach()[0].numpy()[1:8][order]
    attention = module.attention(embedded)[0].detach().numpy()[:, 1:8][:, order]
    assert scores["alpha-avg"] == pytest.approx(attention.mean(axis=0))
    assert scores["alpha-max"] == pytest.approx(attention.max(axis=0))
    assert scores["G-avg"] == pytest.approx(slope.mean(axis=1))
    assert scores["G-l1"] == pytest.approx(np.abs(slope).sum(axis=1))
    assert scores["G-l2"] == pytest.approx(np.linalg.norm(slope, axis=1))
    assert scores["GxI"] == pytest.approx((slope * values).sum(axis=1))
    assert scores["LIME"] == pytest.approx(exact_lime(Removal(module, ids), 7), abs=1e-11)


def test_every_pair_is_compared():
    scores = {"a": np.array([1.0, 2, 3]), "b": np.array([3.0, 2, 1]), "c": np.array([1.0, 4, 9])}
    found = rank_correlations(scores)
    assert found == pytest.approx({("a", "b"): -1.0, ("a", "c"): 1.0, ("b", "c"): -1.0})
