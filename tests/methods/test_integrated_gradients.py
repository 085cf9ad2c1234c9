"""Integrated gradients: exact where the integral is known, complete, and the same as captum's."""

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients as CaptumGradients
from captum.attr import LayerIntegratedGradients

import piste
from piste.errors import SettingError
from piste.methods.gradients import Gradients
from piste.methods.integrated_gradients import IntegratedGradients
from tests.conftest import tiny_bert
from tests.methods.test_gradients import TEXT, Planted, planted_tokens

CLASSIFIERS = ["bert", "gpt2", "demo", "compiled_demo", "bert_on_sentencepiece"]


def scored(classifier, steps=50, baseline="auto", **settings):
    found = piste.explain(TEXT, classifier, IntegratedGradients(baseline, steps), **settings)
    return found, found.scores["ig"]


def planted_words(classifier, power, neutral, text="abc de f"):
    """The integral by hand: W·(e^power - b^power), summed over the letters of each word."""
    embeddings, weights = planted_tokens(classifier, text)
    tokens = (weights * (embeddings**power - neutral**power)).sum(axis=1)
    return np.add.reduceat(tokens, [0, 3, 5])


@pytest.mark.parametrize("steps", [1, 2, 50])
@pytest.mark.parametrize("baseline", ["pad", "unk", "zero"])
def test_on_a_linear_model_it_is_gradient_times_difference(steps, baseline):
    classifier = Planted()
    token = classifier.token_id(baseline)
    neutral = 0.0 if token is None else classifier.embed(np.array([[token]]))[0, 0]
    found = piste.explain("abc de f", classifier, IntegratedGradients(baseline, steps), target=1)
    assert found.scores["ig"] == pytest.approx(planted_words(classifier, 1, neutral))
    assert found.fidelity.checks["convergence"].rmse < 1e-9
    assert found.fidelity.checks["convergence"].samples == steps
    if baseline == "zero":
        plain = piste.explain("abc de f", classifier, Gradients(), target=1)
        assert found.scores["ig"] == pytest.approx(plain.scores["grad-input"])


@pytest.mark.parametrize("power", [2, 3, 4, 6])
def test_polynomials_are_integrated_exactly_with_few_points(power):
    """n points of Gauss-Legendre are exact up to degree 2n - 1, and not beyond."""
    classifier, enough = Planted(power), (power + 1) // 2
    expected = planted_words(classifier, power, classifier.embed(np.array([[4]]))[0, 0])
    for steps in (enough, enough + 3):
        method = IntegratedGradients("pad", steps)
        found = piste.explain("abc de f", classifier, method, target=1)
        assert found.scores["ig"] == pytest.approx(expected)
        assert not any("miss" in note for note in found.notes)
    if enough > 1:
        method = IntegratedGradients("pad", enough - 1)
        coarse = piste.explain("abc de f", classifier, method, target=1)
        error = abs(coarse.scores["ig"].sum() - expected.sum())
        assert coarse.fidelity.checks["convergence"].rmse == pytest.approx(error)
        assert any("more steps" in note for note in coarse.notes)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_scores_add_up_to_the_difference_from_the_baseline(name, request):
    classifier = request.getfixturevalue(name)
    found, scores = scored(classifier, steps=60)
    encoded = classifier.encode(TEXT)
    if name == "gpt2":  # has no token to start from
        start = np.zeros_like(classifier.embed(np.array([encoded.ids])))
    else:
        neutral = [classifier.token_id("pad")] * len(encoded.ids)
        start = classifier.embed(
            np.array([[*encoded.frame.prefix, *neutral, *encoded.frame.suffix]])
        )
    below = classifier.gradients(start, found.target.index)[0][0]
    assert scores.sum() == pytest.approx(found.target.score - below, abs=2e-3)
    assert f"{below:+.2f}" in found.notes[-1]
    assert found.fidelity.checks["convergence"].rmse < 2e-3
    assert found.cost.forwards == 1 + 60 + 2


@pytest.mark.parametrize("name", ["bert", "gpt2", "demo"])
def test_the_other_target_turns_the_signs(name, request):
    classifier = request.getfixturevalue(name)
    zero, one = (scored(classifier, target=index)[1] for index in (0, 1))
    assert zero == pytest.approx(-one, rel=1e-3, abs=1e-4)


def test_every_class_has_scores_of_its_own(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece), num_labels=3), wordpiece, backend="torch")
    found = [scored(classifier, target=index) for index in range(3)]
    for explanation, scores in found:
        assert explanation.fidelity.checks["convergence"].rmse < 1e-3
        assert np.isfinite(scores).all()
    assert np.abs(found[0][1] - found[1][1]).max() > 1e-2


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_batch_size_does_not_change_the_scores(name, request):
    classifier = request.getfixturevalue(name)
    _, reference = scored(classifier)
    for batch_tokens in (1, 300):
        _, other = scored(classifier, batch_tokens=batch_tokens)
        assert other == pytest.approx(reference, rel=1e-4, abs=1e-4 * np.abs(reference).max())


def margin(classifier):
    def function(embeddings):
        logits = classifier.model(inputs_embeds=embeddings).logits
        return logits[:, 1] - logits[:, 0]

    return function


@pytest.mark.parametrize("name", ["bert", "demo"])
@pytest.mark.parametrize("baseline", ["zero", "pad", "mask", "unk"])
def test_scores_are_those_of_captum_on_embeddings(name, baseline, request):
    classifier = request.getfixturevalue(name)
    table = classifier.model.get_input_embeddings()
    ids = classifier.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    whole = table(ids).detach()
    start = whole.clone()  # special tokens keep their embeddings
    token = None if baseline == "zero" else classifier.token_id(baseline)
    start[:, 1:-1] = 0.0 if token is None else table(torch.tensor(token)).detach()
    theirs = CaptumGradients(margin(classifier)).attribute(
        whole, baselines=start, n_steps=20, method="gausslegendre"
    )
    _, ours = scored(classifier, 20, baseline, target=1, unit="token", repeats="separate")
    expected = theirs.sum(dim=2)[0, 1:-1].detach().double().numpy()
    assert ours == pytest.approx(expected, rel=1e-3, abs=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["bert", "demo"])
def test_scores_are_those_of_captum_on_the_embedding_layer(name, request):
    """The same by another way: ids in, gradients at the layer."""
    classifier = request.getfixturevalue(name)
    ids = classifier.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    start = ids.clone()
    start[:, 1:-1] = classifier.token_id("mask")

    def margin_of_ids(inputs):
        logits = classifier.model(input_ids=inputs).logits
        return logits[:, 1] - logits[:, 0]

    layer = LayerIntegratedGradients(margin_of_ids, classifier.model.get_input_embeddings())
    theirs, error = layer.attribute(ids, baselines=start, n_steps=30, return_convergence_delta=True)
    found, ours = scored(classifier, 30, "mask", target=1, unit="token", repeats="separate")
    expected = theirs.sum(dim=2)[0, 1:-1].detach().double().numpy()
    assert ours == pytest.approx(expected, rel=1e-3, abs=1e-3 * np.abs(expected).max())
    ours_missed = found.fidelity.checks["convergence"].rmse
    assert ours_missed == pytest.approx(abs(float(error)), abs=1e-4)


def test_the_baseline_is_named():
    for baseline, named in (("auto", "<4>"), ("unk", "<5>"), ("zero", "zero embeddings")):
        found = piste.explain("abc de f", Planted(), IntegratedGradients(baseline))
        assert f"from a text of {named} only" in found.notes[0]


def test_a_model_without_the_token_says_what_to_use(gpt2):
    with pytest.raises(SettingError, match='baseline="zero"'):
        scored(gpt2, baseline="mask")
    automatic, zero = scored(gpt2), scored(gpt2, baseline="zero")
    assert (automatic[1] == zero[1]).all()


def test_the_budget_is_counted_before_anything_is_asked(bert):
    found, _ = scored(bert, steps=7, budget=10)
    assert found.cost.forwards == 10
    with pytest.raises(SettingError, match=r"budget of at least 10, or fewer steps"):
        scored(bert, steps=7, budget=9)


@pytest.mark.parametrize("settings", [{"steps": 0}, {"steps": 2.5}, {"baseline": "blank"}])
def test_settings_that_make_no_sense(settings):
    with pytest.raises(SettingError):
        IntegratedGradients(**settings)


def test_a_function_has_no_gradients():
    classifier = piste.from_function(lambda texts: [0.0 for _ in texts])
    with pytest.raises(SettingError, match=r"gradients.*piste\.load"):
        scored(classifier)


@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize("text", ["a", "good good", "🎉 é [SEP] good [PAD]", "x" * 400])
def test_any_text_has_a_score_for_every_player(bert, text, unit):
    found = piste.explain(text, bert, IntegratedGradients(steps=5), unit=unit)
    assert found.scores["ig"].shape == (len(found.players),)
    assert np.isfinite(found.scores["ig"]).all()
    assert piste.Explanation.from_dict(found.to_dict()) == found
