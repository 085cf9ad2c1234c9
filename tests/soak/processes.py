"""Processes that are started, killed and counted. Linux: /proc says who is left.

A command is started in one of two ways. `forked` forks this process, in which everything heavy is
imported but nothing has run yet, so that a start costs no import; `cold` starts a new interpreter,
as a user does. Either way the command has a process group of its own.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
POLL = 0.01  # seconds
PRELOADED = (
    "torch", "transformers", "pyarrow.parquet", "piste.cli", "piste.methods", "piste.metrics",
    "piste.models.backends.compiled", "piste.models.backends.huggingface",
    "piste.render.evaluation",
    "piste.render.html", "piste.runs.evaluate", "piste.runs.run", "piste.web.requests",
    "transformers.models.bert.modeling_bert", "transformers.models.gpt2.modeling_gpt2",
    "hypothesis.strategies", "pytest", "sklearn.pipeline",
)  # fmt: skip


def preload() -> None:
    """Import what commands need. Imports only: torch's pool of threads does not survive a fork."""
    for name in PRELOADED:
        importlib.import_module(name)


def fork(function: Callable[[], int]) -> int:
    """Run the function in a forked process, which ends with its exit code; the process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        # Should the harness be killed, its trials end too.
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        code = function()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def redirect(log: Path) -> None:
    """Output of this process, and of what it starts, into a file."""
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(target, 1)
    os.dup2(target, 2)


@dataclass
class Command:
    """A `piste` command that runs in a process group of its own."""

    pid: int
    log: Path
    code: int | None = None  # once it has ended; negative: the signal that ended it

    def wait(self, seconds: float) -> int | None:
        """The exit code, or None if it still runs after that time."""
        end = time.monotonic() + seconds
        while self.code is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= end:
                return None
            else:
                time.sleep(POLL)
        return self.code

    def kill(self) -> None:
        """SIGKILL to the process itself, not to those it started."""
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait(10)

    def survivors(self, seconds: float) -> list[int]:
        """Processes of the group that are left after so many seconds."""
        end = time.monotonic() + seconds
        while (left := group_members(self.pid)) and time.monotonic() < end:
            time.sleep(0.1)
        return left

    def clear(self) -> None:
        """End everything of the group."""
        self.kill()
        for pid in group_members(self.pid):
            _kill(pid)

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def forked(
    arguments: Sequence[str],
    log: Path,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Command:
    """`piste ARGUMENTS` in a fork of this process."""

    def main() -> int:
        os.setpgid(0, 0)
        redirect(log)
        os.environ.update(environment or {})
        if before is not None:
            before()
        return _command_line(arguments)

    log.unlink(missing_ok=True)
    log.touch()
    return Command(fork(main), log)


def cold(arguments: Sequence[str], log: Path) -> Command:
    """`piste ARGUMENTS` in a new interpreter."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "piste", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            process_group=0,
        )
    process.returncode = 0  # waited for by Command, not by subprocess
    return Command(process.pid, log)


def _command_line(arguments: Sequence[str]) -> int:
    from piste.cli import main

    sys.argv = ["piste", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def group_members(group: int) -> list[int]:
    """The living processes of a process group."""
    return [pid for pid, pgrp, _ in _processes() if pgrp == group]


def kill_session(session: int) -> None:
    """SIGKILL to every process of a session."""
    for pid, _, member_of in _processes():
        if member_of == session:
            _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _processes() -> list[tuple[int, int, int]]:
    """Process id, group and session of every process that is not a zombie."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if fields[0] not in "ZX":
            found.append((int(path.parent.name), int(fields[2]), int(fields[3])))
    return found


def threads_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))
