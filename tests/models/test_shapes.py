"""Compiled models are asked in batches of few shapes, and padding changes no answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import piste
from piste.models.backends import compiled, shapes
from piste.text.encoding import TYPE
from tests.conftest import tiny_bert, tiny_gpt2

LIMIT = 64  # of the tiny models


@given(st.integers(1, 5000), st.integers(1, 600))
def test_a_length_grows_by_an_eighth_at_most_and_not_beyond_the_limit(tokens, limit):
    length = shapes.rounded(tokens, limit)
    assert tokens <= length <= max(tokens, min(limit, tokens + tokens // 8))


def test_few_lengths_are_left():
    lengths = {shapes.rounded(tokens, 512) for tokens in range(1, 513)}
    assert set(range(1, 17)) < lengths  # short ones stay as they are
    assert len(lengths) == 16 + 8 * 5
    assert max(lengths) == 512


@given(st.integers(1, 3000))
def test_blocks_are_powers_of_two_and_cover_all_rows_in_order(rows):
    sizes = [len(range(rows)[block]) for block in shapes.blocks(rows)]
    assert all(size & (size - 1) == 0 for size in sizes)
    covered = [row for block in shapes.blocks(rows) for row in range(rows)[block]]
    assert covered == list(range(rows))


def test_what_is_padded_is_masked():
    ids, mask = shapes.with_padding(np.array([[2, 7, 3 + TYPE], [2, 8, 3 + TYPE]]), 5)
    assert ids.tolist() == [[2, 7, *[3 + TYPE] * 3], [2, 8, *[3 + TYPE] * 3]]
    assert mask.tolist() == [[1, 1, 1, 0, 0]] * 2


def test_padded_the_answers_are_those_of_torch(wordpiece, seen):
    model = tiny_bert(len(wordpiece))
    fast = piste.load(model, wordpiece, backend="openvino")
    plain = piste.load(model, wordpiece, backend="torch")
    seen.clear()
    rng = np.random.default_rng(0)
    for length in range(1, LIMIT + 1):
        for rows in (1, 3, 7):
            ids = rng.integers(5, len(wordpiece), size=(rows, length))
            ids[:, length // 2 :] += TYPE  # a second text
            assert fast.logits(ids) == pytest.approx(plain.logits(ids), abs=1e-4)
    assert fast.copy.limit == LIMIT
    lengths = {shapes.rounded(length, LIMIT) for length in range(1, LIMIT + 1)}
    assert set(seen) == {(rows, length) for rows in (1, 2, 4) for length in lengths}
    assert len(lengths) == 32


def test_a_model_that_reads_its_last_token_is_not_padded(byte_level, seen):
    fast = piste.load(tiny_gpt2(len(byte_level)), byte_level, backend="openvino")
    seen.clear()
    fast.logits(np.full((3, 17), 5))
    assert fast.copy.limit == 0
    assert seen == [(3, 17)]


def test_a_model_that_looks_at_padding_is_not_padded(wordpiece):
    model = tiny_bert(len(wordpiece))
    layer = model.bert.embeddings
    layer.register_forward_hook(lambda module, given, out: out + out.mean(dim=1, keepdim=True))
    fast = piste.load(model, wordpiece, backend="openvino")
    assert fast.copy.limit == 0


@pytest.fixture
def seen(monkeypatch, tmp_path):
    """The shapes that OpenVINO is asked about."""
    monkeypatch.setenv("PISTE_CACHE", str(tmp_path))
    shapes_seen, right = [], compiled._infer

    def infer(network, ids, *mask):
        shapes_seen.append(ids.shape)
        return right(network, ids, *mask)

    monkeypatch.setattr(compiled, "_infer", infer)
    return shapes_seen
