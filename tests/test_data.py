"""Data sets of every kind, read as streams; what cannot be read says so."""

import gzip
import json

import pytest

from piste.data import Columns, read_examples
from piste.errors import FileError, PisteError

ROWS = [{"id": "a", "text": "good film", "label": 1}, {"id": "b", "text": "bad, film", "label": 0}]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(path, **options):
    return [(example.id, example.text) for example in read_examples(path, **options)]


def test_json_lines_plain_and_zipped(tmp_path):
    (tmp_path / "a.jsonl").write_text("\ufeff" + lines(ROWS) + "\n", encoding="utf-8")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines(ROWS).encode()))
    for name in ("a.jsonl", "b.jsonl.gz"):
        assert read(tmp_path / name) == [("a", "good film"), ("b", "bad, film")]
    assert read(tmp_path / "a.jsonl", limit=1) == [("a", "good film")]


def test_csv_and_tsv(tmp_path):
    (tmp_path / "a.csv").write_text('review,stars\n"bad, film",0\ngood,1\n')
    (tmp_path / "a.tsv").write_text("text\tlabel\nbad, film\t0\n")
    columns = Columns(text="review", label="stars")
    found = list(read_examples(tmp_path / "a.csv", columns))
    assert [(example.id, example.text, example.label) for example in found] == [
        ("0", "bad, film", "0"), ("1", "good", "1"),
    ]  # fmt: skip
    assert read(tmp_path / "a.tsv") == [("0", "bad, film")]


def test_parquet_and_folders(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "b.parquet")
    (tmp_path / "a.jsonl").write_text(lines([{"id": "0", "text": "first"}]))
    (tmp_path / "notes.md").write_text("no data")
    assert read(tmp_path) == [("0", "first"), ("a", "good film"), ("b", "bad, film")]


def test_human_maps_come_along(tmp_path):
    row = {"text": "good film", "words": ["good", "film"], "maps": [[1, 0], [1, 1]]}
    (tmp_path / "a.jsonl").write_text(lines([row]))
    (example,) = read_examples(tmp_path / "a.jsonl")
    assert example.words == ("good", "film")
    assert example.maps == ((1, 0), (1, 1))


def test_a_row_without_text_is_an_example_with_its_problem(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines([*ROWS, {"id": "c", "text": 7}, {"id": "d"}]))
    found = list(read_examples(tmp_path / "a.jsonl"))
    assert [example.problem is None for example in found] == [True, True, False, False]
    assert "holds a int" in found[2].problem
    assert "holds nothing" in found[3].problem


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"text": 1', "Line 1"),
        ("a.jsonl", b"[1]\n", "no JSON object"),
        ("a.jsonl", b'{"review": "x"}\n', "there are review"),
        ("a.jsonl", b"\xff\xfe\xff", "Cannot read"),
        ("a.jsonl.gz", b"not zipped", "Cannot read"),
        ("a.parquet", b"PAR1 not really", "not Parquet"),
        ("a.txt", b"text", "no data file"),
    ],
)
def test_files_that_are_not_data(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=said):
        read(tmp_path / name)


def test_missing_files_empty_folders_and_unknown_names(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # not to wait for it
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(FileError, match="There is no data in"):
        read(tmp_path)
    with pytest.raises(FileError, match="Cannot read"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(PisteError, match="no data set of that name"):
        read("no/such-data-set-anywhere")


def test_marks_are_read_as_written(tmp_path):
    rows = [
        {"text": "a b", "words": ["a", "b"], "maps": [["0", "1"]]},
        {"text": "a b", "words": ["a", "b"], "maps": [1, 0]},
        {"text": "a b", "words": ["a", "b"], "maps": [["yes", "no"]]},
    ]
    (tmp_path / "a.jsonl").write_text(lines(rows))
    found = [example.maps for example in read_examples(tmp_path / "a.jsonl")]
    assert found == [((0, 1),), ((1, 0),), ()]
    (tmp_path / "a.csv").write_text('text,words,maps\na b,"[""a"", ""b""]","[[0, 1]]"\n')
    (example,) = read_examples(tmp_path / "a.csv")
    assert example.words == ("a", "b")
    assert example.maps == ((0, 1),)


def test_one_bad_line_is_one_bad_row(tmp_path):
    deep = "[" * 100_000
    (tmp_path / "a.jsonl").write_text(lines(ROWS) + "{broken\n" + deep + "\n" + lines(ROWS))
    found = list(read_examples(tmp_path / "a.jsonl"))
    assert [example.problem is None for example in found] == [True, True, False, False, True, True]
    assert "Line 3" in found[2].problem
