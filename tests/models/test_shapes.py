"""Compiled models are asked in batches of few shapes, and padding changes no answer."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import ModernBertConfig, ModernBertForSequenceClassification

import piste
from piste.models.backends import compiled, shapes
from piste.text.encoding import TYPE
from tests.conftest import tiny_bert, tiny_gpt2

LIMIT = 64  # of the tiny models


@given(st.integers(1, 5000), st.integers(1, 600))
def test_a_length_grows_by_an_eighth_at_most_and_not_beyond_the_limit(tokens, limit):
    length = shapes.rounded(tokens, limit)
    assert tokens <= length <= max(tokens, min(limit, tokens + tokens // 8))
    assert length - tokens < shapes.WIDEST


def test_few_lengths_are_left():
    lengths = {shapes.rounded(tokens, 512) for tokens in range(1, 513)}
    assert set(range(1, 17)) < lengths  # short ones stay as they are
    assert len(lengths) == 16 + 8 * 5
    assert max(lengths) == 512


@given(st.integers(1, 3000))
def test_blocks_are_powers_of_two_or_few_and_cover_all_rows_in_order(rows):
    sizes = [len(range(rows)[block]) for block in shapes.blocks(rows)]
    assert all(size & (size - 1) == 0 or size < shapes.FEW for size in sizes)
    assert sizes == sorted(sizes, reverse=True)
    assert len({*sizes}) == len(sizes)
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
        for rows in (1, 3, 19):
            ids = rng.integers(5, len(wordpiece), size=(rows, length))
            ids[:, length // 2 :] += TYPE  # a second text
            assert fast.logits(ids) == pytest.approx(plain.logits(ids), abs=1e-4)
    assert fast.copy.limit == LIMIT
    lengths = {shapes.rounded(length, LIMIT) for length in range(1, LIMIT + 1)}
    assert set(seen) == {(rows, length) for rows in (1, 3, 16) for length in lengths}
    assert len(lengths) == 32


def test_a_model_that_reads_its_last_token_is_not_padded(byte_level, seen):
    fast = piste.load(tiny_gpt2(len(byte_level)), byte_level, backend="openvino")
    seen.clear()
    fast.logits(np.full((3, 17), 5))
    assert fast.copy.limit == 0
    assert seen == [(3, 17)]


def test_a_model_with_a_window_gets_no_more_padding_than_was_tried(wordpiece):
    """Of a row of padding that sees no token of the text, attention is not a number."""
    length = 1025
    settings = dict.fromkeys(("pad_token_id", "bos_token_id", "cls_token_id"), 0)
    config = ModernBertConfig(
        vocab_size=len(wordpiece), hidden_size=32, intermediate_size=64, num_hidden_layers=4,
        num_attention_heads=2, max_position_embeddings=2048, eos_token_id=3, sep_token_id=3,
        **settings,
    )  # fmt: skip
    torch.manual_seed(0)
    model = ModernBertForSequenceClassification(config).eval()
    tokenizer = deepcopy(wordpiece)
    tokenizer.model_max_length = 2048
    fast = piste.load(model, tokenizer, backend="openvino")
    plain = piste.load(model, tokenizer, backend="torch")
    ids = np.random.default_rng(0).integers(5, len(wordpiece), size=(2, length))
    assert fast.copy.limit == 2048
    assert fast.logits(ids) == pytest.approx(plain.logits(ids), abs=1e-4)


def test_what_padding_made_no_number_is_asked_without():
    def ask(ids, mask):
        return np.where(mask.all(axis=1), 1.0, np.nan)[:, None]

    assert shapes.answers(ask, np.full((3, 17), 5), 64).tolist() == [[1.0]] * 3


def test_of_no_rows_there_are_no_answers():
    seen = []
    shapes.answers(lambda ids, mask: seen.append(ids.shape) or np.zeros((len(ids), 2)),
                   np.zeros((0, 17), dtype=np.int64), 64)  # fmt: skip
    assert seen == [(0, 18)]


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
