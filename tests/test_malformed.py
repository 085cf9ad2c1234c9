"""A thousand malformed explanation files: refused with a reason, or good for every rendering."""

import json
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
    text = planted.text + " w1 w1"
    found = piste.explain(text, piste.from_function(planted), target="positive").to_dict()
    assert found["formula"]
    assert found["errors"]
    return found


def rendered(explanation: piste.Explanation) -> None:
    again = piste.Explanation.from_dict(json.loads(explanation.to_json()))
    assert again == explanation
    for shown in (explanation.to_html(), explanation._repr_html_(), str(explanation)):
        shown.encode("utf-8")
    if explanation.players:
        explanation.change([0])


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


def test_settings_nested_too_deeply(valid) -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(FileError, match="nested too deeply"):
        piste.Explanation.from_dict({**valid, "settings": deep})
