"""The measurements of the open questions, in small; their parts against other ways to get them."""

import numpy as np
import pytest

from papers.theory import attention_and_removal, lime_in_depth, subwords
from papers.theory.attention_and_removal import (
    EFFECTS,
    TEXT_WORDS,
    agreement,
    attention_and_values,
    planted_model,
    removal_effects,
    word_attention,
)
from papers.theory.closed_forms import Reading, read_text
from papers.theory.deeper import Depth
from papers.theory.lime_in_depth import correlations, random_model
from papers.theory.toy import distinct_words
from piste.arrays import Ragged
from piste.models.query import Query

TEXT = distinct_words(np.random.default_rng(0), TEXT_WORDS)


def test_the_integral_is_lime_at_depth_one_and_less_so_deeper():
    single = correlations(random_model, Depth(), 1)
    skipped = correlations(random_model, Depth(1, skip=True), 1)
    bare = correlations(random_model, Depth(1), 1)
    assert single.shape == (3, 2)
    assert single[:, 1] == pytest.approx(1.0, abs=1e-9)
    assert bare[:, 1].mean() < skipped[:, 1].mean() < 1 - 1e-6


def test_the_table_of_depths():
    table = lime_in_depth.lime_in_depth(1, {"one": Depth()})
    assert len(table.rows) == 1
    assert table.rows[0][2] == "1.00 (1.00)"
    assert len(table.columns) == len(table.rows[0])


def removal_formula(reading: Reading) -> np.ndarray:
    """As the module's docstring has it, mean over heads, words at one place each [words]."""
    g, h = reading.per_word(reading.weight), reading.per_word(reading.removed_weight)
    a = reading.per_word(reading.weight * reading.effect)
    b = reading.per_word(reading.removed_weight * reading.removed_effect)
    total = reading.weight.sum(axis=1, keepdims=True)
    answer = (reading.weight * reading.effect).sum(axis=1, keepdims=True) / total
    change = (a - g * answer - b + h * answer) / (total - g + h)
    return change.mean(axis=0)


@pytest.mark.parametrize("kind", EFFECTS)
def test_the_removal_formula_is_removal(kind):
    model = planted_model(kind, 0.3, 2.0, 0)
    found = removal_formula(read_text(model.reader, TEXT))
    assert found == pytest.approx(removal_effects(model, TEXT), abs=1e-12)


def test_effects_and_the_weight_of_unk_are_planted():
    model = planted_model("equally strong, on one side", 0.01, 1.0, 0)
    reading = read_text(model.reader, TEXT)
    inside = reading.owner >= 0
    assert reading.effect[:, inside] == pytest.approx(1.0)
    assert reading.removed_effect[:, inside] == pytest.approx(0.0, abs=1e-12)
    pull = reading.removed_weight[:, inside].mean() / reading.weight[:, inside].mean()
    assert pull == pytest.approx(0.01, rel=0.5)  # of the typical word in the vocabulary


def test_attention_tells_removal_where_strengths_are_alike_only():
    alike = agreement(planted_model("equally strong, on both sides", 1.0, 1.0, 0), 0)
    mixed = agreement(planted_model("of all strengths, on both sides", 1.0, 1.0, 0), 0)
    assert alike.size > 0.9
    assert mixed.size < 0.6
    assert alike.rest < mixed.rest
    assert abs(alike.signed) < 0.6  # attention has no sign


def test_word_attention_is_a_share():
    attention = word_attention(planted_model("equally strong, on one side", 1.0, 1.0, 0), TEXT)
    assert attention.shape == (TEXT_WORDS,)
    assert 0 < attention.sum() < 1


def test_the_tables_of_attention():
    def untrained(shape, depth, seed):
        return attention_and_removal.deeper(34, shape, depth, seed)

    by_depth = attention_and_removal.attention_and_depth(1, untrained)
    for table in (attention_and_values(1), by_depth):
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_what_pieces_keep_of_a_conjunction(pieces):
    """The formula from its moments: uniform odds p, so that k pieces are kept with 1 / (k + 1)."""
    covariance = {
        "piece": 1 / (pieces + 1) - 1 / (2 * (pieces + 1)),
        "other": 1 / (pieces + 2) - 1 / (2 * (pieces + 1)),
    }
    each = 6 * (covariance["piece"] - covariance["other"])  # 1 / (E z - E z z') = 6
    assert subwords.kept_of_a_conjunction(pieces) == pytest.approx(pieces * each)
    assert subwords.conjunction_by_pieces(pieces, 10) == pytest.approx(pieces * each, abs=0.08)


def test_two_pieces_keep_any_effect():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(2, 2))  # what the word does with none, either, both of its pieces
    found = subwords.exact_lime(
        lambda kept: table[kept[:, 0].astype(int), kept[:, 1].astype(int)], 14
    )
    assert found[:2].sum() == pytest.approx(table[1, 1] - table[0, 0], abs=0.1)


def test_words_and_pieces_of_a_real_model(demo):
    found = subwords.measure(demo, "hauntingly beautiful")
    assert found.words == ("hauntingly", "beautiful")
    assert found.pieces.tolist() == [2, 1]
    encoding = demo.encode("hauntingly beautiful")
    ids = list(encoding.ids)
    logits = Query(demo, encoding.frame).logits(Ragged.of([ids, ids[2:]]))
    margins = logits[:, 1] - logits[:, 0]
    assert found.removal[0] == pytest.approx(margins[0] - margins[1], abs=1e-5)
    assert 0 < found.torn < 1


def test_nothing_is_torn_where_no_word_is_split():
    assert subwords._torn(np.arange(4)) == 0.0
    # "ab c": of 7 subsets, those that keep one of a, b: {a}, {b}, {a,c}, {b,c}
    assert subwords._torn(np.array([0, 0, 1])) == pytest.approx(4 / 9)


def test_the_tables_of_subwords():
    words, summary = subwords.subwords(["hauntingly beautiful", "an overacted film"])
    assert [row[0] for row in words.rows] == ["hauntingly", "overacted"]
    assert all(len(row) == len(summary.columns) for row in summary.rows)
    assert len(subwords.conjunctions(2).rows) == 6
