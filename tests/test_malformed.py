"""A thousand malformed explanation files: refused with a reason, or good for every rendering."""

import json
import math
from pathlib import Path

import pytest

import piste
from piste.errors import FileError
from tests.fuzz.mutations import damaged
from tests.planted import PlantedSlalom

FILES = 1000
BLOCK = 100


@pytest.fixture(scope="module")
def valid():
    planted = PlantedSlalom(6)
    classifier = piste.from_function(planted.noisy(1.0))
    method = piste.Context(mean="slalom")
    found = piste.explain(planted.text + " w2 w2", classifier, method, target="positive").to_dict()
    assert all(found[name] for name in ("formula", "errors", "parts", "flip", "core"))
    assert found["parts"]["on_slalom"]
    return found


def rendered(explanation: piste.Explanation) -> None:
    again = piste.Explanation.from_dict(json.loads(explanation.to_json()))
    assert again == explanation
    for shown in (explanation.to_html(), explanation._repr_html_(), str(explanation)):
        shown.encode("utf-8")
    if explanation.players:
        explanation.change([0])
    if explanation.parts is not None:
        for kept in ([], range(len(explanation.players))):
            told = explanation.predict(kept)
            assert math.isfinite(told.score)
            assert math.isfinite(told.error)
            assert told.error >= 0
        assert all(math.isfinite(pair.effect) for pair in explanation.pairs())


@pytest.mark.parametrize("start", range(0, FILES, BLOCK))
def test_a_malformed_file_is_refused_or_can_be_shown(start: int, valid, tmp_path: Path) -> None:
    path, accepted, refused = tmp_path / "explanation.json", [], []
    for seed in range(start, start + BLOCK):
        path.write_bytes(damaged(valid, seed))
        try:
            accepted.append(piste.Explanation.from_json(path))
        except FileError as error:
            refused.append(error)
    assert all(error.remedy for error in refused)
    assert 5 < len(accepted) < BLOCK / 2  # the damage is neither harmless nor of one kind
    for explanation in accepted:
        rendered(explanation)
    accepted[0].plot(tmp_path / "figure.png")  # pictures take long: one of each block


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("scores", "lin", 0), 1e103, "larger than"),
        (("errors", "lin", 0), -0.1, "below 0"),
        (("target", "probability"), 1.5, "outside 0..1"),
        (("target", "index"), 7, "not one of its labels"),
        (("target", "label"), "another", "not one of its labels"),
        (("settings",), {1: 2}, "name of a field"),
        (("players", 0, "group"), 10**20, "no group"),
        (("players", 0, "group"), -1, "no group"),
        (("base",), "0", "expected a number"),
        (("parts", "kept"), ["1" * 8], "do not fit 1 parts"),
        (("parts", "kept"), ["1" * 8] * 2, "distinct"),
        (("parts", "kept", 0), "1" * 9, "one for each player"),
        (("parts", "kept", 0), "1" * 7 + "2", "one for each player"),
        (("parts", "kept", 0), "１" * 8, "one for each player"),
        (("parts", "kept", 0), 11111111, "expected a text"),
        (("parts", "answers"), [0.0], "do not fit"),
        (("parts", "answers", 0), None, "expected a number"),
        (("parts", "relevances"), [1.0], "do not fit"),
        (("parts", "relevances", 0), 0.0, "not above 0"),
        (("parts", "noise"), 0.0, "noise is not above 0"),
        (("parts", "amplitude"), -1.0, "amplitude is not above 0"),
        (("parts", "inflation"), 0.0, "inflation is not above 0"),
        (("parts", "slope"), -51.0, "steeper"),
        (("parts", "on_slalom"), 1, "not true or false"),
        (("formula",), None, "formula"),  # the parts stand on it
        (("flip", "players", 0), 8, "no player 8"),
        (("core", "players", 0), -1, "no player -1"),
        (("flip", "players"), 3, "expected a list"),
        (("flip", "error"), -0.1, "below 0"),
        (("core", "label"), None, "expected a text"),
    ],
)
def test_what_would_lie_in_a_picture_is_refused(valid, path, value, message) -> None:
    data = json.loads(json.dumps(valid))
    inside = data
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    with pytest.raises(FileError, match=message):
        piste.Explanation.from_dict(data)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        (("cost", "tokens"), 10**400),
        (("cost", "full_tokens"), 2**63),
        (("budget",), -(10**30)),
        (("seed",), 10**400),
        (("players", 0, "ids"), [2**63]),
    ],
)
def test_numbers_that_nothing_can_count_are_refused(valid, path, number) -> None:
    """Divided or printed, they would overflow."""
    data = json.loads(json.dumps(valid))
    *fields, last = path
    part = data
    for field in fields:
        part = part[field]
    part[last] = number
    with pytest.raises(FileError, match="a whole number is larger than"):
        piste.Explanation.from_dict(data)


def test_a_large_seed_is_a_seed(valid) -> None:
    assert piste.Explanation.from_dict(valid | {"seed": 2**128}).seed == 2**128


def test_settings_nested_too_deeply(valid) -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(FileError, match="nested too deeply"):
        piste.Explanation.from_dict({**valid, "settings": deep})
