"""Several methods on one text: one target, no method that spoils it for the others."""

import json

import numpy as np
import pytest

import piste
from piste.compare import SEVEN, named
from piste.errors import PisteError, SettingError
from tests.planted import PlantedSlalom, additive

TEXT = "The plot is thin, but the acting is superb."


@pytest.fixture(scope="module")
def measured(demo):
    return piste.compare(TEXT, demo, budget=80, measure=True)


def test_all_seven_run_on_the_demo_towards_one_target(measured):
    assert tuple(measured.explanations) == SEVEN
    assert measured.failed == {}
    assert {ex.target for ex in measured.explanations.values()} == {measured.first.target}
    assert all(ex.cost.forwards <= 80 for ex in measured.explanations.values())
    assert measured.agreement.shape == (7, 7)


def test_each_is_what_explain_gives(demo, measured):
    alone = piste.explain(TEXT, demo, "lime", budget=80)
    compared = measured.explanations["lime"].scores["weight"]
    assert compared == pytest.approx(alone.scores["weight"], abs=1e-5)


def test_figures_are_measured_on_request_only(demo, measured):
    assert set(measured.measured) == set(SEVEN)
    assert measured.measured["attention"].removal_error is None
    assert 0 < measured.measured["occlusion"].removal_error < 1
    assert measured.measured["occlusion"].deletion > 0.3
    plain = piste.compare(TEXT, demo, ["occlusion", "attention"])
    assert (plain.measured, plain.protocol) == ({}, None)


def test_gradients_of_a_function_do_not_spoil_the_others():
    found = piste.compare(
        "good bad film", piste.from_function(additive({"good": 2.0, "bad": -1.0}))
    )
    assert set(found.failed) == {"integrated-gradients", "attention"}
    assert "gradients" in found.failed["integrated-gradients"]
    assert list(found.explanations) == ["context", "slalom", "lime", "kernel-shap", "occlusion"]
    assert np.allclose(found.agreement, 1.0)


def test_words_that_act_together_are_predicted_best_by_context():
    """A pair that no method of single words can know: measured, context is the one to trust."""

    def together(texts):
        said = [text.split() for text in texts]
        return [0.5 + 2.0 * ("good" in w) - 3.5 * ("good" in w and "not" in w) for w in said]

    found = piste.compare(
        "this is not a good film at all",
        piste.from_function(together),
        ["context", "slalom", "lime", "kernel-shap", "occlusion"],
        measure=True,
        budget=120,
    )
    errors = {name: figures.removal_error for name, figures in found.measured.items()}
    assert errors["context"] < 0.1
    assert errors["context"] < min(errors[name] for name in errors if name != "context") / 2
    assert "context" in found.verdict


def test_a_planted_slalom_is_predicted_best_by_slalom():
    planted = PlantedSlalom(20)
    found = piste.compare(
        planted.text,
        piste.from_function(planted),
        ["slalom", "lime", "occlusion"],
        measure=True,
        budget=400,
    )
    errors = {name: figures.removal_error for name, figures in found.measured.items()}
    assert errors["slalom"] < 0.02
    assert errors["slalom"] < min(errors["lime"], errors["occlusion"])


def test_the_target_and_the_seed_reach_every_method(demo):
    found = piste.compare(TEXT, demo, ["lime", "gradients"], target="negative", seed=3, budget=40)
    assert {ex.target.label for ex in found.explanations.values()} == {"negative"}
    assert {ex.seed for ex in found.explanations.values()} == {3}


def test_a_method_twice_with_other_settings():
    assert list(named(["lime", piste.METHODS["lime"], "slalom"])) == ["lime", "lime 2", "slalom"]
    assert list(named(["slalom-ana", "slalom"])) == ["slalom-ana", "slalom"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["slalon"]}, "Did you mean 'slalom'"),
        ({"methods": []}, "Give several"),
        ({"methods": "slalom"}, "Give several"),
        ({"target": "happy"}, "negative, positive"),
        ({"unit": "words"}, "Did you mean 'word'"),
        ({"text": " "}, "empty"),
        ({"budget": 0}, "budget"),
        ({"budget": 2, "methods": ["slalom"]}, "None of the methods could run"),
    ],
)
def test_mistakes(demo, changes, message):
    with pytest.raises(PisteError, match=message):
        piste.compare(**{"text": TEXT, "classifier": demo, **changes})


def test_a_classifier_that_is_none():
    with pytest.raises(SettingError, match="not a classifier"):
        piste.compare(TEXT, object())


def test_json_holds_everything(measured, tmp_path):
    measured.to_json(tmp_path / "c.json")
    data = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert np.allclose(data["agreement"], measured.agreement)
    assert data["measured"]["lime"]["deletion"] == measured.measured["lime"].deletion
    again = piste.Explanation.from_dict(data["explanations"]["lime"])
    assert again == measured.explanations["lime"]


def test_an_agreement_that_is_no_number_is_null_in_json():
    found = piste.compare("a b", piste.from_function(additive({})), ["occlusion", "lime"])
    assert found.to_dict()["agreement"][0][1] is None


def test_progress_only_grows(demo):
    seen = []
    piste.compare(
        TEXT, demo, ["lime", "occlusion"], budget=40, measure=True,
        progress=lambda done, planned: seen.append((done, planned)),
    )  # fmt: skip
    done = [count for count, _ in seen]
    assert done == sorted(done)
    assert all(count <= planned for count, planned in seen)


def confident(texts):
    return [12.0 + 3.0 * ("good" in text) - 5.0 * ("bad" in text) for text in texts]


def test_a_probability_near_one_is_called_so():
    found = piste.compare("a good film with bad end", piste.from_function(confident), measure=True)
    assert "The label is so probable that removing words hardly shows" in found.verdict
    assert "do not read the highlights" not in found.verdict
    other = piste.compare(
        "a good film with bad end", piste.from_function(confident), measure=True, target="negative"
    )
    assert "The label has no probability to lose" in other.verdict


def test_small_numbers_of_a_regression_are_measured_by_their_own_size():
    def small(texts):
        return [[(0.5 + 4 * ("good" in t) - 3 * ("bad" in t)) * 1e-4] for t in texts]

    model = piste.from_function(small, outputs="raw")
    text = "a good film with bad end"
    found = piste.compare(text, model, ["context", "occlusion"], measure=True)
    assert found.verdict.startswith("Trust context")
    assert "mean fall of the score" in str(found).replace("\n  ", " ")
    assert "probability" not in str(found)
    assert "deletion 0.00" not in found.verdict


def test_a_score_on_another_scale_is_measured_by_no_removal():
    """Of all classes, context explains the target above their mean."""

    def margin(texts):
        return [0.5 + ("good" in t) - 1.5 * ("bad" in t) + 0.3 * ("end" in t) for t in texts]

    found = piste.compare(
        "a good film with bad end",
        piste.from_function(margin),
        ["context", "occlusion"],
        measure=True,
        target="all",
    )
    assert found.measured["context"].removal_error is None
    assert found.measured["occlusion"].removal_error == pytest.approx(0.0, abs=1e-6)
