"""Files written whole or not at all."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from piste.errors import FileError

__all__ = ["cache_directory", "write_atomic"]
NEW_FILE = 0o644


def write_atomic(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Write through a temporary neighbour and a rename, so a reader never sees half a file.

    A link is followed; a device or a pipe is written to, not replaced; an existing file keeps its
    permissions.
    """
    # A lone surrogate has no UTF-8: it is written as its escape rather than not at all.
    payload = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    try:
        target = Path(path).resolve()
        mode = target.stat().st_mode if target.exists() else stat.S_IFREG | NEW_FILE
        if stat.S_ISREG(mode):
            _replace(target, payload, stat.S_IMODE(mode))
        else:
            target.write_bytes(payload)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"Cannot write {str(path)!r}: {reason}.", "Choose another path.") from error
    return target


def _replace(target: Path, payload: bytes, mode: int) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(payload)
        os.chmod(temporary, mode)  # mkstemp's own is private
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def cache_directory() -> Path:
    """Where converted and trained models are kept: $PISTE_CACHE, else the user's cache."""
    own = os.environ.get("PISTE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(own) if own else Path(base).expanduser() / "piste"
