"""Deeper models: the single layer is one of them, and each switch does what it says."""

import numpy as np
import pytest
import torch

from papers.theory.closed_forms import read_text
from papers.theory.deeper import Depth, deeper, read_deeper, trained_deeper
from papers.theory.single_layer import Shape
from papers.theory.toy import VOCABULARY, distinct_words, toy_rows

SHAPE = Shape(width=12, key_width=6, value_width=6, heads=2, window=10)
IDS = distinct_words(np.random.default_rng(0), 6)


def answer(depth: Depth) -> float:
    with torch.no_grad():
        return float(deeper(VOCABULARY, SHAPE, depth, 0)(torch.from_numpy(IDS)[None])[0])


def test_without_blocks_it_is_the_single_layer():
    model = deeper(VOCABULARY, SHAPE, Depth(), 0)
    ids = torch.from_numpy(IDS)[None]
    with torch.no_grad():
        assert torch.equal(model(ids), model.reader(ids))
    one, other = read_deeper(model, IDS), read_text(model.reader, IDS)
    for name in ("weight", "effect", "removed_weight", "removed_effect"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12)


def test_every_switch_changes_the_answer():
    depths = [
        Depth(), Depth(1), Depth(1, skip=True), Depth(1, relu=True), Depth(1, norm=True), Depth(2),
    ]  # fmt: skip
    answers = [answer(depth) for depth in depths]
    assert len({round(number, 9) for number in answers}) == len(answers)


def test_a_skip_around_nothing_is_nothing():
    model = deeper(VOCABULARY, SHAPE, Depth(1, skip=True), 0)
    torch.nn.init.zeros_(model.blocks[0].output.weight)
    ids = torch.from_numpy(IDS)[None]
    with torch.no_grad():
        assert model(ids).numpy() == pytest.approx(model.reader(ids).numpy())


@pytest.mark.parametrize("blocks", [0, 1])
def test_training_learns(blocks):
    depth = Depth(blocks, skip=True, relu=True, norm=True)
    shape = Shape(width=16, key_width=8, value_width=8, heads=2, window=16)
    model = trained_deeper(shape, depth, 0, 1500)
    ids, truth = toy_rows(np.random.default_rng(1), 400, 16)
    with torch.no_grad():
        right = ((model(ids) > 0) == truth.bool()).double().mean()
    assert right > 0.6
    assert trained_deeper(shape, depth, 0, 1500) is model


def test_toy_rows_are_framed():
    ids, truth = toy_rows(np.random.default_rng(0), 20, 12)
    assert (ids[:, 0] == 1).all()
    assert set(truth.tolist()) <= {0.0, 1.0}
    assert ids.max() < VOCABULARY
    assert ids.shape == (20, 12)
