"""Shapley values and interactions in closed form: the same by enumeration of all parts."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from piste.result.formula import Formula
from piste.result.parts import NEAR
from piste.surrogates import effects, mean_effects
from piste.surrogates.context import Process, distinct, fit_context, shortfall
from piste.surrogates.effects import Effects, removal_parts
from piste.surrogates.mean_effects import mean_interactions, mean_shapley
from piste.surrogates.parts import ends
from piste.surrogates.shapley import (
    all_coalitions,
    exact_shapley,
    pair_weights,
    part_interactions,
)
from tests.surrogates.test_context import (
    Z90,
    asked_parts,
    binomial_slack,
    random_kernel,
    random_process,
)

pytestmark = pytest.mark.usefixtures("one_thread")

PLAYERS = 8


def shapley_rows(players: int) -> np.ndarray:
    """Shapley values as linear functionals of a game [players, 2^players]."""
    member = all_coalitions(players)
    rows = np.zeros((players, len(member)))
    for player in range(players):
        for without in np.flatnonzero(~member[:, player]):
            share = 1 / (players * comb(players - 1, int(member[without].sum())))
            rows[player, without] -= share
            rows[player, without + (1 << player)] += share
    return rows


def interaction_row(players: int, first: int, second: int) -> np.ndarray:
    """The interaction of a pair as a linear functional [2^players]: the mean second difference,
    where each of the others is kept with probability t, over t from NEAR to 1.
    """
    member = all_coalitions(players)
    row = np.zeros(len(member))
    one, two = 1 << first, 1 << second
    for without in np.flatnonzero(~member[:, first] & ~member[:, second]):
        kept = int(member[without].sum())
        gone = players - 2 - kept
        share = quad(lambda t, k=kept, g=gone: t**k * (1 - t) ** g, NEAR, 1)[0] / (1 - NEAR)
        row[[without, without + one + two]] += share
        row[[without + one, without + two]] -= share
    return row


def answers_covariance(process: Process, every: np.ndarray) -> np.ndarray:
    """Posterior covariance of the answers to all parts, each with noise of its own."""
    bits = 1 << np.arange(every.shape[1])
    seen = process.parts @ bits
    noises = np.full(len(every), process.kernel.noise)
    noises[seen] = process.noises
    covariance = process.kernel.between(every, every) + np.diag(noises)
    known = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[seen])
    return covariance - covariance[:, seen] @ known


def asked_once(process: Process) -> Process:
    """The same without repeats, and with both ends to be met."""
    some = np.unique(process.parts, axis=0, return_index=True)[1]
    parts = process.parts[some]
    return replace(process, parts=parts, residuals=process.residuals[some], exact=ends(parts))


ALL = all_coalitions(PLAYERS)
SHAPLEY = shapley_rows(PLAYERS)
PAIRS = np.array([(i, j) for i in range(PLAYERS) for j in range(i + 1, PLAYERS)])
INTERACTION = np.array([interaction_row(PLAYERS, *pair) for pair in PAIRS])


def test_the_functionals_are_those_of_the_definition():
    """A game of singles and one pair: half of the pair to each, all of it between them."""
    game = ALL @ np.arange(8.0) + 3.0 * (ALL[:, 1] & ALL[:, 4])
    expected = np.arange(8.0) + 1.5 * np.isin(np.arange(8), [1, 4])
    assert SHAPLEY @ game == pytest.approx(expected)
    assert exact_shapley(ALL, game) == pytest.approx(expected)
    everybody = np.arange(PLAYERS)
    assert part_interactions(ALL, game, everybody)[1, 4] == pytest.approx(3.0)
    matrix = part_interactions(ALL, np.sin(game), everybody)
    assert matrix[tuple(PAIRS.T)] == pytest.approx(INTERACTION @ np.sin(game))
    assert matrix == pytest.approx(matrix.T)
    assert pytest.approx(INTERACTION, abs=1e-12) == pair_weights(ALL, PAIRS).T
    some = part_interactions(ALL, np.sin(game), everybody[[2, 5]])
    assert some[0, 1] == pytest.approx(matrix[2, 5])
    found = dict(zip(map(tuple, PAIRS.tolist()), INTERACTION @ game, strict=True))
    assert found.pop((1, 4)) == pytest.approx(3.0)
    assert list(found.values()) == pytest.approx([0.0] * 27, abs=1e-12)


# The process, in closed form


@pytest.mark.parametrize("seed", range(4))
def test_shapley_values_and_their_variances_are_those_of_enumeration(seed):
    process = asked_once(random_process(seed))
    closed = Effects(process)
    assert closed.shapley() == pytest.approx(SHAPLEY @ process.predict(ALL), abs=1e-8)
    expected = np.diag(SHAPLEY @ answers_covariance(process, ALL) @ SHAPLEY.T)
    assert closed.shapley_variances() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_interactions_and_their_errors_are_those_of_enumeration(seed):
    process = asked_once(random_process(seed))
    closed = Effects(process)
    first, second = PAIRS.T
    matrix = closed.interactions()
    expected = INTERACTION @ process.predict(ALL)[:, 0]
    assert matrix[first, second] == pytest.approx(expected, abs=1e-8)
    assert matrix == pytest.approx(matrix.T, abs=1e-9)
    assert (np.diag(matrix) == 0).all()
    covariance = INTERACTION @ answers_covariance(process, ALL) @ INTERACTION.T
    errors = np.sqrt(np.diag(covariance) * process.amplitude[0] * process.inflation)
    assert closed.interaction_errors(PAIRS) == pytest.approx(errors, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_covariances_of_shapley_values_with_answers_are_those_of_enumeration(seed):
    process = random_process(seed)
    some = ALL[np.random.default_rng(seed).permutation(len(ALL))[:20]]
    expected = SHAPLEY @ process.covariance(ALL, some)
    assert Effects(process).covariance(some) == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(2, 40))
@settings(max_examples=25, deadline=None)
def test_any_number_of_players(seed, players, asked):
    process = asked_once(random_process(seed, players, asked, outputs=1))
    closed, every, rows = Effects(process), all_coalitions(players), shapley_rows(players)
    assert closed.shapley() == pytest.approx(rows @ process.predict(every), abs=1e-6)
    expected = np.diag(rows @ answers_covariance(process, every) @ rows.T)
    assert closed.shapley_variances() == pytest.approx(expected, abs=1e-7)
    pair = interaction_row(players, 0, 1) @ process.predict(every)[:, 0]
    assert closed.interactions()[0, 1] == pytest.approx(pair, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 60))
@settings(max_examples=25, deadline=None)
def test_effects_of_the_process_sum_to_the_whole_less_the_empty_text(seed, players):
    process = random_process(seed, players, 20, outputs=2)
    both = np.stack([np.ones(players, dtype=bool), np.zeros(players, dtype=bool)])
    whole, empty = process.predict(both)
    assert Effects(process).shapley().sum(axis=0) == pytest.approx(whole - empty, abs=1e-7)


@pytest.mark.parametrize(("players", "nodes"), [(48, 48), (49, 60), (100, 60), (300, 70)])
def test_the_quadrature_is_exact_or_as_good_as_one_with_many_more_nodes(
    monkeypatch, players, nodes
):
    process = random_process(players, players, 30, outputs=1)
    pairs = np.array([(0, 1), (3, players - 1)])
    few = Effects(process)
    some = few.shapley(), few.shapley_variances(), few.interaction_errors(pairs)
    assert len(few.quadrature()[0]) == 24
    monkeypatch.setattr(effects, "NODES", nodes)
    many = Effects(process)
    assert len(many.quadrature()[0]) == min(nodes, players // 2 + 1)
    scale = float(np.abs(many.shapley()).max())
    assert some[0] == pytest.approx(many.shapley(), abs=1e-9 * scale)
    assert some[1] == pytest.approx(many.shapley_variances(), abs=1e-11)
    assert some[2] == pytest.approx(many.interaction_errors(pairs), rel=1e-4, abs=1e-7)
    assert few.interactions() == pytest.approx(many.interactions(), abs=1e-9 * scale)


def test_removals_are_the_whole_text_and_each_player_gone():
    parts = removal_parts(3)
    assert parts.astype(int).tolist() == [[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]]


# Planted games


@pytest.mark.parametrize("seed", range(3))
def test_planted_singles_and_pairs_are_recovered_within_their_errors(seed):
    rng = np.random.default_rng(seed)
    players, noise = 10, 0.05
    singles = rng.normal(size=players)
    planted = {(0, 3): 2.5, (2, 7): -2.0, (5, 9): 1.5}

    def game(parts):
        together = sum(size * parts[:, i] * parts[:, j] for (i, j), size in planted.items())
        return (parts @ singles + together)[:, None]

    parts = asked_parts(rng, players, 150)
    answers = game(parts) + noise * rng.normal(size=(len(parts), 1))
    process = fit_context(parts, answers)
    closed = Effects(process)
    truth = exact_shapley(all_coalitions(players), game(all_coalitions(players))[:, 0])
    errors = process.scaled(closed.shapley_variances())[:, 0]
    assert np.corrcoef(closed.shapley()[:, 0], truth)[0, 1] > 0.995
    # ten errors at most: four deviations are exceeded once in a thousand runs
    assert (np.abs(closed.shapley()[:, 0] - truth) < 4 * errors).all()
    matrix = closed.interactions()
    first, second = np.triu_indices(players, k=1)
    order = np.argsort(-np.abs(matrix[first, second]))[:3]
    assert {(int(first[k]), int(second[k])) for k in order} == set(planted)
    pairs = np.stack([first, second], axis=1)
    true = np.array([planted.get((int(i), int(j)), 0.0) for i, j in pairs])
    assert (np.abs(matrix[first, second] - true) < 4 * closed.interaction_errors(pairs)).all()


def covered(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Which held-out answers and Shapley values of a game drawn from the prior are covered."""
    rng = np.random.default_rng(seed)
    kernel = random_kernel(rng, PLAYERS)
    root = np.linalg.cholesky(kernel.between(ALL, ALL) + 1e-9 * np.eye(len(ALL)))
    game = root @ rng.normal(size=len(ALL))
    answers = game + np.sqrt(kernel.noise) * rng.normal(size=len(ALL))
    parts = distinct(asked_parts(rng, PLAYERS, 64))
    seen = parts @ (1 << np.arange(PLAYERS))
    process = fit_context(parts, answers[seen][:, None])
    process = replace(process, inflation=shortfall(process, np.zeros(PLAYERS)))
    held = np.setdiff1d(np.arange(len(ALL)), seen)
    gaps = np.abs(process.predict(ALL[held])[:, 0] - answers[held])
    closed = Effects(process)
    errors = process.scaled(closed.shapley_variances())[:, 0]
    surprises = answers[seen] - process.predict(parts)[:, 0]
    off = np.abs(closed.shapley()[:, 0] + SHAPLEY[:, seen] @ surprises - SHAPLEY @ answers)
    return gaps <= Z90 * process.errors(ALL[held])[:, 0], off <= Z90 * errors


def test_intervals_cover_the_truth_on_games_drawn_from_the_prior():
    """The kernel is fitted. Errors of one game go together: it counts as a draw a player."""
    games = 60
    inside = [covered(seed) for seed in range(games)]
    slack = binomial_slack(0.9, games * PLAYERS)  # 0.055
    for shares in zip(*inside, strict=True):
        assert abs(np.mean([share.mean() for share in shares]) - 0.9) < slack


def test_intervals_of_shapley_values_cover_what_they_say_where_the_kernel_is_known():
    """Games as outputs of one process: independent draws, so the tolerance is the binomial one."""
    games, rng = 3000, np.random.default_rng(1)
    kernel = random_kernel(rng, PLAYERS)
    root = np.linalg.cholesky(kernel.between(ALL, ALL) + 1e-9 * np.eye(len(ALL)))
    worths = root @ rng.normal(size=(len(ALL), games))
    seen = rng.permutation(len(ALL))[:50]
    answers = worths[seen] + np.sqrt(kernel.noise) * rng.normal(size=(50, games))
    none = np.zeros(50, dtype=bool)
    process = Process(kernel, ALL[seen], answers, none, np.ones(games))
    closed = Effects(process)
    errors = process.scaled(closed.shapley_variances())
    inside = (np.abs(closed.shapley() - SHAPLEY @ worths) <= Z90 * errors).mean(axis=1)
    assert np.abs(inside - 0.9).max() < binomial_slack(0.9, games)
    pairs = closed.interaction_errors(PAIRS)[0]  # of the first output; all amplitudes are equal
    first = np.array(
        [Effects(process.conditioned(answers[:, [k]])).interactions()[0, 1] for k in range(400)]
    )
    truth = INTERACTION[0] @ worths[:, :400]
    assert abs(np.mean(np.abs(first - truth) <= Z90 * pairs) - 0.9) < binomial_slack(0.9, 400)


# The mean


def random_formula(seed: int, players: int, *, frame: bool = True, spread: float = 1.0) -> Formula:
    rng = np.random.default_rng(seed)
    return Formula(
        values=rng.normal(size=players),
        importances=spread * rng.normal(size=players),
        frame=(0.3, 0.5) if frame else None,
        lengths=np.array([1.0, 3.0, float(players + 3)]),
        level=np.array([0.0, 0.2, -0.4]),
        scale=np.array([1.0, 1.2, 2.0]),
    )


def alike(players: int) -> np.ndarray:
    return np.arange(players, dtype=np.int64)


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_shapley_values_of_the_mean_are_those_of_enumeration(monkeypatch, frame, exact):
    formula = random_formula(0, PLAYERS, frame=frame)
    expected = SHAPLEY @ formula.scores(ALL)
    if not exact:
        monkeypatch.setattr(mean_effects, "EXACT_SHAPLEY", 0)
    found, _ = mean_shapley(formula, alike(PLAYERS), np.random.default_rng(0))
    # 25,000 orders, whose gains deviate by about 1: 0.006, and four times that
    assert found == pytest.approx(expected, abs=1e-9 if exact else 0.025)
    both = formula.scores(np.stack([ALL[-1], ALL[0]]))
    assert found.sum() == pytest.approx(both[0] - both[1], abs=1e-9)


def test_equal_players_have_equal_shapley_values_where_they_are_sampled():
    formula = random_formula(1, 30)
    groups = np.arange(30) % 10
    same = Formula(
        formula.values[groups],
        formula.importances[groups],
        formula.frame,
        formula.lengths,
        formula.level,
        formula.scale,
    )
    found, _ = mean_shapley(same, groups, np.random.default_rng(0))
    assert found[:10] == pytest.approx(found[10:20], abs=1e-12)
    ends_of = same.scores(np.stack([np.ones(30, dtype=bool), np.zeros(30, dtype=bool)]))
    assert found.sum() == pytest.approx(ends_of[0] - ends_of[1], abs=1e-9)


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_interactions_of_the_mean_are_those_of_enumeration(monkeypatch, frame, exact):
    formula = random_formula(2, PLAYERS, frame=frame)
    chosen = np.array([0, 2, 3, 7])
    if not exact:
        monkeypatch.setattr(mean_effects, "EXACT_SHAPLEY", 0)
        monkeypatch.setattr(mean_effects, "COMPANIES", 6400)
    found, variances = mean_interactions(formula, chosen, np.random.default_rng(0))
    assert (variances == 0).all() == exact
    for i, first in enumerate(chosen):
        for j, second in enumerate(chosen):
            row = interaction_row(PLAYERS, first, second) if i != j else np.zeros(len(ALL))
            # stratified by size, so rather less than the error of independent companies
            slack = 1e-9 if exact else 5 * np.sqrt(variances[i, j])
            assert found[i, j] == pytest.approx(row @ formula.scores(ALL), abs=slack)


@given(st.integers(0, 10**6), st.floats(0, 60), st.booleans())
@settings(max_examples=40, deadline=None)
def test_second_differences_survive_importances_far_apart(seed, spread, frame):
    """Beside a player that outweighs all others a million times, too."""
    rng = np.random.default_rng(seed)
    formula = random_formula(seed, 7, frame=frame, spread=spread)
    kept, chosen = rng.random(7) < 0.7, np.sort(rng.permutation(7)[:5])
    found = mean_effects._second_differences(formula, kept, chosen)
    for i, j in zip(*np.triu_indices(5, k=1), strict=True):
        parts = np.tile(kept, (4, 1))
        parts[:, chosen[i]] = [True, True, False, False]
        parts[:, chosen[j]] = [True, False, True, False]
        expected = formula.scores(parts) @ [1.0, -1.0, -1.0, 1.0]
        assert found[i, j] == pytest.approx(expected, abs=1e-9)
        assert found[j, i] == pytest.approx(expected, abs=1e-9)


def test_sampled_shapley_values_of_a_mean_know_their_error():
    """Over many seeds they scatter as much as they say."""
    players = 20
    formula = random_formula(5, players)
    drawn = [mean_shapley(formula, alike(players), np.random.default_rng(s)) for s in range(60)]
    values, variances = (np.array(one) for one in zip(*drawn, strict=True))
    ratio = values.var(axis=0, ddof=1).mean() / variances.mean()
    assert 0.7 < ratio < 1.4
