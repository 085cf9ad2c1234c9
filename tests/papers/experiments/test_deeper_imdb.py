"""The closed forms on a deeper model: draws, reviews, and what they say of the paper's own."""

from dataclasses import replace

import numpy as np
import torch

from papers.experiments import deeper_imdb as deeper
from papers.experiments.table13 import principal
from papers.theory.closed_forms import read_text
from tests.papers.experiments.toy_imdb import TINY
from tests.papers.theory.small import random_layer, some_ids


def test_lime_removes_every_number_of_words_as_often():
    kept = deeper.draws(np.random.default_rng(0), 6000, 4)
    removed = np.bincount((~kept).sum(axis=1), minlength=5)
    assert removed[0] == 0
    assert np.abs(removed[1:] / 1500 - 1).max() < 0.1
    assert np.abs(kept.mean(axis=0) - 0.375).max() < 0.03  # (3 + 2 + 1 + 0) / 16


def test_the_integral_is_what_lime_of_one_layer_tends_to(toy):
    layer = random_layer()
    settings = replace(deeper.SETTINGS["tiny"], samples=4000)
    texts = [some_ids(9), some_ids(7, seed=1)]
    found = deeper.correlations(toy, layer, lambda ids: read_text(layer, ids), texts, settings)
    assert found.shape == (2, len(deeper.FORMS))
    assert found[:, 2].min() > 0.99
    assert found[:, 0].min() > 0.95


def test_reviews_are_cut_and_those_of_one_word_left_out():
    settings = replace(deeper.SETTINGS["tiny"], single=TINY, window=4, reviews=2)
    texts = [np.array([1, 5, 5, 5, 6]), np.array([1, 5, 6]), np.array([1, 5, 6, 7, 8])]
    chosen = deeper.chosen(texts, settings)
    assert [ids.tolist() for ids in chosen] == [[1, 5, 6], [1, 5, 6, 7]]


def test_principal_components_keep_the_largest_directions():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(200, 2, generator=generator) * torch.tensor([5.0, 3.0])
    rows = hidden @ torch.linalg.qr(torch.randn(6, 6, generator=generator))[0][:2] + 7
    rows += 0.01 * torch.randn(200, 6, generator=generator)
    found = principal(rows, 2)
    distances = torch.cdist(hidden, hidden)
    assert torch.allclose(torch.cdist(found, found), distances, atol=0.3)
