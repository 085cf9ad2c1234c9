import errno
import os
import stat

import pytest

import piste
from piste.errors import FileError
from piste.files import write_atomic
from tests.systems import posix_only


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path):
    path = write_atomic(tmp_path / "a.txt", "é")
    assert path.read_bytes() == "é".encode()
    assert os.listdir(tmp_path) == ["a.txt"]
    if os.name != "nt":  # where files have no such modes
        assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = write_atomic(tmp_path / "a.txt", "old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FileError, match="No space left"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("path", [5, b"x", ["a"]])
def test_what_names_no_file_is_told(path, tmp_path):
    classifier = piste.from_function(lambda texts: [float(len(text)) for text in texts])
    found = piste.explain(["good tea"], classifier)
    for write in (
        found[0].to_html,
        found[0].to_json,
        found[0].plot,
        found[0].from_json,
        found.to_parquet,
        found.summary().to_html,
        piste.summarise,
        piste.Lexicon.load,
    ):
        with pytest.raises(FileError, match=r"The path is .*, not a text") as told:
            write(path)
        assert told.value.remedy


@posix_only
def test_an_existing_file_keeps_its_permissions(tmp_path):
    path = write_atomic(tmp_path / "a.txt", "old")
    path.chmod(0o600)
    write_atomic(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix_only
def test_a_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomic(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "x"


@posix_only
def test_a_device_is_written_to_not_replaced(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(fifo, "x")
    assert os.read(reader, 10) == b"x"
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    os.close(reader)


@pytest.mark.parametrize("name", ["a\0b", "no/such/folder", "x" * 5000])
def test_names_that_cannot_be(tmp_path, name):
    with pytest.raises(FileError, match="Cannot write"):
        write_atomic(tmp_path / name, "x")


def test_data_is_on_the_disk_before_the_rename_and_the_rename_after(tmp_path, monkeypatch):
    """Else a power cut leaves an empty file, or none, in the place of the old one."""
    steps = []
    real = {name: getattr(os, name) for name in ("fsync", "replace")}

    def synchronised(handle):
        status = os.fstat(handle)
        steps.append("folder" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} bytes")
        real["fsync"](handle)

    def renamed(*paths):
        steps.append("rename")
        real["replace"](*paths)

    monkeypatch.setattr(os, "fsync", synchronised)
    monkeypatch.setattr(os, "replace", renamed)
    write_atomic(tmp_path / "a.txt", "12345")
    assert steps == ["5 bytes", "rename", *([] if os.name == "nt" else ["folder"])]


@pytest.mark.parametrize("reason", [errno.EINVAL, errno.EIO])
def test_only_a_file_system_without_fsync_is_forgiven(tmp_path, monkeypatch, reason):
    def fail(_):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "fsync", fail)
    if reason == errno.EINVAL:
        assert write_atomic(tmp_path / "a.txt", "x").read_text() == "x"
        return
    with pytest.raises(FileError, match=r"a\.txt"):
        write_atomic(tmp_path / "a.txt", "x")
