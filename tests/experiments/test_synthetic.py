"""The made-up languages follow their laws, and the classifiers trained on them are as they say."""

import numpy as np
import pytest
import torch
from scipy.special import expit

from piste.experiments import synthetic
from piste.experiments.synthetic import (
    LONGEST,
    SMALL_LINEAR,
    Known,
    NetTraining,
    Training,
    binomial_lengths,
    counts_net,
    exactly,
    known_slalom,
    linear_language,
    log_odds,
    not_used,
    of_counts,
    slalom_language,
    told,
    trained,
    transformers_of,
    up_to,
)
from piste.ragged import Ragged
from tests.experiments.made_up import TINY, additive, context_in

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
    model = known_slalom(Known(words=12, strongest=3.0, correlation=correlation, seed=4))
    sizes = np.abs(model.values[:, 0])
    assert np.corrcoef(sizes, model.importances)[0, 1] == pytest.approx(correlation)
    assert model.importances.sum() == pytest.approx(0)
    assert model.importances.std() == pytest.approx(1)
    assert (model.values.min(), model.values.max()) == (-3, 3)


def test_the_slalom_language_is_the_softmax_mean():
    model, language = known_slalom(Known()), slalom_language(Known())
    weights = np.exp(model.importances[[2, 5]])
    expected = (2 * weights[0] * model.values[2, 0] + weights[1] * model.values[5, 0]) / (
        2 * weights[0] + weights[1]
    )
    assert language.truth(Ragged.of([[2, 5, 2]]))[0] == pytest.approx(expected)


def test_another_seed_is_another_slalom():
    one, other = (known_slalom(Known(seed=seed)).importances for seed in (0, 1))
    assert np.abs(one - other).max() > 0.1


def test_log_odds_of_a_function_are_its_own():
    rows = LINEAR.rows(np.random.default_rng(0), 50)
    assert log_odds(additive(LINEAR), LINEAR, rows) == pytest.approx(LINEAR.truth(rows))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return transformers_of(context_in(tmp_path_factory.mktemp("models")), LINEAR, TINY, (1,))


def test_every_architecture_is_built(models):
    assert [model.name for model in models] == [
        "BERT, 1 layer", "DistilBERT, 1 layer", "GPT-2, 1 layer",
    ]  # fmt: skip
    assert [model.framed for model in models] == [True, True, False]
    assert all(0.4 < model.reachable < 1 for model in models)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_log_odds_are_asked_with_the_special_tokens(models, place):
    classifier = models[place].classifier
    text = "perfect movie bad"
    with torch.no_grad():
        ids = classifier.tokenizer(text, return_tensors="pt")["input_ids"]
        logits = classifier.model(input_ids=ids).logits[0]
    expected = float(logits[1] - logits[0])
    assert log_odds(classifier, LINEAR, row(text))[0] == pytest.approx(expected, abs=1e-5)


def test_training_learns_and_happens_once(tmp_path, monkeypatch):
    training = Training(texts=3000, width=32, heads=2, batch=32, rate=3e-3)
    context = context_in(tmp_path)
    first = trained(context, LINEAR, training, "distilbert", 1)
    assert first.accuracy > first.reachable - 0.1
    monkeypatch.setattr(synthetic, "train", None)  # called, it would raise
    again = trained(context, LINEAR, training, "distilbert", 1)
    rows = LINEAR.rows(np.random.default_rng(0), 5)
    assert np.array_equal(
        log_odds(first.classifier, LINEAR, rows), log_odds(again.classifier, LINEAR, rows)
    )
    with pytest.raises(TypeError):
        trained(context, LINEAR, training, "distilbert", 2)


def test_dropout_is_as_told():
    model = synthetic.build("bert", SMALL_LINEAR.size(1), 20)
    synthetic._set_dropout(model, 0.0)
    shares = [part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)]
    assert len(shares) > 2
    assert set(shares) == {0.0}


def test_the_net_on_counts_learns_to_add_up():
    net = counts_net(LINEAR, NetTraining(units=50, texts=6000, epochs=5, batch=32), 0)
    rows = LINEAR.rows(np.random.default_rng(1), 500)
    truth = LINEAR.truth(rows)
    assert np.mean((log_odds(net, LINEAR, rows) - truth) ** 2) < 0.05 * truth.var()


def test_of_counts_counts():
    classifier = of_counts(LINEAR, lambda counts: counts[:, NUMBER["bad"]], "bads")
    assert log_odds(classifier, LINEAR, row("bad the bad bad")).tolist() == [3]


def test_settings_are_told_flat():
    assert told(Known(words=4)) == {"words": 4, "strongest": 3.0, "correlation": 0.8, "seed": 0}
    from piste.experiments.fig3 import SMALL

    assert told(SMALL)["training texts"] == SMALL.training.texts
    assert told(SMALL)["layers"] == SMALL.layers


def test_pretrained_weights_are_not_passed_over_in_silence(tmp_path):
    context = context_in(tmp_path)
    assert not_used(context) == ()
    from dataclasses import replace

    assert "some/model" in not_used(replace(context, pretrained="some/model"))[0]
