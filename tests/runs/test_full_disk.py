"""A disk that fills up in the middle: an error with path and remedy, and nothing is lost."""

import errno
import io
import os
from pathlib import Path

import pytest

import piste
from piste import files
from piste.errors import FileError
from piste.runs.store import Store
from tests.runs.test_resumed import TEXTS, tables, written
from tests.systems import posix_only

QUICK = {"methods": ["occlusion"], "metrics": ["deletion"]}


@pytest.fixture
def disk(monkeypatch):
    """A disk with room for so many bytes, at the two calls by which files reach it."""

    class Disk:
        room, taken = float("inf"), 0

        def take(self, data):
            if self.taken + len(data) > self.room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.taken += len(data)

        def leave(self, room):
            self.taken, self.room = 0, room

    full, opened = Disk(), os.fdopen

    class Stream(io.BytesIO):
        """What `os.fdopen` gives: what is written counts when it is flushed."""

        def __init__(self, handle):
            super().__init__()
            self.real = opened(handle, "wb")

        def fileno(self):
            return self.real.fileno()

        def flush(self):
            if not self.real.closed:
                full.take(self.getvalue())
                self.real.write(self.getvalue())
                self.real.flush()

        def close(self):
            self.real.close()
            super().close()

    def write(stream, payload):
        part = payload[: len(payload) // 2]
        os.write(stream.fileno(), part)  # half of it still fits
        full.take(payload)
        os.write(stream.fileno(), payload[len(part) :])

    monkeypatch.setattr(files.os, "fdopen", lambda handle, _: Stream(handle))
    monkeypatch.setattr(files, "_write", write)
    return full


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob(".*") if path.is_file()]


@pytest.mark.parametrize("share", [0, 0.5, 0.9])
def test_an_evaluation_goes_on_when_there_is_room_again(tmp_path, demo, disk, share):
    data, out = written(tmp_path / "data.jsonl", TEXTS[:4]), tmp_path / "out"
    whole = piste.evaluate(data, demo, out=tmp_path / "whole", **QUICK)
    disk.leave(share * disk.taken)
    with pytest.raises(FileError, match=r"out.*No space left.*Free some space"):
        piste.evaluate(data, demo, out=out, **QUICK)
    assert all(row["values"] for row in Store(out).rows())
    assert not leftovers(tmp_path)
    disk.leave(float("inf"))
    again = piste.evaluate(data, demo, out=out, **QUICK)
    assert [row["values"] for row in again.rows] == [row["values"] for row in whole.rows]


@posix_only
def test_a_disk_that_tells_late_that_it_is_full(tmp_path, demo, monkeypatch):
    """Network file systems take what is written, and fail when it is to be synchronised."""
    data, out = written(tmp_path / "data.jsonl", TEXTS[:2]), tmp_path / "out"
    whole = piste.evaluate(data, demo, **QUICK)
    synchronise = os.fsync

    def late(handle):
        if os.fstat(handle).st_ino == os.stat(out / "rows.jsonl").st_ino:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synchronise(handle)

    out.mkdir()
    (out / "rows.jsonl").write_text("")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", late)
        with pytest.raises(FileError, match=r"rows\.jsonl.*No space left.*Free some space"):
            piste.evaluate(data, demo, out=out, **QUICK)
    again = piste.evaluate(data, demo, out=out, **QUICK)
    assert [row["values"] for row in again.rows] == [row["values"] for row in whole.rows]


@pytest.mark.parametrize("lexicon", [True, False], ids=["lexicon", "plain"])
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9])
def test_a_run_goes_on_when_there_is_room_again(tmp_path, demo, disk, lexicon, share):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    options = {"lexicon": True, "refine": 0} if lexicon else {"method": "occlusion"}
    piste.run(data, demo, tmp_path / "whole", shard=2, **options)
    disk.leave(share * disk.taken)
    with pytest.raises(FileError, match=r"out.*No space left.*Free some space"):
        piste.run(data, demo, out, shard=2, **options)
    assert not leftovers(tmp_path)
    disk.leave(float("inf"))
    piste.run(data, demo, out, shard=2, **options)
    assert tables(out) == tables(tmp_path / "whole")


def test_what_cannot_be_written_leaves_the_old_file(tmp_path, demo, disk):
    explanation = piste.explain(TEXTS[0], demo, "occlusion")
    lexicon = piste.build_lexicon(TEXTS, demo)
    for write, name in (
        (explanation.to_json, "a.json"),
        (explanation.to_html, "a.html"),
        (lexicon.save, "a.json.gz"),
    ):
        path = tmp_path / name
        path.write_text("before")
        disk.leave(10)
        with pytest.raises(FileError, match=f"{name}.*No space left.*Free some space"):
            write(path)
        assert path.read_text() == "before"
    assert not leftovers(tmp_path)


@posix_only
def test_the_system_has_a_device_that_is_always_full(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("only Linux has one")
    with pytest.raises(FileError, match=r"/dev/full.*No space left.*Free some space"):
        files.write_atomic("/dev/full", "x")
    (tmp_path / "rows.jsonl").symlink_to("/dev/full")
    with pytest.raises(FileError, match=r"rows\.jsonl.*No space left"):
        files.append_line(tmp_path / "rows.jsonl", "{}")


def test_a_failed_line_is_taken_back(tmp_path, disk):
    path = tmp_path / "rows.jsonl"
    files.append_line(path, '{"a": 1}')
    disk.leave(5)
    with pytest.raises(FileError):
        files.append_line(path, '{"a": 2}')
    assert path.read_text() == '{"a": 1}\n'


def test_an_unfinished_line_of_a_killed_writer_is_ended(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a"')
    files.append_line(path, '{"a": 3}')
    assert path.read_text() == '{"a": 1}\n{"a"\n{"a": 3}\n'


def test_garbage_among_the_rows_is_passed_over(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(b'{"index": 0, "id": "a"}\n\xff\xfe\x00\n[1]\n{"index"')
    assert Store(tmp_path).rows() == [{"index": 0, "id": "a"}]
