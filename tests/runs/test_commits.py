"""A shard counts only once the list names it, whoever wrote it and however often."""

import json
import pickle

import pytest

import piste
from piste.errors import FileError
from piste.runs import shards
from piste.runs.commits import Commit, Destination, commits
from piste.runs.job import Maker, RunJob
from tests.runs.test_resumed import PLAIN, TEXTS, part, tables, written


@pytest.fixture
def maker(tmp_path, demo):
    """What a worker has: it explains into tmp_path/out."""
    from piste.methods import METHODS
    from piste.options import Options

    job = RunJob(None, None, False, METHODS["occlusion"], Options(), scores=("removal",))
    return Maker(job, demo, None, Destination(str(tmp_path / "out")))


def rows(*numbers):
    return [(number, piste.Example(str(number), TEXTS[number])) for number in numbers]


def test_what_a_worker_wrote_counts_when_it_is_committed(tmp_path, maker):
    staged = maker.make((0, rows(0, 1)))
    out = tmp_path / "out"
    assert shards.numbers(out) == [] == list(maker.destination.done())
    assert not list(out.glob("texts/*")) + list(out.glob("players/*"))
    maker.destination.commit(staged)
    assert shards.numbers(out) == [0] == list(maker.destination.done())
    assert commits(out)[0].count == 2


def test_two_attempts_at_a_shard_do_not_meet(tmp_path, maker):
    first, second = maker.make((0, rows(0, 1))), maker.make((0, rows(0, 1)))
    maker.destination.commit(second)
    whole = tables(tmp_path / "out")
    maker.destination.commit(first)  # given up for dead, and heard of again
    assert tables(tmp_path / "out") == whole
    assert list(maker.destination.done()) == [0]
    maker.make((1, rows(2)))  # killed before it could tell
    maker.destination.clear()
    assert not (tmp_path / "out" / "staged").exists()
    assert shards.numbers(tmp_path / "out") == [0]


def test_files_in_their_places_without_a_line_do_not_count(tmp_path, demo):
    """Killed between moving the files and appending the line, or in the middle of the line."""
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    whole, lines = tables(out), (out / "shards.jsonl").read_text().splitlines(keepends=True)
    for left in (lines[:-1], [*lines[:-1], lines[-1][:40]]):
        (out / "shards.jsonl").write_text("".join(left))
        assert shards.numbers(out) == [0, 1]
        assert len(list(shards.read(out, shards.TEXTS, ["id"]))) == 2
        assert piste.run(data, demo, out, **PLAIN).made == 2
        assert tables(out) == whole


def test_a_list_that_is_gone_is_not_made_up(tmp_path, demo):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    piste.run(data, demo, out, **PLAIN)
    (out / "shards.jsonl").unlink()
    with pytest.raises(FileError, match=r"not shards\.jsonl.*another folder"):
        piste.run(data, demo, out, **PLAIN)
    assert part(out, "texts").exists()


def test_a_folder_that_is_not_shared_is_told(tmp_path, maker):
    staged = maker.make((0, rows(0)))
    elsewhere = Destination(str(tmp_path / "elsewhere"))
    with pytest.raises(FileError, match=r"not there.*share"):
        elsewhere.commit(staged)
    assert shards.numbers(tmp_path / "elsewhere") == []


def test_failures_are_counted_from_the_list(tmp_path, demo):
    data = written(tmp_path / "data.jsonl", [TEXTS[0], " ", TEXTS[1], ""])
    report = piste.run(data, demo, tmp_path / "out", method="occlusion", shard=2)
    assert (report.texts, report.failed) == (4, 2)
    assert [reason[:3] for reason in report.reasons] == ["1: ", "3: "]


def test_a_line_survives_as_it_is(maker):
    staged = maker.make((3, [(9, piste.Example("\ud800", " "))]))
    assert Commit.of_line(staged.line()) == staged
    assert Commit.of_line(json.dumps({"number": 1})) is Commit.of_line("{") is None


def test_errors_of_workers_arrive_as_they_are():
    error = pickle.loads(pickle.dumps(FileError("The disk is full.", "Free some space.")))
    assert (error.cause, error.remedy) == ("The disk is full.", "Free some space.")
    assert isinstance(error, FileError)


def test_an_actor_that_cannot_write_tells_why(maker, monkeypatch):
    from piste.runs.ray_engine import Worker, _staged

    def full(*_):
        raise FileError("No space left.", "Free some space.")

    worker = Worker.__new__(Worker)
    worker.maker = maker
    monkeypatch.setattr(Destination, "stage", full)
    block = worker({"number": [0], "texts": ["[]"]})
    with pytest.raises(FileError, match=r"No space left.*Free"):
        _staged(block["staged"][0], block["problem"][0])
