"""A disk that is full: a real one of a few megabytes (tmpfs), else a limit on file sizes.

The tmpfs is mounted in a mount namespace of the batch's own process, so nobody else sees it and it
goes with the process. Where the system allows none, commands run with `RLIMIT_FSIZE`: a write fails
in the same place, with "File too large" instead of "No space left on device".
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NEW_NAMESPACE, NEW_USER = 0x00020000, 0x10000000  # CLONE_NEWNS, CLONE_NEWUSER
PRIVATE, RECURSIVE = 1 << 18, 1 << 14  # MS_PRIVATE, MS_REC
MEGABYTES = 48
BALLAST = ".ballast"


@dataclass(frozen=True)
class Disk:
    """A folder whose free space can be set."""

    folder: Path
    is_real: bool

    def leave(self, free: int) -> Callable[[], None] | None:
        """Leave so many bytes free; what a command's process must do before it starts."""
        if not self.is_real:
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (free, free))
        self.release()
        with (self.folder / BALLAST).open("wb") as ballast:
            space = os.statvfs(self.folder)
            os.posix_fallocate(
                ballast.fileno(), 0, max(1, space.f_bavail * space.f_frsize - _pages(free))
            )
        return None

    def release(self) -> None:
        """All of the space is there again."""
        (self.folder / BALLAST).unlink(missing_ok=True)


def _pages(size: int) -> int:
    page = resource.getpagesize()
    return -(-size // page) * page


def small_disk(folder: Path) -> Disk:
    """A disk of its own mounted at the folder, or a folder with limited files."""
    folder.mkdir(parents=True)
    try:
        _mount(folder)
    except OSError:
        return Disk(folder, is_real=False)
    return Disk(folder, is_real=True)


def _mount(folder: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    _checked(libc.unshare(NEW_NAMESPACE | (NEW_USER if user else 0)))
    if user:  # an ordinary user is root in a namespace of its own, where that is allowed
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _checked(libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None))
    options = f"size={MEGABYTES}m".encode()
    _checked(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options))


def _checked(code: int) -> None:
    if code:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def size_of(folder: Path) -> int:
    """Bytes that the files below take on a disk of pages."""
    return sum(_pages(path.stat().st_size) for path in folder.rglob("*") if path.is_file())


def largest_of(folder: Path) -> int:
    return max((path.stat().st_size for path in folder.rglob("*") if path.is_file()), default=0)
