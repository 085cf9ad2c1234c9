"""More than two classes: shared importances, every class at once, and which one is meant."""

import numpy as np
import pytest

import piste
from piste.decision import CENTRED
from piste.errors import SettingError
from piste.result.scores import CLASS
from tests.conftest import tiny_bert

WORDS = [f"w{index}" for index in range(12)]
LABELS = ["ask", "buy", "chat", "drop"]
TEXT = " ".join(WORDS)


def planted(labels=LABELS, seed=0):
    """Logits that are a SLALOM with one importance a word and a value for each class."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(WORDS), len(labels)))
    values -= values.mean(axis=1, keepdims=True)
    importances = rng.normal(size=len(WORDS))
    importances -= importances.mean()

    def function(texts):
        found = []
        for text in texts:
            chosen = [WORDS.index(word) for word in text.split()]
            weights = np.exp(importances[chosen])
            # What is added to all logits of a text makes no difference to a softmax.
            found.append(weights @ values[chosen] / weights.sum() + 7 * len(chosen))
        return np.array(found)

    return piste.from_function(function, labels), values, importances


def test_a_planted_model_of_four_classes_is_recovered():
    classifier, values, importances = planted()
    found = piste.explain(TEXT, classifier, "slalom", target="all")
    index = found.target.index
    assert found.target.scale == CENTRED
    assert found.scores["importance"] == pytest.approx(importances, abs=0.02)
    assert found.scores["value"] == pytest.approx(values[:, index], abs=0.02)
    for other in set(range(4)) - {index}:
        assert found.scores[f"value: {LABELS[other]}"] == pytest.approx(values[:, other], abs=0.02)
    assert found.fidelity.r2 > 0.999


def test_the_values_of_a_word_sum_to_zero_on_a_real_model(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece), num_labels=5), wordpiece, backend="torch")
    found = piste.explain("the film was good, the plot not bad", classifier, "slalom", target="all")
    values = [scores for name, scores in found.scores.items() if name.startswith("value")]
    assert len(values) == 5
    assert np.sum(values, axis=0) == pytest.approx(np.zeros(len(found.players)), abs=1e-6)
    assert set(found.errors) == set(found.scores)


def test_shared_importances_for_one_target():
    classifier, values, importances = planted()
    found = piste.explain(TEXT, classifier, piste.Slalom(classes="shared"), target="chat")
    assert found.target.label == "chat"
    assert found.scores["value"] == pytest.approx(values[:, 2], abs=0.02)
    assert found.scores["importance"] == pytest.approx(importances, abs=0.02)


def test_one_against_the_rest_explains_log_odds():
    classifier, _, _ = planted()
    found = piste.explain(TEXT, classifier, target="chat")
    logits = classifier.function([TEXT])[0]
    others = np.delete(logits, 2)
    assert found.target.scale == "log-odds"
    assert found.target.score == pytest.approx(logits[2] - np.log(np.exp(others).sum()))
    assert not any(CLASS in name for name in found.scores)


@pytest.mark.parametrize("method", ["lime", "kernel-shap", "occlusion", "gam", "linear"])
def test_other_methods_are_asked_for_each_class_and_the_model_once(method):
    classifier, _, _ = planted()
    every = piste.explain(TEXT, classifier, method, target="all")
    alone = piste.explain(TEXT, classifier, method)
    assert every.target == alone.target
    assert every.cost.forwards == alone.cost.forwards
    assert every.scores[every.primary] == pytest.approx(alone.scores[alone.primary], abs=1e-9)
    for label in set(LABELS) - {alone.target.label}:
        one = piste.explain(TEXT, classifier, method, target=label)
        of_class = every.scores[f"{one.primary}: {label}"]
        assert of_class == pytest.approx(one.scores[one.primary], abs=1e-9)


def test_attention_is_the_same_for_every_class(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece), num_labels=3), wordpiece, backend="torch")
    found = piste.explain("the film was good", classifier, "attention", target="all")
    assert any("same for every class" in note for note in found.notes)


def test_predicted_and_runner_up_by_name():
    classifier, _, _ = planted()
    ranked = np.argsort(-classifier.function([TEXT])[0])
    for wanted, index in (("predicted", ranked[0]), ("runner-up", ranked[1])):
        found = piste.explain(TEXT, classifier, "occlusion", target=wanted)
        assert found.target.index == index
        assert found.target.label == LABELS[index]


def test_labels_of_those_names_go_first():
    names = ["predicted", "all", "runner-up", "x"]
    classifier, _, _ = planted(labels=names)
    classifier = piste.from_function(classifier.function, names)
    for name in names[:3]:
        assert piste.explain(TEXT, classifier, "occlusion", target=name).target.label == name


def test_a_single_output_has_no_runner_up_and_no_classes(wordpiece):
    model = tiny_bert(len(wordpiece), num_labels=1)
    classifier = piste.load(model, wordpiece, backend="torch")
    with pytest.raises(SettingError, match="runner-up"):
        piste.explain("good", classifier, target="runner-up")
    found = piste.explain("the film was good", classifier, target="all")  # all is the one
    assert (
        found.scores["effect"] == piste.explain("the film was good", classifier).scores["effect"]
    ).all()
    assert found.target.scale == "raw score"
    assert found.target.probability is None


def test_labels_that_do_not_exclude_each_other_keep_their_own_log_odds(wordpiece):
    model = tiny_bert(len(wordpiece), num_labels=3, problem_type="multi_label_classification")
    classifier = piste.load(model, wordpiece, backend="torch")
    text = "the film was good, the plot not bad"
    found = piste.explain(text, classifier, target="all")
    alone = piste.explain(text, classifier, target=found.target.index)
    assert found.target == alone.target
    assert found.target.scale == "log-odds"
    assert found.target.probability == pytest.approx(1 / (1 + np.exp(-found.target.score)))


def test_of_a_thousand_classes_the_likeliest_are_told():
    rng = np.random.default_rng(0)
    weights = {word: rng.normal(size=1000) for word in WORDS}

    def function(texts):
        return [sum(weights[word] for word in text.split()) for text in texts]

    classifier = piste.from_function(function, [f"class {i}" for i in range(1000)])
    for method in ("context", "slalom", "occlusion"):
        found = piste.explain(TEXT, classifier, method, target="all")
        assert sum(":" in name for name in found.scores) <= 12
        assert any("1,000 classes" in note for note in found.notes)
        assert len(str(found)) < 20_000
        assert "class 999" not in found.to_html()


def test_a_wrong_way_to_treat_classes():
    for method in (piste.Context, piste.Slalom):
        with pytest.raises(SettingError, match="one-vs-rest"):
            method(classes="softmax")


def test_the_effects_of_a_word_sum_to_zero_over_the_classes(wordpiece):
    """Every class's effects sum to its own score less its base, on the scale that all share."""
    classifier = piste.load(tiny_bert(len(wordpiece), num_labels=5), wordpiece, backend="torch")
    found = piste.explain("the film was good, the plot not bad", classifier, target="all")
    effects = [scores for name, scores in found.scores.items() if name.startswith("effect")]
    assert len(effects) == 5
    assert found.target.scale == CENTRED
    assert found.base + effects[0].sum() == pytest.approx(found.target.score, abs=1e-6)
    assert np.sum(effects, axis=0) == pytest.approx(np.zeros(len(found.players)), abs=1e-6)
    assert {name for name in found.errors if name.startswith("effect")} == {
        name for name in found.scores if name.startswith("effect")
    }


@pytest.mark.parametrize("method", ["lime", "kernel-shap", "linear", "gam", "occlusion"])
def test_every_class_within_a_budget(method):
    classifier, _, _ = planted()
    found = piste.explain(TEXT, classifier, method, target="all", budget=150)
    alone = piste.explain(TEXT, classifier, method, budget=150)
    assert found.cost.forwards <= 150
    assert found.scores[found.primary] == pytest.approx(alone.scores[alone.primary], abs=1e-9)
    assert sum(": " in name for name in found.scores) == 3


def test_anchors_differ_by_class():
    classifier, _, _ = planted()
    found = piste.explain(TEXT, classifier, "anchors", target="all")
    assert not any("same for every class" in note for note in found.notes)


def test_a_label_called_all_in_any_case():
    classifier, _, _ = planted(labels=["ALL", "b", "c", "d"])
    assert piste.explain(TEXT, classifier, "occlusion", target="all").target.label == "ALL"
