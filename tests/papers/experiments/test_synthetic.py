"""The classifiers trained on made-up languages are as they say."""

import numpy as np
import pytest
import torch

from papers.experiments import synthetic
from papers.experiments.languages import (
    KnownSlalom,
    linear_language,
)
from papers.experiments.synthetic import (
    SMALL_LINEAR,
    TINY,
    NetTraining,
    SyntheticTraining,
    counts_net,
    flat,
    framed,
    log_odds,
    not_used,
    of_counts,
    trained,
    transformers_of,
)
from piste.arrays import Ragged
from tests.papers.experiments.made_up import additive, context_in

LINEAR = linear_language()
NUMBER = {word: number for number, word in enumerate(LINEAR.words)}


def row(text: str) -> Ragged:
    return Ragged.of([[NUMBER[word] for word in text.split()]])


def test_log_odds_of_a_function_are_its_own():
    rows = LINEAR.rows(np.random.default_rng(0), 50)
    assert log_odds(additive(LINEAR), LINEAR, rows) == pytest.approx(LINEAR.truth(rows))


@pytest.fixture(scope="module")
def models(made_up):
    return transformers_of(made_up, LINEAR, TINY, (1,))


def test_every_architecture_is_built(models):
    assert [model.name for model in models] == [
        "BERT, 1 layer", "DistilBERT, 1 layer", "GPT-2, 1 layer",
    ]  # fmt: skip
    assert [framed(model.classifier) for model in models] == [True, True, False]
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
    training = SyntheticTraining(texts=1500, width=32, heads=2, batch=32, rate=5e-3)
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
    net = counts_net(LINEAR, NetTraining(units=50, texts=3000, epochs=5, batch=32, rate=3e-3), 0)
    rows = LINEAR.rows(np.random.default_rng(1), 500)
    truth = LINEAR.truth(rows)
    assert np.mean((log_odds(net, LINEAR, rows) - truth) ** 2) < 0.05 * truth.var()


def test_of_counts_counts():
    classifier = of_counts(LINEAR, lambda counts: counts[:, NUMBER["bad"]], "bads")
    assert log_odds(classifier, LINEAR, row("bad the bad bad")).tolist() == [3]


def test_settings_become_one_flat_list():
    assert flat(KnownSlalom(words=4)) == {
        "words": 4,
        "strongest": 3.0,
        "correlation": 0.8,
        "seed": 0,
    }
    from papers.experiments.fig3 import SETTINGS

    small = SETTINGS["small"]
    assert flat(small)["training texts"] == small.training.texts
    assert flat(small)["layers"] == small.layers


def test_pretrained_weights_are_not_passed_over_in_silence(tmp_path):
    context = context_in(tmp_path)
    assert not_used(context) == ()
    from dataclasses import replace

    assert "some/model" in not_used(replace(context, pretrained="some/model"))[0]
