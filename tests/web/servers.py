"""Servers for the tests: inside the test, and as processes of their own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.testclient import TestClient

import piste
from piste.web.app import Server
from piste.web.settings import Settings

TEXT = "The plot is thin, but the acting is superb."
WEIGHTS = {"superb": 2.0, "thin": -1.0, "good": 1.5, "bad": -1.5}


def taste(texts: list[Any]) -> np.ndarray:
    """A bag of words, quick: what the API does around a model is under test."""
    joined = [text if isinstance(text, str) else " ".join(text) for text in texts]
    return np.array([sum(WEIGHTS.get(word.strip(".,"), 0.0) for word in t.split()) for t in joined])


def toy() -> Any:
    return piste.from_function(taste, ["negative", "positive"], name="toy")


@contextmanager
def client(models: dict[str, Any] | None = None, **settings: Any) -> Iterator[TestClient]:
    server = Server(models or {"toy": toy()}, Settings(**settings).checked())
    with TestClient(
        server.guarded, base_url="http://127.0.0.1:8000", raise_server_exceptions=False
    ) as found:
        found.served = server  # type: ignore[attr-defined]
        yield found
    server.queue.stop()
    server.queue.join()


def events(text: str) -> list[tuple[str, str]]:
    """Names and data of server-sent events."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            found.append((fields["event"], fields["data"]))
    return found


@dataclass
class Running:
    """A `piste serve` of its own."""

    process: subprocess.Popen[str]
    url: str
    lines: list[str]

    def stop(self, kind: int = signal.SIGINT) -> tuple[int, str]:
        """The exit code, and what it said at the end."""
        self.process.send_signal(kind)
        said = self.process.communicate(timeout=30)[1]
        return self.process.returncode, said


@contextmanager
def running(*arguments: str, module: str = "piste") -> Iterator[Running]:
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ}
    )
    assert process.stderr is not None
    lines: list[str] = []
    try:
        while not (lines and lines[-1].startswith("Ctrl-C")):
            line = process.stderr.readline()
            assert line, f"it ended before it began: {lines}"
            lines.append(line)
        url = re.search(r"http://\S+", "".join(lines))
        assert url is not None
        yield Running(process, url.group(0), lines)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def soon(condition: Any, seconds: float = 10.0) -> bool:
    """Whether it comes true in that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
