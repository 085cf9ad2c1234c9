"""The process over parts fits whatever is asked: repeats, constants, two players, thousands."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piste.design.parts import left_out, paired_parts
from piste.surrogates import context
from piste.surrogates.context import distinct, fit_context
from piste.surrogates.parts import ends
from piste.surrogates.shapley import all_coalitions
from tests.surrogates.test_context import asked_parts

pytestmark = pytest.mark.usefixtures("one_thread")


@given(st.integers(0, 10**6), st.integers(1, 10), st.integers(2, 30))
@settings(max_examples=30, deadline=None)
def test_any_parts_and_answers_are_fitted(seed, players, count):
    """Duplicates, constant answers, contradictions, tiny and huge ones."""
    rng = np.random.default_rng(seed)
    parts = rng.random((count, players)) < rng.random()
    parts = parts[rng.integers(0, count, size=count)]
    answers = np.round(rng.normal(size=(count, 2))) * 10.0 ** rng.integers(-6, 7)
    process = fit_context(parts, answers, exact=ends(parts))
    new = rng.random((5, players)) < 0.5
    for numbers in (process.predict(new), process.errors(new), *process.left_out()):
        assert np.isfinite(numbers).all()
    assert (process.errors(new) >= 0).all()
    assert (process.amplitude > 0).all()


def test_duplicate_parts_are_averaged():
    rng = np.random.default_rng(0)
    parts = np.repeat(asked_parts(rng, 8, 30), 2, axis=0)
    truth = parts @ rng.normal(size=(8, 1))
    noise = 0.3 * rng.normal(size=truth.shape)
    noise[1::2] = -noise[::2]  # twins are off by the same, either way
    process = fit_context(parts, truth + noise)
    assert np.abs(process.predict(parts) - truth).max() < 0.1 * np.ptp(truth)


def test_noise_free_answers_are_met():
    rng = np.random.default_rng(0)
    parts = asked_parts(rng, 10, 120)
    answers = parts @ rng.normal(size=(10, 1))
    process = fit_context(parts, answers)
    assert process.kernel.noise < 1e-3
    assert process.predict(parts) == pytest.approx(answers, abs=0.01 * np.ptp(answers))
    new = distinct(all_coalitions(10), [parts])
    truth = answers[0] - (~new) @ (answers[0] - process.predict(left_out(10)))
    assert process.predict(new) == pytest.approx(truth, abs=0.03 * np.ptp(answers))


@pytest.mark.parametrize("level", [0.0, 3.0, -1e6])
def test_constant_answers_stay_constant(level):
    parts = asked_parts(np.random.default_rng(0), 6, 20)
    process = fit_context(parts, np.full((len(parts), 1), level), exact=ends(parts))
    predictions = process.predict(all_coalitions(6))
    assert predictions == pytest.approx(np.full((64, 1), level), abs=1e-3 * max(1.0, abs(level)))
    assert process.errors(all_coalitions(6)).max() < 0.1 * max(1e-3, abs(level))


def test_an_output_that_does_not_vary_leaves_the_others_alone():
    rng = np.random.default_rng(0)
    parts = asked_parts(rng, 8, 40)
    answers = parts @ rng.normal(size=(8, 1)) + 0.1 * rng.normal(size=(len(parts), 1))
    both = fit_context(parts, np.hstack([answers, np.zeros_like(answers)]))
    assert both.kernel.relevances == pytest.approx(fit_context(parts, answers).kernel.relevances)
    assert both.predict(parts)[:, 1] == pytest.approx(np.zeros(len(parts)))


@pytest.mark.parametrize(("players", "count"), [(2, 4), (2, 10), (2000, 10), (2000, 40)])
def test_few_and_many_players(players, count):
    rng = np.random.default_rng(0)
    parts = asked_parts(rng, players, count)
    strong = min(players, 5)
    answers = parts[:, :strong].sum(axis=1, keepdims=True) + 0.01 * rng.normal(size=(len(parts), 1))
    process = fit_context(parts, answers, exact=ends(parts))
    assert np.isfinite(process.kernel.relevances).all()
    assert process.predict(parts) == pytest.approx(answers, abs=0.8 * np.ptp(answers))
    assert process.predict(parts[:2]) == pytest.approx(answers[:2], abs=0.05)


def test_beyond_a_thousand_parts_the_kernel_comes_from_some_of_them(monkeypatch):
    """And the process still knows all answers."""
    rng = np.random.default_rng(0)
    parts = asked_parts(rng, 30, 240)
    order = rng.permutation(len(parts))
    parts = parts[order]
    answers = parts @ rng.normal(size=(30, 1)) + 0.05 * rng.normal(size=(len(parts), 1))
    monkeypatch.setattr(context, "MOST_FITTED", 120)
    fitted = context._fitted(ends(parts))
    assert len(np.unique(fitted)) == 120
    assert ends(parts)[fitted].sum() == 2
    process = fit_context(parts, answers, exact=ends(parts))
    assert len(process.parts) == len(parts)
    fewer = fit_context(parts[fitted], answers[fitted], exact=ends(parts)[fitted])
    assert process.kernel.relevances == pytest.approx(fewer.kernel.relevances)
    explained = np.mean(answers * process.weights)
    assert process.amplitude == pytest.approx([explained])
    new = distinct(paired_parts(rng, 30, 200), [parts])
    gaps = new @ np.linalg.lstsq(parts * 1.0, answers, rcond=None)[0] - process.predict(new)
    assert np.std(gaps) < 0.1 * np.std(answers)
