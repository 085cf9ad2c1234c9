"""The published JSON Schema: every explanation keeps to it, and old files are still read."""

import copy
import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piste
from piste.errors import SettingError
from piste.methods import METHODS
from piste.result import explanation as results
from piste.result import facts, formula, parts, schema
from tests.contracts.methods import quick
from tests.planted import additive
from tests.render.samples import in_context, sample

FILES = Path(__file__).parent / "files"
SENTENCE = "The plot is thin, but the acting is superb."
VALIDATOR = jsonschema.Draft202012Validator(schema())


def check(explanation: piste.Explanation) -> None:
    VALIDATOR.validate(json.loads(explanation.to_json()))
    assert piste.Explanation.from_dict(explanation.to_dict()) == explanation


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["properties"]["schema"]["const"] == results.SCHEMA
    with pytest.raises(SettingError, match="no schema '1'"):
        schema(1)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_to_it(name, demo):
    check(piste.explain(SENTENCE, demo, quick(METHODS[name])))


@pytest.mark.parametrize("name", ["context", "lime"])
def test_every_class_keeps_to_it(name, demo):
    check(piste.explain(SENTENCE, demo, name, target="all"))


def test_windows_keep_to_it(demo):
    explanation = piste.explain(f"{SENTENCE} " * 60, demo, "lime", long="windows", budget=900)
    assert explanation.settings["long"] == "windows"
    assert explanation.record.outputs is None
    check(explanation)


def test_pairs_contrasts_numbers_and_units_keep_to_it(demo):
    check(in_context("not good", pair="how many"))
    check(piste.explain(SENTENCE, demo, target="positive", against="negative"))
    check(piste.explain(SENTENCE, demo, unit="token", budget=30, repeats="separate"))
    number = piste.from_function(lambda texts: [len(t) for t in texts], outputs="raw")
    check(piste.explain("a few words", number))
    check(sample())  # without a record, as in files that were written before there was one


@settings(max_examples=30, deadline=None)
@given(
    text=st.text(min_size=1, max_size=40).filter(lambda text: any(c.isalnum() for c in text)),
    method=st.sampled_from(["context", "slalom", "lime", "occlusion", "kernel-shap"]),
    unit=st.sampled_from(["word", "token", "phrase", "sentence"]),
    seed=st.integers(0, 9),
)
def test_whatever_the_text_it_keeps_to_it(text, method, unit, seed):
    model = piste.from_function(additive({"a": 1.0, "0": -2.0}), ["no", "yes"])
    check(piste.explain(text, model, quick(METHODS[method]), unit=unit, seed=seed))


DESCRIBED = {
    "player": results.Player,
    "target": results.Target,
    "cost": facts.Cost,
    "agreement": facts.Agreement,
    "fit": facts.FitReport,
    "stopped": facts.Stopped,
    "formula": formula.Formula,
    "parts": parts.PartAnswers,
    "player_set": parts.PlayerSet,
    "record": facts.Record,
}


def test_every_field_is_described():
    known = schema()
    own = {field.name for field in dataclasses.fields(piste.Explanation)}
    assert set(known["properties"]) == own | {"schema"}
    assert set(known["$defs"]) == set(DESCRIBED)
    for name, kind in DESCRIBED.items():
        fields = {field.name for field in dataclasses.fields(kind)}
        assert set(known["$defs"][name]["properties"]) == fields, name


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        (("schema",), 1),
        (("players", 0, "start"), -1),
        (("target", "probability"), 1.5),
        (("scores", "effect", 0), "large"),
        (("errors", "effect", 0), -0.1),
        (("parts", "kept", 0), "yes"),
        (("record", "made"), "yesterday"),
        (("record", "fingerprint"), None),
    ],
)
def test_what_is_wrong_is_refused(where, wrong):
    data = copy.deepcopy(in_context().to_dict())
    VALIDATOR.validate(data)
    holder = data
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = wrong
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(data)


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_every_version_are_read(version):
    """As 0.1.0 wrote them, and as 0.2 did before it kept a record."""
    path = FILES / f"explanation-{version}.json"
    assert json.loads(path.read_text(encoding="utf-8"))["schema"] == version
    old = piste.Explanation.from_json(path)
    assert old.record is None
    assert old.target.label == "positive"
    assert old.top(1)[0].player.text == "superb"
    VALIDATOR.validate(old.to_dict())
    if version == results.SCHEMA:
        VALIDATOR.validate(json.loads(path.read_text(encoding="utf-8")))
