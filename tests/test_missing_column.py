"""A column that is not there: what is said, and which one is proposed."""

import json
import pickle

import pandas
import pytest

import piste
from piste.data import read_examples
from piste.errors import FileError


def test_a_missing_column_names_those_that_are_there(tmp_path):
    frame = pandas.DataFrame({"stars": [1], "tekst": ["good"]})
    with pytest.raises(
        FileError, match=r"columns=piste.Columns\(text='tekst'\).* stars, tekst\."
    ) as told:
        piste.explain(frame)
    assert "--" not in str(told.value)
    assert " id" not in str(told.value)  # the index is no column
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"review": "good"}))
    with pytest.raises(FileError, match="has no column 'text'") as told:
        list(read_examples(path))
    assert "--" not in told.value.remedy
    assert told.value.command.startswith("Say which one holds the text: --text-column review;")
    with pytest.raises(FileError, match=r"'review'\); the first row has none\."):
        piste.explain([{}])
    back = pickle.loads(pickle.dumps(told.value))  # as it comes from a worker process
    assert (str(back), back.command) == (str(told.value), told.value.command)


@pytest.mark.parametrize(
    ("row", "asked", "proposed"),
    [
        ({"id": "a", "label": 1, "text": "good"}, "review", "text"),
        ({"id": "a", "label": 1, "reviews": "ok"}, "review", "reviews"),
        ({"id": "a1", "label": 1, "body": "a good film", "place": "Rome"}, "text", "body"),
        ({"id": 7, "label": 1}, "review", "id"),  # nothing holds a text
    ],
)
def test_of_a_missing_column_a_likely_one_is_proposed(tmp_path, row, asked, proposed):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(FileError, match="has no column") as told:
        list(read_examples(path, piste.Columns(text=asked)))
    assert f"--text-column {proposed};" in told.value.command
    with pytest.raises(FileError, match="has no column") as told:
        list(read_examples(pandas.DataFrame([row]), piste.Columns(text=asked)))
    assert f"text={proposed!r}" in told.value.remedy


@pytest.mark.parametrize(
    ("asked", "proposed"),
    [("label", "--label-column gold;"), ("pair", "--pair-column hypothesis;")],
)
def test_a_column_that_was_named_must_be_there(tmp_path, asked, proposed):
    row = {"text": "a good film", "gold": 1, "hypothesis": "it is good"}
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(row))
    misspelt = {"label": "glod", "pair": "hypothsis"}[asked]
    with pytest.raises(FileError, match=f"has no column '{misspelt}'") as told:
        list(read_examples(path, piste.Columns(**{asked: misspelt})))
    assert proposed in told.value.command
    assert len(list(read_examples(path))) == 1  # the usual names may be missing
