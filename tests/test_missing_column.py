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


def test_rows_of_json_may_lack_what_others_have(tmp_path):
    rows = [{"text": "a good film"}, {"text": "a bad film", "stars": 1}]
    path = tmp_path / "sparse.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source in (path, rows, iter(rows)):
        found = list(read_examples(source, piste.Columns(label="stars")))
        assert [one.label for one in found] == [None, 1]


def test_a_column_may_be_left_out():
    (found,) = read_examples([{"text": "a good film", "label": 1}], piste.Columns(label=None))
    assert found.label is None


def test_numbers_may_name_columns():
    frame = pandas.DataFrame([["a good film", 1]])
    (found,) = read_examples(frame, piste.Columns(text=0, label=1))
    assert (found.text, found.label) == ("a good film", 1)


@pytest.mark.parametrize("kind", ["pandas", "arrow", "rows"])
def test_only_columns_that_are_there_are_proposed(kind):
    import pyarrow

    frame = pandas.DataFrame({"text": ["a good film"], "y": [1]})
    rows = frame.to_dict("records")
    source = {"pandas": frame, "arrow": pyarrow.Table.from_pandas(frame), "rows": rows}[kind]
    with pytest.raises(FileError, match=r"Columns\(label=\.\.\.\); there are text, y\."):
        list(read_examples(source, piste.Columns(label="lab")))


def test_the_index_of_a_frame_goes_by_its_own_name():
    frame = pandas.DataFrame({"text": ["a good film"]}, index=pandas.Index(["a7"], name="key"))
    (found,) = read_examples(frame, piste.Columns(id="key"))
    assert found.id == "a7"
    with pytest.raises(FileError, match="has no column 'kye'"):
        list(read_examples(frame, piste.Columns(id="kye")))
