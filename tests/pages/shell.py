"""Shell blocks, run command by command.

`piste` runs in this process: importing torch anew for every command would cost seconds each. Pipes
and `>` are joined here; every other program is a process of its own. `make` is asked for a dry run,
`pip install` must name extras that exist, and `piste serve` runs in a thread until the page ends.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from unittest import mock
from urllib.request import Request, urlopen

from papers import __main__ as papers
from piste import cli
from tests.pages import ROOT
from tests.pages.excused import EXCUSED, SLOW
from tests.web.servers import soon

OURS = ("piste", ".venv/bin/piste")
PAPERS = ["python", "-m", "papers"]
HARMLESS = ("cat", "echo", "head", "ls", "printf", "tr")  # others are excused, or taught here
SERVED = "127.0.0.1:8000"  # where pages say that `piste serve` listens
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass
class Shell:
    """The terminal of one page."""

    addresses: dict[str, str] = field(default_factory=dict)  # of the page -> of this test
    servers: list[tuple[Any, Thread]] = field(default_factory=list)
    slow: bool = False  # whether there is time for slow commands

    def run(self, script: str) -> str:
        """Run every command; what they printed. A command that fails is an AssertionError."""
        return "".join(self.command(line) for line in commands(script))

    def command(self, line: str) -> str:
        if entry_for(line, EXCUSED) or (entry_for(line, SLOW) and not self.slow):
            return ""
        for said, true in self.addresses.items():
            line = line.replace(said, true)
        stages, target = pipeline(line)
        with environment(stages[0]):
            if stages[0][0] == "export":
                os.environ.update(word.split("=", 1) for word in stages[0][1:])
                return ""
            data, seen = self.joined(stages)
        if target is not None:
            Path(target).write_bytes(data)
        return seen + ("" if target is not None else data.decode())

    def joined(self, stages: list[list[str]]) -> tuple[bytes, str]:
        data, seen = b"", ""
        for number, words in enumerate(stages, start=1):
            data, said, code = self.stage(words, data, last=number == len(stages))
            seen += said
            assert code == 0, f"{shlex.join(words)} ended with {code}:\n{seen}{data.decode()}"
        return data, seen

    def stage(self, words: list[str], data: bytes, last: bool) -> tuple[bytes, str, int]:
        if words[0] in OURS and words[1:2] == ["serve"] and "--space" not in words:
            return self.serve(words[1:])
        if words[0] in OURS:
            return in_process(cli.main, ["piste", *words[1:]], data, last)
        if words[:3] == PAPERS:
            return in_process(papers.main, ["papers", *words[3:]], data, last)
        if words[0] == "pytest":
            return with_pytest(words[1:])
        if words[:2] == ["pip", "install"]:
            return check_extras(words[2:])
        if words[0] == "make":
            words = ["make", "--dry-run", "--directory", str(ROOT), *words[1:]]
            return b"", "", subprocess.run(words, capture_output=True, check=False).returncode
        if words[0] == "curl":
            return curl(words[1:])
        if words[0] == "python":
            words = [sys.executable, *words[1:]]
        else:
            assert words[0] in HARMLESS, f"{words[0]} is a program that the pages do not run"
        done = subprocess.run(words, input=data, capture_output=True, check=False)
        return done.stdout, done.stderr.decode() if done.returncode else "", done.returncode

    def serve(self, words: list[str]) -> tuple[bytes, str, int]:
        """Start it on a free port; later commands of the page find it there."""
        from piste.web import server

        started: list[Any] = []
        make = server._uvicorn

        def kept(app: Any) -> Any:
            started.append(make(app))
            return started[-1]

        said = io.StringIO()
        arguments = [*words, "--port", "0"]
        with mock.patch.object(server, "_uvicorn", kept), redirect_stderr(said):
            thread = Thread(target=_main, args=(arguments,), daemon=True)
            thread.start()
            assert soon(lambda: started and started[0].started, 60), said.getvalue()
        self.servers.append((started[0], thread))
        (address,) = re.findall(r"http://([^/\s]+)/", said.getvalue())
        self.addresses[SERVED] = address
        return b"", said.getvalue(), 0

    def close(self) -> None:
        for server, thread in self.servers:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


def _main(arguments: list[str]) -> None:
    from typer.main import get_command

    get_command(cli.app).main(arguments, prog_name="piste", standalone_mode=False)


def commands(script: str) -> list[str]:
    """The commands of a block, continued lines joined and remarks left out."""
    lines = re.sub(r"\\\n\s*", " ", script).splitlines()
    bare = [line.strip().removeprefix("$ ") for line in lines]
    return [line for line in bare if line and not line.startswith("#")]


def words_of(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    return list(lexer)


def entry_for(line: str, table: Iterable[str]) -> str | None:
    """The entry of the table that this command begins with, word by word."""
    words = words_of(line)
    for entry in table:
        wanted = entry.split()
        if words[: len(wanted)] == wanted:
            return entry
    return None


def pipeline(line: str) -> tuple[list[list[str]], str | None]:
    """The stages between the pipes, and the file behind `>`."""
    words = words_of(line)
    target = None
    if ">" in words:
        at = words.index(">")
        target = words[at + 1]
        words = words[:at] + words[at + 2 :]
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages, target


@contextmanager
def environment(words: list[str]) -> Iterator[None]:
    """`NAME=value command`: the variables before a command, taken off its words."""
    given = {}
    while _ASSIGNMENT.match(words[0]):
        name, _, given_value = words.pop(0).partition("=")
        given[name] = given_value
    with mock.patch.dict(os.environ, given) if given else mock.MagicMock():
        yield


def in_process(
    main: Callable[[], None], words: list[str], data: bytes, last: bool
) -> tuple[bytes, str, int]:
    """A command as its entry point runs it: what it printed, what it said aside, its exit code.

    At the end of a pipe both go to one terminal.
    """
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    aside = out if last else io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    code = 0
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8")),
        mock.patch.dict(os.environ, {"COLUMNS": "100"}),
        redirect_stdout(out),
        redirect_stderr(aside),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    said = "" if aside is out else _written(aside).decode()
    return _written(out), said, code


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def with_pytest(arguments: list[str]) -> tuple[bytes, str, int]:
    """A reader's own tests, in this process."""
    import pytest

    out = io.StringIO()
    options = ["-p", "no:cacheprovider", "-p", "no:warnings", "--rootdir", ".", "-c", os.devnull]
    alone = mock.patch.dict(os.environ, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    with alone, redirect_stdout(out):
        code = pytest.main([*arguments, *options])
    return out.getvalue().encode(), "", int(code)


def curl(words: list[str]) -> tuple[bytes, str, int]:
    """As far as pages use it: an address, `-H` and `-d`. Not every machine has it."""
    headers, data, url = {}, None, ""
    rest = iter(words)
    for word in rest:
        if word == "-H":
            name, _, given = next(rest).partition(": ")
            headers[name] = given
        elif word == "-d":
            data = next(rest).encode()
        else:
            assert not word.startswith("-"), f"curl {word}"
            url = word
    with urlopen(Request(url, data, headers)) as answer:
        return answer.read(), "", 0


def check_extras(words: list[str]) -> tuple[bytes, str, int]:
    """`pip install 'piste[web]'`: nothing is installed; the extras must exist."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    known = tomllib.loads(text)["project"]["optional-dependencies"]
    for word in words:
        named = re.fullmatch(r"(?:piste|\.)\[(.+)\]", word)
        missing = [extra for extra in (named[1].split(",") if named else []) if extra not in known]
        assert not missing, f"there is no extra {missing}"
    return b"", "", 0
