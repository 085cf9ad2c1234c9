"""Files written whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from piste.errors import FileError


def write_atomic(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Write through a temporary neighbour and a rename, so a reader never sees half a file."""
    target = Path(path)
    payload = data.encode("utf-8", errors="surrogatepass") if isinstance(data, str) else data
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    except OSError as error:
        raise FileError(
            f"Cannot write {target}: {error.strerror}.", "Choose another path."
        ) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(payload)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp is private; the result should not be
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(
            f"Cannot write {target}: {error.strerror}.", "Choose another path."
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    return target


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
