"""Data sets of every kind, read as streams; what cannot be read says so."""

import csv
import gzip
import io
import json
import math

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import piste
from piste.data import Columns, label_number, read_examples
from piste.errors import FileError, PisteError
from piste.runs.word_summary import summarise

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


def test_human_maps_may_be_arrays():
    nested = np.empty(2, dtype=object)
    nested[:] = [np.array([1, 0]), np.array([1, 1])]
    words = np.array(["good", "film"])
    for maps in (nested, np.array([[1, 0], [1, 1]])):
        (example,) = read_examples([{"text": "good film", "words": words, "maps": maps}])
        assert example.words == ("good", "film")
        assert example.maps == ((1, 0), (1, 1))


def test_a_row_without_text_is_an_example_with_its_problem(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines([*ROWS, {"id": "c", "text": 7}, {"id": "d"}]))
    found = list(read_examples(tmp_path / "a.jsonl"))
    assert [example.problem is None for example in found] == [True, True, False, False]
    assert "holds an int" in found[2].problem
    assert "holds nothing" in found[3].problem


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"text": 1', "Line 1"),
        ("a.jsonl", b"[1]\n", "no JSON object"),
        ("a.jsonl", b'{"review": "x"}\n', "there are review"),
        ("a.jsonl", b"\xff\xfe\xff", "Cannot read"),
        ("a.jsonl.gz", b"not zipped", "damaged or cut off"),
        ("a.parquet", b"PAR1 not really", "not Parquet"),
        ("a.txt", b"text", "not a data file"),
    ],
)
def test_files_that_are_not_data(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=said):
        read(tmp_path / name)


def test_missing_files_empty_folders_and_unknown_names(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # not to wait for it
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):  # by the version of datasets
        monkeypatch.setattr(f"datasets.config.{name}", True, raising=False)
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


ROW_BY_ROW = "".join(f'{{"text": "row {i} {i**9}"}}\n' for i in range(500))
ZIPPED = gzip.compress(ROW_BY_ROW.encode(), mtime=0)


@pytest.mark.parametrize(
    "damaged",
    [
        ZIPPED[: len(ZIPPED) // 2],  # EOFError
        ZIPPED[:-6],  # the checksum is cut: EOFError
        ZIPPED[:-8] + b"12345678",  # another checksum: BadGzipFile
        ZIPPED[:200] + bytes(60) + ZIPPED[260:],  # zlib.error
        ZIPPED[:30] + b"\xff" * 30 + ZIPPED[60:],
        b"not zipped",
    ],
)
def test_a_damaged_or_cut_archive_is_said_to_be_one(tmp_path, damaged):
    (tmp_path / "a.jsonl.gz").write_bytes(damaged)
    with pytest.raises(FileError, match=r"a\.jsonl\.gz: it is damaged or cut off"):
        read(tmp_path / "a.jsonl.gz")


def labels(path):
    return [example.label for example in read_examples(path)]


def test_a_float_that_is_whole_is_the_label_of_that_number(tmp_path):
    given_labels = [1.0, 0.0, True, 2, "2", None, math.nan, "", "positive"]
    (tmp_path / "a.jsonl").write_text(lines({"text": "a", "label": one} for one in given_labels))
    assert labels(tmp_path / "a.jsonl") == [1, 0, 1, 2, "2", None, None, None, "positive"]
    (tmp_path / "a.csv").write_text("text,label\na,1.0\nb,\nc,NaN\nd,1\n")
    assert labels(tmp_path / "a.csv") == ["1.0", None, None, "1"]


def test_float_labels_of_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"text": ["a", "b", "c"], "label": pa.array([1.0, math.nan, None])})
    pq.write_table(table, tmp_path / "a.parquet")
    assert labels(tmp_path / "a.parquet") == [1, None, None]


def test_labels_that_are_no_class_are_kept_to_be_reported(tmp_path):
    given_labels = [0.5, math.inf, [1, 0]]
    (tmp_path / "a.jsonl").write_text(lines({"text": "a", "label": one} for one in given_labels))
    assert labels(tmp_path / "a.jsonl") == ["0.5", "inf", "[1, 0]"]


@pytest.mark.parametrize("empty", [None, math.nan, np.nan, pandas.NA, pandas.NaT])
def test_a_missing_cell_is_missing_whatever_stands_for_it(empty):
    (unlabelled,) = read_examples([{"text": "good", "label": empty}])
    assert unlabelled.label is None
    (first, second) = read_examples([{"text": "good", "id": empty}, {"text": "bad", "id": empty}])
    assert (first.id, second.id) == ("0", "1")
    bare, in_a_row = read_examples([empty, {"text": empty}])
    assert "missing" in bare.problem
    assert "holds nothing" in in_a_row.problem


@pytest.mark.parametrize("cell", [np.array([1, 2]), np.array([math.nan]), [1, 2]])
def test_a_cell_with_several_values_is_no_label_and_no_text(cell):
    labelled, text = read_examples([{"text": "good", "label": cell}, {"text": cell}])
    assert labelled.label == str(cell)
    assert type(cell).__name__ in text.problem
    (bare,) = read_examples([cell])
    assert f"a {type(cell).__name__}" in bare.problem


def test_a_failed_row_of_a_column_keeps_the_name_in_its_index():
    column = pandas.Series(["good", None, 3, "bad"], index=["a", "b", "c", "d"])
    found = list(read_examples(column))
    assert [example.id for example in found] == ["a", "b", "c", "d"]
    assert [example.problem is None for example in found] == [True, False, False, True]


def test_the_number_that_a_label_is():
    assert [label_number(one) for one in (1, "1", "1.0", "12.", "1.00")] == [1, 1, 1, 12, 1]
    for other in ("0.5", "-1", "1.0.0", "1e3", "positive", "", ".0", "9" * 5000):
        assert label_number(other) is None


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('id,text\n1,good\n2,"never closed\n3,bad\n4,fine\n', 3),
        ('id,text\n1,"two\nlines"\n2,"never closed\n3,bad\n', 4),
        ('id,text\n"two\nlines","never closed\n3,bad\n', 3),
        ('id,text\r\n1,5" pipe\r\n2,"a ""word"" of it\r\n3,bad\r\n', 3),
        ('id,text\r1,good\r2,"never\r', 3),
        ('id,"text\n1,good\n', 1),
    ],
)
def test_a_quote_that_is_never_closed_is_named_with_its_line(tmp_path, content, line):
    (tmp_path / "a.csv").write_bytes(content.encode())
    with pytest.raises(FileError, match=rf"opens a cell in line {line} is never closed"):
        read(tmp_path / "a.csv")
    (tmp_path / "a.tsv").write_bytes(content.replace(",", "\t").encode())
    with pytest.raises(FileError, match=rf"opens a cell in line {line} is never closed"):
        read(tmp_path / "a.tsv")


def test_a_quote_that_the_next_row_seems_to_close_is_a_problem_of_these_rows(tmp_path):
    content = 'id,text\n1,good\n2,"never closed\n3,"bad"\n4,"fine, really"\n5,"ok"\n'
    (tmp_path / "a.csv").write_text(content)
    found = list(read_examples(tmp_path / "a.csv"))
    assert [(one.id, one.text) for one in found if one.problem is None] == [
        ("1", "good"), ("4", "fine, really"), ("5", "ok"),
    ]  # fmt: skip
    problems = [one.problem for one in found if one.problem is not None]
    assert [problem[:15] for problem in problems] == ["Line 3: not CSV", "Line 4: not CSV"]


def test_tsv_is_often_written_without_quoting(tmp_path):
    content = 'text\tlabel\n"Great" movie, loved it\t1\n"quoted, well"\t0\n'
    (tmp_path / "a.tsv").write_text(content)
    rows = [(one.text, one.label) for one in read_examples(tmp_path / "a.tsv")]
    assert rows == [('"Great" movie, loved it', "1"), ("quoted, well", "0")]


def test_the_first_row_may_be_malformed_and_the_header_may_not(tmp_path):
    (tmp_path / "a.csv").write_text('text\n"a "word" inside"\ngood\n')
    found = list(read_examples(tmp_path / "a.csv"))
    assert found[0].problem.startswith("Line 2: not CSV")
    assert found[1].text == "good"
    (tmp_path / "b.csv").write_text('"te"xt\ngood\n')
    with pytest.raises(FileError, match="has no header: Line 1: not CSV"):
        read(tmp_path / "b.csv")


def test_a_comma_outside_of_quotes_does_not_cut_the_text(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\ngood, but long,1\nshort,0,\nbare\n\n")
    found = list(read_examples(tmp_path / "a.csv"))
    assert found[0].problem.startswith("Line 2 has 3 cells for 2 columns")
    assert [(one.text, one.label) for one in found[1:]] == [("short", "0"), ("bare", None)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5))
def test_what_the_csv_module_writes_is_read_as_it_was(tmp_path_factory, texts):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([("id", "text"), *((str(i), text) for i, text in enumerate(texts))])
    path = tmp_path_factory.mktemp("written") / "a.csv"
    path.write_bytes(out.getvalue().encode())
    assert read(path) == [(str(i), text) for i, text in enumerate(texts)]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_labels_written_as_floats_are_counted_and_others_reported(tmp_path, demo, name):
    texts = ["a good film", "a bad film", "a dull plot", "great fun"]
    written = zip(texts, [1.0, 0.0, 0.5, math.nan], strict=True)
    rows = [{"text": text, "label": label} for text, label in written]
    cells = [f"{row['text']},{row['label']}\n".replace("nan", "") for row in rows]
    content = lines(rows) if name == "a.jsonl" else "".join(["text,label\n", *cells])
    (tmp_path / name).write_text(content)
    piste.run(tmp_path / name, demo, tmp_path / "out", lexicon=True, refine=0)
    summary = summarise(tmp_path / "out")
    assert summary.right == 1
    assert summary.strange == ("0.5",)


def test_naive_bayes_knows_labels_written_as_floats(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\ngood fun,1.0\nbad plot,0.0\n")
    classifier = piste.from_function(
        lambda texts: [t.count("good") - t.count("bad") for t in texts]
    )
    result = piste.evaluate(
        [piste.Example("0", "a good film, bad plot")],
        classifier,
        methods=["occlusion"],
        metrics=["naive-bayes"],
        train=tmp_path / "train.csv",
    )
    assert result.values("occlusion", "naive-bayes") > 0.5


def test_two_columns_of_one_name_are_refused():
    frame = pandas.DataFrame([["good", "bad", 1]], columns=["text", "text", "label"])
    with pytest.raises(PisteError, match=r"2 columns of the name .text.\. Rename"):
        piste.explain(frame)
