"""SLALOM and the process together: what a reader gets, against enumeration."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piste.result.format import jsonable
from piste.result.formula import Formula
from piste.result.parts import PartAnswers
from piste.surrogates import parts as parts_module
from piste.surrogates.context import fit_context
from piste.surrogates.parts import PartSurrogate, ends, like_the_text
from piste.surrogates.shapley import all_coalitions, exact_shapley
from tests.surrogates.test_context import asked_parts
from tests.surrogates.test_effects import (
    ALL,
    INTERACTION,
    PAIRS,
    PLAYERS,
    SHAPLEY,
    answers_covariance,
    interaction_row,
    random_formula,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def a_game(seed: int, players: int):
    """Singles, three pairs and a squashing: no surrogate has its form."""
    rng = np.random.default_rng(seed)
    singles, pairs = rng.normal(size=players), rng.integers(0, players, size=(3, 2))

    def game(parts):
        together = 2.0 * sum(parts[:, i] * parts[:, j] for i, j in pairs)
        return 3 * np.tanh((parts @ singles + together) / 3)

    return game


def a_surrogate(
    seed: int, players: int = PLAYERS, asked: int = 60, *, mean: bool = True, outputs: int = 1
) -> PartSurrogate:
    rng = np.random.default_rng(seed)
    parts = asked_parts(rng, players, asked)
    answers = np.stack([a_game(seed + k, players)(parts) for k in range(outputs)], axis=1)
    means = tuple(random_formula(seed + k, players) for k in range(outputs)) if mean else ()
    prior = sum(
        (m.scores(parts)[:, None] * (np.arange(outputs) == k) for k, m in enumerate(means)),
        np.zeros_like(answers),
    )
    inside = like_the_text(parts)
    process = fit_context(parts[inside], (answers - prior)[inside], exact=ends(parts)[inside])
    return PartSurrogate(process, means, np.arange(players), parts, answers, np.arange(players))


# Which parts


def test_parts_that_are_too_short_are_left_to_the_mean():
    parts = np.zeros((4, 40), dtype=bool)
    parts[1, :3], parts[2, :4], parts[3] = True, True, True
    assert like_the_text(parts).tolist() == [True, False, True, True]
    assert ends(parts).tolist() == [True, False, False, True]


# Predictions


@pytest.mark.parametrize("mean", [False, True])
def test_a_prediction_is_the_mean_and_the_process_and_of_what_was_asked_the_answer(mean):
    surrogate = a_surrogate(0, mean=mean, outputs=2)
    scores, errors = surrogate.predict(ALL), surrogate.errors(ALL)
    index = {part.tobytes(): k for k, part in enumerate(ALL)}
    known = np.array([index[part.tobytes()] for part in surrogate.parts])
    assert (scores[known] == surrogate.answers).all()
    assert (errors[known] == 0).all()
    rest = np.setdiff1d(np.arange(len(ALL)), known)
    expected = surrogate.process.predict(ALL[rest])
    for output, formula in enumerate(surrogate.means):
        expected[:, output] += formula.scores(ALL[rest])
    assert scores[rest] == pytest.approx(expected, abs=1e-12)
    assert (errors[rest] > 0).all()


def test_a_good_game_is_predicted():
    surrogate, game = a_surrogate(3, asked=100), a_game(3, PLAYERS)
    held = ALL[surrogate.errors(ALL)[:, 0] > 0]
    truth = game(held)
    gaps = surrogate.predict(held)[:, 0] - truth
    assert 1 - np.mean(gaps**2) / np.var(truth) > 0.9


@given(st.integers(0, 10**6), st.integers(2, 30), st.booleans())
@settings(max_examples=15, deadline=None)
def test_what_is_stored_predicts_the_same(seed, players, mean):
    surrogate = a_surrogate(seed, players, 24, mean=mean)
    kept = json.loads(json.dumps(surrogate.stored(), default=jsonable))
    kept |= {name: np.array(kept[name]) for name in ("answers", "relevances")}
    formula = random_formula(seed, players)  # an explanation has one, also where it is not the mean
    again = PartSurrogate.of(PartAnswers(**kept), formula, surrogate.groups, surrogate.reads)
    new = np.random.default_rng(seed).random((20, players)) < 0.5
    assert again.predict(new) == pytest.approx(surrogate.predict(new), abs=1e-9)
    assert again.errors(new) == pytest.approx(surrogate.errors(new), abs=1e-9)
    assert again.effects == pytest.approx(surrogate.effects, abs=1e-9)
    assert again.effect_errors == pytest.approx(surrogate.effect_errors, abs=1e-9)
    assert again.interactions()[1] == pytest.approx(surrogate.interactions()[1], abs=1e-9)


# Effects


@given(st.integers(0, 10**6), st.integers(2, 40), st.booleans())
@settings(max_examples=15, deadline=None)
def test_effects_add_up_to_the_answers_at_both_ends(seed, players, mean):
    surrogate = a_surrogate(seed, players, 20, mean=mean, outputs=2)
    whole, empty = surrogate.answers[0], surrogate.answers[1]
    assert surrogate.parts[0].all()
    assert not surrogate.parts[1].any()
    scale = np.abs(surrogate.effects).max()
    total = surrogate.effects.sum(axis=0)
    assert total == pytest.approx(whole - empty, abs=1e-12 * players * max(1.0, scale))


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_effects_are_shapley_values_of_what_is_predicted(seed, mean):
    surrogate = a_surrogate(seed, mean=mean, outputs=2)
    assert surrogate.effects == pytest.approx(SHAPLEY @ surrogate.predict(ALL), abs=1e-7)
    covariance = SHAPLEY @ answers_covariance(surrogate.process, ALL) @ SHAPLEY.T
    errors = surrogate.process.scaled(np.diag(covariance))
    assert surrogate.effect_errors == pytest.approx(errors, abs=1e-5)


def test_once_everything_was_asked_nothing_is_left_to_estimate():
    game = a_game(0, 5)
    every = all_coalitions(5)
    order = np.random.default_rng(0).permutation(len(every))
    parts, answers = every[order], game(every)[order][:, None]
    process = fit_context(parts, answers, exact=ends(parts))
    surrogate = PartSurrogate(process, (), np.arange(5), parts, answers, np.arange(5))
    assert surrogate.complete
    assert surrogate.effects[:, 0] == pytest.approx(exact_shapley(every, game(every)))
    assert (surrogate.effect_errors == 0).all()
    pairs, values, errors = surrogate.strongest_pairs(4)
    expected = [interaction_row(5, *pair) @ game(every) for pair in pairs]
    assert values == pytest.approx(expected)
    assert (errors == 0).all()
    part = PartSurrogate(process, (), np.arange(5), parts[1:], answers[1:], np.arange(5))
    assert not part.complete


def test_removals_are_falls_of_the_score():
    surrogate = a_surrogate(1)
    falls, errors = surrogate.removals()
    without = ~np.eye(PLAYERS, dtype=bool)
    assert falls == pytest.approx(surrogate.answers[0] - surrogate.predict(without), abs=1e-12)
    assert errors == pytest.approx(surrogate.errors(without), abs=1e-12)


# Pairs


def test_pairs_are_interactions_of_what_is_predicted():
    for mean in (False, True):
        surrogate = a_surrogate(2, mean=mean)
        game = surrogate.predict(ALL)[:, 0]  # of parts that were asked, the model's own answers
        chosen, matrix, sampled = surrogate.interactions()
        assert (sampled == 0).all()  # of so few players nothing is
        assert chosen.tolist() == list(range(PLAYERS))
        first, second = PAIRS.T
        assert matrix[first, second] == pytest.approx(INTERACTION @ game, abs=1e-7)


def test_the_strongest_pairs_come_first_with_their_errors():
    surrogate = a_surrogate(2, mean=False)
    pairs, values, errors = surrogate.strongest_pairs(6)
    matrix = surrogate.interactions()[1]
    sizes = np.sort(np.abs(matrix[np.triu_indices(PLAYERS, k=1)]))[::-1]
    assert np.abs(values) == pytest.approx(sizes[:6])
    assert values == pytest.approx(matrix[pairs[:, 0], pairs[:, 1]])
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert errors == pytest.approx(surrogate.effects_of.interaction_errors(pairs))
    assert len(surrogate.strongest_pairs(1000)[1]) == len(PAIRS)
    assert surrogate.strongest_pairs(0)[0].shape == (0, 2)


def test_errors_of_pairs_hold_what_sampling_leaves_open():
    surrogate = a_surrogate(4, 30, 60)
    pairs, _, errors = surrogate.strongest_pairs(5)
    sampled = surrogate.interactions()[2][pairs[:, 0], pairs[:, 1]]
    own = surrogate.effects_of.interaction_errors(pairs)
    assert (sampled > 0).all()
    assert errors == pytest.approx(np.sqrt(own**2 + sampled))


def test_in_long_texts_pairs_are_sought_among_the_most_relevant(monkeypatch):
    whole = a_surrogate(4, 30, 60)
    matrix = whole.interactions()[1]
    monkeypatch.setattr(parts_module, "MOST_PAIRED", 6)
    chosen, some, _ = whole.interactions()
    relevances = whole.process.kernel.relevances
    assert set(chosen.tolist()) == set(np.argsort(-relevances)[:6].tolist())
    assert some == pytest.approx(matrix[np.ix_(chosen, chosen)], abs=1e-9)
    assert np.isin(whole.strongest_pairs(5)[0], chosen).all()


# SLALOM by itself


@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
@settings(max_examples=50, deadline=None)
def test_the_formula_says_of_a_part_what_slalom_does(seed, players, frame):
    """Its weighted mean, written out, with level and scale between the knots."""
    formula = random_formula(seed, players, frame=frame, spread=3.0)
    parts = np.random.default_rng(seed).random((8, players)) < 0.5
    for part, score in zip(parts, formula.scores(parts), strict=True):
        values = [*formula.values[part], *([0.3] if frame else [])]
        weights = np.exp([*formula.importances[part], *([0.5] if frame else [])])
        if not len(values):
            assert score == pytest.approx(formula.values.mean())
            continue
        at = np.log(max(1, part.sum()))
        level = np.interp(at, np.log(formula.lengths), formula.level)
        scale = np.interp(at, np.log(formula.lengths), formula.scale)
        assert score == pytest.approx(level + scale * (weights @ values) / weights.sum())
        assert formula.score(np.flatnonzero(part).tolist()) == pytest.approx(score)


def test_importances_far_apart_neither_overflow_nor_vanish():
    formula = Formula.plain(np.array([1.0, -2.0]), np.array([1000.0, -1000.0]))
    scores = formula.scores(np.array([[True, True], [False, True], [False, False]]))
    assert scores == pytest.approx([1.0, -2.0, -0.5])
