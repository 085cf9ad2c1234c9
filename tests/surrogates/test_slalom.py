from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from piste.arrays import Ragged
from piste.surrogates.slalom.model import FramePlayer, SlalomModel, count_matrix, slalom_scores


def random_model(players: int, seed: int = 0, *, frame: bool = False, outputs: int = 1):
    rng = np.random.default_rng(seed)
    always = FramePlayer(rng.normal(size=outputs), float(rng.normal())) if frame else None
    return SlalomModel(rng.normal(size=(players, outputs)), rng.normal(size=players), always)


def brute_force(model: SlalomModel, tokens: list[int], output: int = 0) -> float:
    """The paper's equation, token by token."""
    weights = [np.exp(model.importances[t]) for t in tokens]
    values = [model.values[t, output] for t in tokens]
    if model.frame is not None:
        weights.append(np.exp(model.frame.importance))
        values.append(model.frame.value[output])
    return float(np.dot(weights, values) / np.sum(weights))


sequences = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=7), min_size=1, max_size=5)


@given(sequences, st.booleans(), st.integers(0, 50))
def test_prediction_is_the_papers_equation_with_multiplicities(rows, frame, seed):
    model = random_model(5, seed, frame=frame, outputs=2)
    predicted = model.predict(count_matrix(Ragged.of(rows), np.arange(5), 5))
    for row, prediction in zip(rows, predicted, strict=True):
        expected = [brute_force(model, row, output) for output in (0, 1)]
        assert prediction == pytest.approx(expected)


def test_counts_go_by_group_and_leave_the_rows_alone():
    rows = Ragged.of([[0, 1, 2], [2, 2]])
    counts = count_matrix(rows, np.array([0, 1, 0]), 2)
    assert counts.toarray().tolist() == [[2, 1], [2, 0]]
    assert [rows.row(0).tolist(), rows.row(1).tolist()] == [[0, 1, 2], [2, 2]]


@pytest.mark.parametrize("frame", [False, True])
def test_normalising_and_affine_maps_stay_in_the_model_class(frame):
    model = random_model(6, frame=frame)
    counts = count_matrix(Ragged.of([[0, 1, 1], [5], [2, 3, 4]]), np.arange(6), 6)
    shifted = model.normalised(1.0)
    assert shifted.importances.sum() == pytest.approx(1.0)
    assert shifted.predict(counts) == pytest.approx(model.predict(counts))
    scaled = model.affine(-2.0, np.array([3.0]))
    assert scaled.predict(counts) == pytest.approx(3 - 2 * model.predict(counts))
    assert (scaled.importances == model.importances).all()


def test_huge_importances_do_not_overflow():
    model = SlalomModel(
        np.array([[1.0], [2.0]]), np.array([5000.0, -5000.0]), FramePlayer(np.ones(1), 0)
    )
    assert model.predict(sparse.csr_array([[1.0, 1.0]])) == pytest.approx(1.0)


GROUPS = np.array([0, 1, 2, 1, 3])  # a text whose second and fourth word are the same


@pytest.mark.parametrize("frame", [False, True])
def test_removal_is_what_removing_one_occurrence_does(frame):
    model = random_model(4, frame=frame).normalised()
    removal = slalom_scores(model, GROUPS, np.random.default_rng(0))["removal"]
    tokens = GROUPS.tolist()
    for index in range(len(tokens)):
        without = tokens[:index] + tokens[index + 1 :]
        expected = brute_force(model, tokens) - brute_force(model, without)
        assert removal[index] == pytest.approx(expected)


@pytest.mark.parametrize("dominance", [5.0, 38.0, 50.0, 200.0])
def test_removal_of_a_player_that_outweighs_all_others(dominance):
    model = SlalomModel(np.array([[0.3], [-1.1], [0.7]]), np.array([dominance, 0.0, 0.0]))
    removal = slalom_scores(model, np.arange(3), np.random.default_rng(0))["removal"]
    whole = brute_force(model, [0, 1, 2])
    assert removal[0] == pytest.approx(whole - (-1.1 + 0.7) / 2)
    assert removal[1] == pytest.approx(whole - brute_force(model, [0, 2]), abs=1e-12)


def test_importances_far_apart_still_count():
    model = SlalomModel(np.array([[1.0], [2.0]]), np.array([0.0, -50.0]))
    assert model.alone()[1, 0] == pytest.approx(2.0)
    counts = sparse.csr_array([[1.0, 1e21]])
    expected = (1 + 2e21 * np.exp(-50)) / (1 + 1e21 * np.exp(-50))
    assert model.predict(counts)[0, 0] == pytest.approx(expected)


def test_lin_is_value_times_weight():
    model = random_model(4, frame=True).normalised()
    scores = slalom_scores(model, GROUPS, np.random.default_rng(0))
    assert scores["lin"] == pytest.approx(scores["value"] * np.exp(scores["importance"]))


@pytest.mark.parametrize("frame", [False, True])
def test_value_is_what_the_surrogate_says_of_the_player_alone(frame):
    model = random_model(4, frame=frame)
    scores = slalom_scores(model, GROUPS, np.random.default_rng(0))
    expected = [brute_force(model, [group]) for group in GROUPS.tolist()]
    assert scores["value"] == pytest.approx(expected)


def brute_shapley(model: SlalomModel, tokens: list[int]) -> list[float]:
    empty = 0.0 if model.frame is None else float(model.frame.value[0])
    total = np.zeros(len(tokens))
    orders = list(permutations(range(len(tokens))))
    for order in orders:
        before = empty
        for position, player in enumerate(order):
            after = brute_force(model, [tokens[i] for i in order[: position + 1]])
            total[player] += after - before
            before = after
    return (total / len(orders)).tolist()


@pytest.mark.parametrize("frame", [False, True])
def test_shapley_values_are_exact_for_few_players(frame):
    model = random_model(4, frame=frame)
    scores = slalom_scores(model, GROUPS, np.random.default_rng(0))
    assert scores["shapley"] == pytest.approx(brute_shapley(model, GROUPS.tolist()))


@pytest.mark.parametrize("frame", [False, True])
def test_sampled_shapley_values_come_close_and_sum_exactly(frame, monkeypatch):
    model = random_model(4, frame=frame)
    exact = slalom_scores(model, GROUPS, np.random.default_rng(0))["shapley"]
    monkeypatch.setattr("piste.surrogates.slalom.model.EXACT_SHAPLEY", 0)
    sampled = slalom_scores(model, GROUPS, np.random.default_rng(0))["shapley"]
    assert sampled == pytest.approx(exact, abs=0.02)
    empty = 0.0 if model.frame is None else float(model.frame.value[0])
    assert sampled.sum() == pytest.approx(brute_force(model, GROUPS.tolist()) - empty)
    assert sampled[1] == sampled[3]


def test_one_player_alone():
    model = SlalomModel(np.array([[2.5]]), np.array([0.0]))
    scores = slalom_scores(model, np.array([0]), np.random.default_rng(0))
    assert {name: score.tolist() for name, score in scores.items()} == {
        "value": [2.5], "importance": [0.0], "lin": [2.5], "removal": [2.5], "shapley": [2.5],
    }  # fmt: skip


def test_a_player_that_takes_all_attention_has_finite_scores():
    model = SlalomModel(np.array([[1.0], [-1.0]]), np.array([400.0, -400.0]))
    scores = slalom_scores(model, np.array([0, 1]), np.random.default_rng(0))
    assert all(np.isfinite(score).all() for score in scores.values())
