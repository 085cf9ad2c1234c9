"""Atomic and durable file writes."""

import contextlib
import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from piste.errors import FileError

__all__ = ["cache_directory", "write_atomic"]
NEW_FILE = 0o644
FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows has no quotas
UNSUPPORTED = {errno.EINVAL, getattr(errno, "ENOTSUP", errno.EINVAL)}  # of some file systems


def write_atomic(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Write through a temporary neighbour and a rename, so a reader never sees half a file.

    The file and its directory entry are synchronised with the disk. A link is followed; a device
    or a pipe is written to, not replaced; an existing file keeps its permissions.
    """
    payload = encodable(data).encode("utf-8") if isinstance(data, str) else data
    named = as_path(path)
    try:
        target = named.resolve()
        mode = target.stat().st_mode if target.exists() else stat.S_IFREG | NEW_FILE
        if stat.S_ISREG(mode):
            _replace(target, payload, stat.S_IMODE(mode))
        else:
            target.write_bytes(payload)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise file_error("write", path, error) from error
    return target


def as_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file or folder; raises a `FileError` for what names none, as a number."""
    try:
        return Path(path)
    except TypeError:
        raise FileError(
            f"The path is {repr(path)[:80]}, not a text.", 'Give one: "results/explanation.html".'
        ) from None


def append_line(path: Path, line: str) -> None:
    """Append one line, on the disk when this returns; after a failure the file is as it was.

    A last line that an earlier writer left unfinished gets its end first.
    """
    payload = encodable(line).encode("utf-8") + b"\n"
    try:
        # Unbuffered: a buffer would be written once more when the file is closed.
        with path.open("ab+", buffering=0) as stream:
            before = stream.seek(0, os.SEEK_END)
            try:
                _write(stream, payload if _ends_a_line(stream, before) else b"\n" + payload)
                _fsync(stream.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(stream.fileno(), before)
                raise
    except OSError as error:
        raise file_error("write", path, error) from error


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, renamed to `path` at the end: nobody sees half of it.

    Where another process has put one there meanwhile, that one stays.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as beside:
        yield Path(beside)
        with contextlib.suppress(OSError):  # another process was faster
            os.rename(beside, path)
        os.makedirs(beside, exist_ok=True)  # for the temporary directory to remove


def make_folder(path: Path) -> None:
    """Create a folder and its parents where they are missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error("make the folder", path, error, "Choose another folder.") from error


def move(source: Path, target: Path) -> None:
    """Rename a file within a file system, replacing the target; on the disk when this returns."""
    os.replace(source, target)
    _synchronise_folder(target.parent)


def file_error(
    verb: str,
    path: str | os.PathLike[str],
    error: Exception,
    remedy: str = "Choose another path.",
) -> FileError:
    """The error for a file that cannot be used; a full disk has a remedy of its own."""
    reason = getattr(error, "strerror", None) or error
    if getattr(error, "errno", None) in FULL:
        remedy = (
            "Free some space on that disk, or choose another path. Files that were finished before"
            " are kept, and runs go on from them."
        )
    return FileError(f"Cannot {verb} {str(path)!r}: {reason}.", remedy)


def encodable(text: str) -> str:
    """The text with lone surrogates, which have no UTF-8, as their escapes (`\\ud800`)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _replace(target: Path, payload: bytes, mode: int) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(payload)
            stream.flush()
            _fsync(stream.fileno())  # a rename may reach the disk before the data does
        os.chmod(temporary, mode)  # mkstemp's own is private
        os.replace(temporary, target)
        _synchronise_folder(target.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _write(stream: io.FileIO, payload: bytes) -> None:
    """Write all bytes: an unbuffered stream may accept only part of them."""
    left = memoryview(payload)
    while left:
        left = left[stream.write(left) :]


def _fsync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


def _synchronise_folder(folder: Path) -> None:
    """Make a rename in the folder durable; Windows, which cannot open folders, does so itself."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to but not listed
        return
    try:
        _fsync(handle)
    finally:
        os.close(handle)


def _ends_a_line(stream: io.FileIO, size: int) -> bool:
    if not size:
        return True
    stream.seek(size - 1)
    return stream.read(1) == b"\n"


def cache_directory() -> Path:
    """Where converted and trained models are kept: $PISTE_CACHE, else the user's cache."""
    own = os.environ.get("PISTE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(own) if own else Path(base).expanduser() / "piste"
