"""Agreement of the seven: planted scores, a mirrored model, and the whole run on toy reviews."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from papers.experiments import seven_figures
from papers.experiments import seven_methods as methods
from papers.experiments.single_layer_imdb import Sentence
from papers.theory.closed_forms import EXPLANATIONS, SIGNED, seven_explanations
from tests.papers.experiments.toy_imdb import save_figures
from tests.papers.theory.small import random_layer, some_ids

UP, DOWN, MIXED = np.array([1.0, 2, 3, 4]), np.array([4.0, 3, 2, 1]), np.array([-1.0, -2, 3, 4])
PLANTED = dict.fromkeys(EXPLANATIONS, UP) | {"alpha-max": DOWN, "LIME": MIXED}


def test_ranks_sizes_signs():
    found = methods.compare(PLANTED)
    assert methods._pair(found.ranks, "alpha-avg", "alpha-max") == pytest.approx(-1)
    assert methods._pair(found.ranks, "alpha-avg", "LIME") == pytest.approx(0.8)
    assert methods._pair(found.sizes, "alpha-avg", "LIME") == pytest.approx(1)
    assert methods._pair(found.signs, "alpha-avg", "LIME") == 0.5
    assert methods._pair(found.signs, "alpha-avg", "alpha-max") == 0
    assert found.negative.tolist() == [0, 0, 0, 0, 0, 0, 0.5]


def test_the_sample_is_a_mean_over_texts_with_two_words():
    module, texts = random_layer(), [some_ids(5), some_ids(9, seed=1), np.array([1, 0, 7])]
    each = [methods.compare(seven_explanations(module, ids)) for ids in texts[:2]]
    sample = methods.measure(module, texts)
    assert sample.texts == 2
    assert sample.ranks == pytest.approx((each[0].ranks + each[1].ranks) / 2)
    assert sample.signs == pytest.approx((each[0].signs + each[1].signs) / 2)


def test_unknown_words_are_left_out():
    ids = np.array([1, 5, 0, 6, 0])
    scores = {name: np.array([9.0, 1, 2]) for name in EXPLANATIONS}
    assert methods._of_known_words(scores, ids)["LIME"].tolist() == [1, 2]
    assert methods.by_place(scores, ids)["LIME"].tolist() == [1, 9, 2, 9]


def test_only_signed_explanations_see_the_last_layer():
    turned = methods.turned_round(random_layer(), some_ids(8))
    assert {name for name in EXPLANATIONS if turned[name] < -0.999} == set(SIGNED)
    assert {name for name in EXPLANATIONS if turned[name] > 0.999} == set(EXPLANATIONS) - set(
        SIGNED
    )


def test_findings_follow_the_numbers():
    found = methods.compare(PLANTED)
    turned = dict.fromkeys(EXPLANATIONS, 1.0) | {"LIME": -1.0}
    disagree, negative, last, nearest = methods.findings(found, found, turned)
    assert "The seven disagree" in disagree
    assert "between -1.00 and 1.00; 6 of 21 pairs" in disagree
    assert "Attention is never negative; LIME is negative on 50%" in negative
    assert "differ in it on 50%" in negative
    assert "LIME turn round with it" in last
    assert "0.80 with LIME's signed scores and 1.00 with their sizes" in nearest
    alike = methods.compare(dict.fromkeys(EXPLANATIONS, UP))
    assert "agree more than the paper says" in methods.findings(alike, alike, turned)[0]
    broken = replace(found, negative=np.full(7, 0.25))
    assert "Attention is negative on 25.0%" in methods.findings(found, broken, turned)[1]


def test_the_whole_run(toy, tmp_path):
    outcome = methods.run(toy, methods.SETTINGS["tiny"])
    ranks, mean, signs, by_method, _ = outcome.tables
    assert [row[0] for row in ranks.rows] == [
        "α-avg",
        "α-max",
        "G-avg",
        "G-l1",
        "G-l2",
        "G×I",
        "LIME",
    ]
    assert ranks.rows[0][1] == mean.rows[0][1] == "1.00"
    assert signs.rows[0][2] == "0%"
    assert [row[1] for row in by_method.rows[:2]] == ["0%", "0%"]
    assert save_figures(outcome, tmp_path) == ["correlations", "highlights"]


def test_highlighted_words_stay_inside_the_page_and_apart():
    text = "A long sentence, whose words do not all fit on one line of the page. " * 4
    tokens = tuple(re.findall(r"\w+|[,.]", text))
    sentence = Sentence("x", text, tokens, np.arange(len(tokens) + 1))
    words = seven_figures._words(np.linspace(-1, 2, len(tokens)), sentence)
    assert [word.text for word in words] == list(tokens)
    assert words[-1].line > 1
    assert max(word.left + word.width for word in words) <= seven_figures.WIDTH
    for one, other in pairwise(words):
        same_line = one.line == other.line
        assert other.left >= one.left + one.width - 1e-9 if same_line else other.line > one.line
    assert words[-1].strength == 1
