"""Where heads look: planted weights, and the whole run on toy reviews."""

import math
from dataclasses import replace

import numpy as np
import pytest

from papers.experiments import attention_heads as heads
from tests.papers.experiments.toy_imdb import save_figures
from tests.papers.theory.small import random_layer, some_ids

# [CLS], three words, four places of padding; one head for each of three ways to look.
PLANTED = heads.HeadAttention(
    np.array(
        [
            [0.0, 1.0, 0, 0, 0, 0, 0, 0],
            [1 / 8] * 8,
            [0.5, 0.0, 0.3, 0, 0.05, 0.05, 0.05, 0.05],
        ]
    ),
    length=4,
)
TOKENS = ("a", "b", "c")


def test_entropy_and_shares():
    assert PLANTED.entropy[0] == 0
    assert PLANTED.entropy[1] == pytest.approx(math.log(8))
    assert PLANTED.on_padding == pytest.approx([0, 0.5, 0.2])
    assert PLANTED.on_cls == pytest.approx([0, 1 / 8, 0.5])
    assert PLANTED.words.shape == (3, 3)
    assert PLANTED.padding == 0.5


def test_top_words():
    assert heads.top_words(np.array([0.1, 0.7, 0.2]), TOKENS, 2) == "b 70.0%, c 20.0%"


def test_the_sample_is_a_mean():
    module, texts = random_layer(), [some_ids(5), some_ids(9, seed=1)]
    looks = [heads.look(module, ids) for ids in texts]
    sample = heads.measure(module, texts)
    assert sample.reviews == 2
    assert sample.entropy == pytest.approx((looks[0].entropy + looks[1].entropy) / 2)
    assert sample.padding == pytest.approx((10 / 16 + 6 / 16) / 2)
    assert sample.on_padding == pytest.approx((looks[0].on_padding + looks[1].on_padding) / 2)
    assert 0 < sample.least < 1 / 16


def test_heads_that_share_their_word():
    same = heads.HeadAttention(np.vstack([PLANTED.weights[0]] * 3), 4)
    assert heads._same_top(same) == 1
    assert heads._same_top(PLANTED) == pytest.approx(1 / 3)  # the first two look at "a"


def test_findings_follow_the_numbers():
    sample = heads.measure(random_layer(), [some_ids(5)])
    different, padding, sign = heads.findings(PLANTED, TOKENS, sample)
    assert "3 heads look most at 2 different words" in different
    assert "23.3% of the attention in the sentence (50% of the positions), 0.0% to 50.0%" in padding
    assert "no weight is negative" in sign
    broken = replace(sample, least=-0.1, on_padding=np.array([0.9]), padding=0.5)
    _, padding, sign = heads.findings(PLANTED, TOKENS, broken)
    assert "more than attention spread evenly" in padding
    assert "some weights are negative" in sign


def test_the_whole_run(toy, tmp_path):
    outcome = heads.run(toy, heads.SETTINGS["tiny"])
    sentence, sample, learning, _ = outcome.tables
    assert [row[0] for row in learning.rows] == ["1", "2"]
    assert [row[0] for row in sentence.rows] == ["head 1", "head 2", "head 3", "α-avg", "α-max"]
    assert sample.rows[-1][:2] == ("spread evenly", f"{math.log(32):.2f}")
    assert outcome.settings["reviews averaged"] == 10
    assert "first test review" in outcome.settings["sentence"]
    assert save_figures(outcome, tmp_path) == ["heads", "learning"]
