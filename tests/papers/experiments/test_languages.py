"""The made-up languages follow their laws."""

import numpy as np
import pytest
from scipy.special import expit

from papers.experiments.languages import (
    LONGEST,
    KnownSlalom,
    binomial_lengths,
    exactly,
    known_slalom,
    linear_language,
    slalom_language,
    up_to,
)
from piste.arrays import Ragged

LINEAR = linear_language()
NUMBER = {word: number for number, word in enumerate(LINEAR.words)}


def row(text: str) -> Ragged:
    return Ragged.of([[NUMBER[word] for word in text.split()]])


def test_the_linear_language_adds_up_the_papers_words():
    assert LINEAR.truth(row("perfect perfect worst good the movie"))[0] == pytest.approx(2.1)
    assert LINEAR.truth(row("ok bad best we watch"))[0] == pytest.approx(-0.6)
    assert len(LINEAR.words) == 10


def test_lengths():
    rng = np.random.default_rng(0)
    binomial = binomial_lengths(rng, 20_000)
    assert binomial.mean() == pytest.approx(15, abs=0.1)
    assert binomial.var() == pytest.approx(7.5, rel=0.05)
    assert binomial.min() >= 1
    assert sorted(set(up_to(LONGEST)(rng, 2000).tolist())) == list(range(1, LONGEST + 1))
    assert set(LINEAR.rows(rng, 5, exactly(7)).lengths.tolist()) == {7}


def test_no_text_is_empty():
    class Nothing:
        def binomial(self, longest, share, size):
            return np.zeros(size, dtype=np.int64)

    assert binomial_lengths(Nothing(), 3).tolist() == [1, 1, 1]


def test_words_are_drawn_evenly():
    rows = LINEAR.rows(np.random.default_rng(0), 4000)
    share = np.bincount(rows.values, minlength=10) / len(rows.values)
    assert share == pytest.approx(np.full(10, 0.1), abs=0.005)


def test_labels_are_drawn_from_the_log_odds():
    rng = np.random.default_rng(0)
    rows = Ragged.concat([row("good")] * 20_000)
    assert np.mean(LINEAR.labels(rng, rows)) == pytest.approx(expit(0.6), abs=0.015)


def test_texts_and_counts():
    assert LINEAR.texts(row("perfect the perfect")) == ["perfect the perfect"]
    counts = LINEAR.counts(row("perfect the perfect")).toarray()[0]
    assert counts[NUMBER["perfect"]] == 2
    assert counts.sum() == 3


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_known_slalom_is_correlated_as_told(correlation):
    model = known_slalom(KnownSlalom(words=12, strongest=3.0, correlation=correlation, seed=4))
    sizes = np.abs(model.values[:, 0])
    assert np.corrcoef(sizes, model.importances)[0, 1] == pytest.approx(correlation)
    assert model.importances.sum() == pytest.approx(0)
    assert model.importances.std() == pytest.approx(1)
    assert (model.values.min(), model.values.max()) == (-3, 3)


def test_the_slalom_language_is_the_softmax_mean():
    model, language = known_slalom(KnownSlalom()), slalom_language(KnownSlalom())
    weights = np.exp(model.importances[[2, 5]])
    expected = (2 * weights[0] * model.values[2, 0] + weights[1] * model.values[5, 0]) / (
        2 * weights[0] + weights[1]
    )
    assert language.truth(Ragged.of([[2, 5, 2]]))[0] == pytest.approx(expected)


def test_another_seed_is_another_slalom():
    one, other = (known_slalom(KnownSlalom(seed=seed)).importances for seed in (0, 1))
    assert np.abs(one - other).max() > 0.1
