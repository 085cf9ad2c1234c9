"""Whether an explanation still holds: it does on its model, and a change of either is found."""

import copy
import importlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import piste
from piste.methods import METHODS, remade
from piste.models.fingerprint import identity
from piste.result.checks import of_sets
from piste.result.facts import Fidelity
from piste.verify.new_parts import NEW, drawn_from
from tests.contracts.methods import quick
from tests.planted import Changing, additive
from tests.render.samples import feel, sample

SENTENCE = "The plot is thin, but the acting is superb."


def outcomes(verification):
    return {check.name: check.outcome for check in verification.checks}


def made_again(explanation, model, **more):
    """The verification of the file, as another process would read it."""
    return piste.verify(
        piste.Explanation.from_dict(json.loads(explanation.to_json())), model, **more
    )


def test_an_explanation_holds_on_its_model(demo):
    found = made_again(piste.explain(SENTENCE, demo), demo)
    assert found.holds
    assert set(outcomes(found).values()) == {"holds"}
    assert len(outcomes(found)) == 11
    assert str(found).startswith("The explanation holds.")
    assert found.again.record.fingerprint == found.explanation.record.fingerprint


def test_a_file_is_read(demo, tmp_path):
    path = tmp_path / "explanation.json"
    piste.explain(SENTENCE, demo).to_json(path)
    assert piste.verify(path, demo).holds
    assert piste.verify(str(path), demo).holds
    with pytest.raises(piste.errors.FileError, match="not there"):
        piste.verify("not there", demo)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_made_again(name, demo):
    explanation = piste.explain(SENTENCE, demo, quick(METHODS[name]), seed=3)
    found = made_again(explanation, demo)
    assert found.holds, str(found)
    assert outcomes(found)["scores"] == "holds"
    assert found.again.settings == explanation.settings


@pytest.mark.parametrize(
    "options",
    [
        {"target": "all"},
        {"target": "runner-up"},
        {"target": "positive", "against": "negative"},
        {"unit": "token", "budget": 40},
        {"effort": "thorough", "tolerance": 0.05},
        {"repeats": "separate", "seed": 4},
    ],
)
def test_every_option_is_kept(options, demo):
    found = made_again(piste.explain(f"{SENTENCE} Superb.", demo, **options), demo)
    assert set(outcomes(found).values()) == {"holds"}, str(found)


def test_windows_and_pairs(demo):
    long = piste.explain(f"{SENTENCE} " * 60, demo, "lime", long="windows", budget=900)
    found = made_again(long, demo)
    assert found.holds
    assert outcomes(found)["answers"] == "unknown"
    assert outcomes(found)["decision"] == outcomes(found)["scores"] == "holds"
    model = piste.from_function(feel, ["no", "yes"])
    assert made_again(piste.explain("good", model, pair="not meal"), model).holds


def test_a_lexicon_is_asked_for(demo):
    lexicon = piste.build_lexicon([SENTENCE, "A dull film."], demo)
    explanation = piste.explain(SENTENCE, demo, "slalom", lexicon=lexicon)
    without = made_again(explanation, demo)
    assert outcomes(without)["scores"] == "unknown"
    assert "lexicon" in str(without)
    assert "could not be recomputed" in str(without)
    assert outcomes(made_again(explanation, demo, lexicon=lexicon))["scores"] == "holds"


def test_another_model_is_found_by_its_answers():
    weights = {"good": 2.0, "film": 0.5}
    explanation = piste.explain(
        "a good film", piste.from_function(additive(weights), ["no", "yes"])
    )
    other = piste.from_function(additive({**weights, "good": 1.5}), ["no", "yes"])
    found = made_again(explanation, other)
    assert outcomes(found) == {
        "file": "holds",
        "model": "unknown",
        "decision": "fails",  # the same label, with another probability
        "answers": "fails",
        "sets": "fails",
        "scores": "fails",
        "errors": "unknown",
        "fidelity": "unknown",
        "pairs": "unknown",
        "new parts": "unknown",
        "versions": "holds",
    }
    assert not found.holds
    assert "most “good”: +" in str(found)
    turned = piste.from_function(additive({"good": -2.0}), ["no", "yes"])
    assert outcomes(made_again(explanation, turned))["decision"] == "fails"
    assert "no now, yes recorded" in str(made_again(explanation, turned))


def test_another_model_is_found_by_its_digest(demo):
    explanation = piste.explain(SENTENCE, demo, "occlusion")
    model = copy.deepcopy(demo.model)
    other = piste.load(model, demo.tokenizer, backend="torch")
    assert outcomes(made_again(explanation, other))["model"] == "holds"
    next(model.parameters()).data[0, 0] += 0.25
    found = made_again(explanation, other)
    assert outcomes(found)["model"] == "fails"
    assert "weights" in str(found)


def test_another_number_of_labels():
    explanation = piste.explain("a good film", piste.from_function(feel, ["no", "yes"]))
    other = piste.from_function(lambda texts: np.zeros((len(texts), 3)), ["a", "b", "c"])
    found = made_again(explanation, other)
    assert outcomes(found)["model"] == "fails"
    assert outcomes(found)["scores"] == "unknown"
    assert found.again is None


def test_a_file_that_was_changed_is_found(demo):
    data = piste.explain(SENTENCE, demo).to_dict()
    data["scores"]["effect"][1] += 0.5
    found = piste.verify(piste.Explanation.from_dict(data), demo)
    assert outcomes(found)["file"] == outcomes(found)["scores"] == "fails"
    data = piste.explain(SENTENCE, demo).to_dict()
    data["parts"]["answers"][3] += 0.5
    assert outcomes(piste.verify(piste.Explanation.from_dict(data), demo))["answers"] == "fails"


def test_files_without_a_record_are_tried_as_far_as_they_go(demo):
    explanation = replace(piste.explain(SENTENCE, demo), record=None)
    found = made_again(explanation, demo)
    assert found.holds
    assert outcomes(found)["model"] == "unknown"


def test_other_versions_are_named_and_no_fault(demo):
    explanation = piste.explain("a good film", demo, "occlusion")
    old = replace(explanation, versions={**explanation.versions, "numpy": "1.0"})
    found = made_again(old, demo)
    assert found.holds
    assert outcomes(found)["versions"] == "unknown"
    assert "numpy 1.0 recorded" in str(found)


def test_methods_of_others_are_not_made_again(demo):
    found = piste.verify(replace(piste.explain(SENTENCE, demo), method="theirs"), demo)
    assert outcomes(found)["scores"] == "unknown"
    given = piste.verify(found.explanation, demo, method=piste.Context())
    assert outcomes(given)["scores"] == "holds"
    with pytest.raises(piste.PisteError, match="none of piste's"):
        remade("lime", {"adapted": "digest"})
    with pytest.raises(piste.PisteError):
        remade("context", {"effort": ["much"]})


def test_as_data(demo, tmp_path):
    found = made_again(piste.explain("a good film", demo, "occlusion"), demo)
    data = json.loads(found.to_json())
    assert data["holds"] is True
    assert data["made"] == found.explanation.record.made
    assert [check["name"] for check in data["checks"]] == list(outcomes(found))
    assert repr(found) == "<Verification: holds>"


def test_hostile_files_are_shown_safely(demo):
    hostile = sample("a b\x1b[31m", model="\x1b]0;title\x07<b>")
    assert "\x1b" not in str(piste.verify(hostile, demo))


def test_every_explanation_has_a_record(demo):
    record = piste.explain(SENTENCE, demo, seed=2, budget=50).record
    assert record.options["seed"] == 2
    assert record.options["budget"] == 50
    assert set(record.options) == set(piste.Options().named())
    assert record.made.endswith("+00:00")
    assert record.unknown is None
    assert {"weights", "configuration", "tokenizer", "precision"} <= record.fingerprint.keys()
    assert np.argmax(record.outputs) == 1


def test_a_digest_is_taken_once_and_again_after_training(demo, monkeypatch):
    model = copy.deepcopy(demo.model)
    classifier = piste.load(model, demo.tokenizer, backend="torch")
    first, _ = identity(classifier)
    calls = []
    from piste.models import fingerprint

    whole = fingerprint.digests
    monkeypatch.setattr(fingerprint, "digests", lambda c: calls.append(c) or whole(c))
    assert identity(classifier)[0] == first
    assert calls == []
    for weight in model.parameters():
        weight.data += 0.01
    assert identity(classifier)[0]["weights"] != first["weights"]
    assert len(calls) == 1


def test_large_weights_are_not_read(demo, monkeypatch):
    from piste.models import fingerprint

    monkeypatch.setattr(fingerprint, "MOST_READ", 10)
    found, why = identity(demo)
    assert "weights" not in found
    assert "too large" in why


def test_nothing_compared_is_nothing_verified(demo):
    """A file without a record, on a model with other labels."""
    then = replace(piste.explain(SENTENCE, demo), record=None)
    other = piste.from_function(lambda texts: np.zeros((len(texts), 3)), ["a", "b", "c"])
    assert not piste.verify(then, other).holds


def test_large_errors_in_the_file_do_not_excuse_other_scores(demo):
    then = piste.explain(SENTENCE, demo)
    swapped = then.scores["effect"].copy()
    low, high = int(swapped.argmin()), int(swapped.argmax())
    swapped[[low, high]] = swapped[[high, low]]
    forged = replace(
        then,
        scores=then.scores | {"effect": swapped},
        errors=then.errors | {"effect": np.full_like(swapped, 5.0)},
    )
    assert not piste.verify(forged, demo).holds


def test_an_edited_file_is_refused_in_words(demo):
    """Too many outputs, a digest that is a number, a score that the method does not make."""
    then = json.loads(piste.explain(SENTENCE, demo).to_json())
    then["record"]["outputs"] = [0.0, 0.0, 9.0]
    then["record"]["fingerprint"]["weights"] = 5
    then["method"], then["settings"] = "occlusion", {}
    found = piste.verify(piste.Explanation.from_dict(then), demo)
    assert not found.holds
    assert outcomes(found)["scores"] == "fails"


def forged(explanation, **changes):
    """What a file says after somebody has edited it."""
    return replace(explanation, **changes)


def test_every_recorded_number_is_compared(demo):
    """One number is changed at a time, and the check that is to find it does."""
    then = piste.explain(SENTENCE, demo)
    flip, core = then.flip, then.core
    assert flip is not None
    assert core is not None
    likelier = replace(then.target, probability=then.target.probability + 0.1)
    importances = then.scores["importance"] + np.eye(len(then.players))[2] * 9.0
    for check, changes in (
        ("file", {"target": likelier}),
        ("decision", {"target": likelier}),
        ("sets", {"flip": replace(flip, score=flip.score - 0.5)}),
        ("sets", {"core": replace(core, players=(*core.players[:-1], 0))}),
        ("scores", {"scores": then.scores | {"importance": importances}}),
    ):
        found = piste.verify(forged(then, **changes), demo)
        assert not found.holds, check
        assert outcomes(found)[check] == "fails", check


def fidelity_of(then, **changes):
    return Fidelity({kind: replace(one, **changes) for kind, one in then.fidelity.checks.items()})


def smaller(then, factor=100.0):
    return {name: error / factor for name, error in then.errors.items()}


FORGERIES = {
    "all errors": ("errors", lambda then: {"errors": smaller(then)}),
    "one error": ("errors", lambda then: {"errors": {**then.errors, "effect": one_error(then)}}),
    "no errors": ("errors", lambda then: {"errors": {"effect": then.errors["effect"]}}),
    "how sure": ("errors", lambda then: {"stopped": replace(then.stopped, spread=1e-4)}),
    "R²": ("fidelity", lambda then: {"fidelity": fidelity_of(then, r2=0.9999)}),
    "typical error": ("fidelity", lambda then: {"fidelity": fidelity_of(then, rmse=0.01)}),
    "how many": ("fidelity", lambda then: {"fidelity": fidelity_of(then, samples=5900)}),
    "no R²": ("fidelity", lambda then: {"fidelity": None}),
    "no flip": ("sets", lambda then: {"flip": None}),
    "no core": ("sets", lambda then: {"core": None}),
    "errors of pairs": ("pairs", lambda then: {"parts": replace(then.parts, inflation=1e-9)}),
    "base": ("scores", lambda then: lifted(then, 0.3)),
    "what ranks": ("scores", lambda then: {"primary": "importance"}),
    "places": ("scores", lambda then: {"players": elsewhere(then)}),
    "seed": ("scores", lambda then: {"seed": 99}),
    "label of flip": ("sets", lambda then: {"flip": replace(then.flip, label="positive")}),
    "promise of flip": ("sets", lambda then: {"flip": replace(then.flip, predicted=9.0)}),
    "no parts": ("pairs", lambda then: {"parts": None}),
    "error bars": ("new parts", lambda then: {"parts": replace(then.parts, inflation=1e-9)}),
}


def lifted(then, shift):
    """Another base, and the difference spread over so many effects that none moves visibly."""
    effects = then.scores["effect"] - shift / len(then.players)
    return {"base": then.base + shift, "scores": then.scores | {"effect": effects}}


def elsewhere(then):
    first, *rest = then.players
    return (replace(first, start=first.start + 1, end=first.end + 1), *rest)


def one_error(then):
    errors = then.errors["effect"].copy()
    errors[1] /= 100
    return errors


@pytest.fixture(scope="module")
def honest(demo):
    return piste.explain(SENTENCE, demo)


@pytest.mark.parametrize("name", FORGERIES)
def test_claims_that_were_raised_or_taken_out_are_found(name, honest, demo):
    check, change = FORGERIES[name]
    found = made_again(forged(honest, **change(honest)), demo)
    assert outcomes(found)[check] == "fails", str(found)
    assert not found.holds
    assert found.again is not None


def test_error_bars_are_tried_on_parts_that_were_never_asked(honest, demo):
    """Without making the explanation again: the method is not known here."""
    theirs = replace(honest, method="theirs")
    assert outcomes(made_again(theirs, demo))["new parts"] == "holds"
    sure = replace(theirs, parts=replace(honest.parts, inflation=1e-9))
    found = made_again(sure, demo)
    assert found.again is None
    assert [name for name, outcome in outcomes(found).items() if outcome == "fails"] == [
        "new parts"
    ]
    better = replace(theirs, fidelity=fidelity_of(honest, rmse=0.001))
    assert outcomes(made_again(better, demo))["new parts"] == "fails"
    new = {tuple(np.flatnonzero(part)) for part in drawn_from(honest)}
    asked = {tuple(np.flatnonzero(part)) for part in honest.parts.parts}
    assert len(new) == NEW
    assert not new & asked


def test_a_label_at_the_edge_is_left_to_rounding(honest, demo):
    """Where both labels are as likely, another machine may name the other one."""
    tied = forged(honest, flip=replace(honest.flip, score=1e-7, predicted=0.0, error=0.0))
    other = forged(tied, flip=replace(tied.flip, label="positive"))
    assert of_sets(other, tied) is None
    clear = forged(honest, flip=replace(honest.flip, label="positive"))
    assert of_sets(clear, honest) is not None


def test_error_bars_that_never_held_are_no_fault_of_the_file(honest, demo, monkeypatch):
    """A few questions can make an explanation too sure of itself: made again, it is that again."""
    module = importlib.import_module("piste.verify.new_parts")  # `piste.verify` is a function
    monkeypatch.setattr(module, "LEAST_INSIDE", 2.0)  # nothing is good enough
    found = made_again(honest, demo)
    assert outcomes(found)["new parts"] == "unknown"
    assert found.holds
    assert "Do not rely on its error bars" in str(found)
    theirs = replace(honest, method="theirs")  # nobody can tell whose fault it is
    assert outcomes(made_again(theirs, demo))["new parts"] == "fails"


def test_a_method_that_is_not_known_excuses_no_scores(honest, demo):
    """Effects that cannot be made again still have to follow from the recorded answers."""
    effects = honest.scores["effect"]
    low, high = int(effects.argmin()), int(effects.argmax())
    swapped = effects.copy()
    swapped[[low, high]] = swapped[[high, low]]
    for change in ({"method": "theirs"}, {"settings": {**honest.settings, "lexicon": "words"}}):
        found = made_again(replace(honest, **change), demo)
        assert found.again is None
        assert found.holds
        other = replace(honest, scores=honest.scores | {"effect": swapped}, **change)
        found = made_again(other, demo)
        assert outcomes(found)["file"] == "holds"  # they add up
        assert outcomes(found)["scores"] == "fails", str(found)
        assert not found.holds


def test_a_text_of_which_all_was_asked_has_no_new_parts(demo):
    found = made_again(piste.explain("A superb film", demo), demo)
    assert outcomes(found)["new parts"] == "unknown"
    assert found.holds


def test_a_model_that_moved_little_is_found_by_its_answers(demo):
    """Weights moved by a hundredth of their spread: see `benchmarks/verification.py`."""
    then = replace(piste.explain(SENTENCE, demo), record=None)  # no digest gives it away
    found = piste.verify(then, moved(demo, 1e-2))
    assert outcomes(found)["answers"] == "fails"


def moved(demo, size):
    """The embedded model with weights moved at random by this share of their spread."""
    model = copy.deepcopy(demo.model)
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.numel() > 1:
                weight += size * weight.std() * torch.randn_like(weight)
    return piste.load(model, demo.tokenizer, backend="torch")


def test_where_the_model_is_another_one_that_is_the_only_remedy(honest, demo):
    found = made_again(honest, moved(demo, 0.05))
    failed = [check for check in found.checks if check.outcome == "fails"]
    assert len(failed) > 2
    assert [check.name for check in found.checks if check.advice] == ["model"]
    assert "The file was changed" not in str(found)
    nothing_known = made_again(replace(honest, record=None), moved(demo, 0.05))
    assert [check.name for check in nothing_known.checks if check.advice] == ["answers"]


def test_the_same_label_at_another_probability_is_called_that():
    weights = {"good": 2.0, "film": 0.5}
    then = piste.explain("a good film", piste.from_function(additive(weights), ["no", "yes"]))
    other = piste.from_function(additive({**weights, "good": 1.5}), ["no", "yes"])
    found = " ".join(str(made_again(then, other)).split())
    assert "the same label (yes), another probability: 0.9241 recorded, 0.8808 now" in found
    assert "without “good” the score is" not in found  # that one is as recorded
    assert "with “good” alone the score is +2 recorded, +1.5 now" in found


def test_what_a_file_says_of_a_set_is_told_beside_what_comes_out(honest, demo):
    promised = of_sets(replace(honest, flip=replace(honest.flip, predicted=9.0)), honest)
    assert promised.found.startswith("without “superb” the explanation predicts +9 ±")
    labelled = of_sets(replace(honest, flip=replace(honest.flip, label="positive")), honest)
    assert labelled.found == (
        "without “superb” the label is positive, says the file, and negative now"
    )


def test_error_bars_that_hold_for_some_half_of_the_parts_fail(honest, demo):
    """About 95 % of the answers lie within two standard errors of an honest prediction."""
    theirs = replace(honest, method="theirs")
    small = replace(theirs, parts=replace(honest.parts, inflation=honest.parts.inflation / 4))
    check = next(one for one in made_again(small, demo).checks if one.name == "new parts")
    inside = int(check.found.removeprefix("only ").split(" of ")[0])
    assert 10 < inside < 24
    assert check.outcome == "fails"
    assert check.found.endswith("within two standard errors, at least 24 are needed")


def test_answers_that_were_seen_to_vary_may_vary():
    classifier = piste.from_function(Changing(lambda text: 3.0 * ("good" in text) - 1.0, 0.05))
    found = piste.explain("a good film with a plot", classifier)
    assert found.parts.varies == pytest.approx(0.1)
    told = outcomes(piste.verify(found, classifier))
    assert told["answers"] == "holds"
    assert told["decision"] == "holds"


def test_a_file_that_says_that_answers_vary_does_not_excuse_others(demo):
    found = piste.explain("a good film with a plot", demo)
    assert found.parts is not None
    told = replace(found.parts, varies=1e9, answers=found.parts.answers + 0.5)
    forged = replace(found, parts=told)
    assert not piste.verify(forged, demo).holds
