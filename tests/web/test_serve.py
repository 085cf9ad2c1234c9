"""`piste serve` as a person meets it: it starts, tells where it is, and ends with one line."""

import os
import signal
import socket
import subprocess
import sys
import threading

import httpx
import pytest

from tests.systems import posix_only
from tests.web.servers import TEXT, running, soon


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "piste", "serve", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@posix_only
def test_it_serves_and_stops_cleanly():
    with running("serve", "--port", "0") as server:
        told = httpx.post(f"{server.url}api/explain", json={"text": TEXT}, timeout=60)
        assert told.status_code == 200
        assert told.json()["model"] == "demo"
        code, said = server.stop()
    assert (code, said.splitlines()) == (0, ["Stopped."])


@posix_only
def test_ctrl_c_ends_running_explanations_without_a_traceback():
    with running("serve", "--port", "0", module="tests.web.slow_server") as server:
        answers: list[str] = []

        def ask() -> None:
            with httpx.stream(
                "POST", f"{server.url}api/explain/stream", json={"text": "good " * 40}, timeout=60
            ) as response:
                answers.extend(response.iter_text())

        thread = threading.Thread(target=ask)
        thread.start()
        assert soon(lambda: "progress" in "".join(answers))
        code, said = server.stop()
        thread.join(10)
    assert (code, said.splitlines()) == (0, ["Stopped."])
    assert "The server is stopping." in "".join(answers)


@posix_only
def test_terminated_it_ends_too():
    with running("serve", "--port", "0", module="tests.web.slow_server") as server:
        code, said = server.stop(signal.SIGTERM)
    assert code in (0, -signal.SIGTERM)
    assert "Traceback" not in said


def test_a_client_that_goes_away_stops_its_work():
    with running("serve", "--port", "0", "--queue", "1", module="tests.web.slow_server") as server:
        body = {"text": "good bad " * 60}
        for _ in range(6):  # more than workers and line together
            with httpx.stream(
                "POST", f"{server.url}api/explain/stream", json=body, timeout=60
            ) as response:
                assert response.status_code == 200
                next(response.iter_text())
            assert soon(lambda: _accepts(server.url))


def _accepts(url: str) -> bool:
    """Whether the line has room again: the text is refused, but not for being late."""
    return httpx.post(f"{url}api/explain", json={"text": " "}, timeout=60).status_code == 422


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--host", "0.0.0.0", "--token", "short"], "can be guessed"),
        (["--port", "99999"], "no port"),
        (["--timeout", "0"], "timeout"),
        (["--queue", "0"], "queue"),
        (["--model", "no/such/model"], "no/such/model"),
        (["--host", "203.0.113.7", "--port", "0"], "Cannot listen"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_2(arguments, word):
    told = run(*arguments, HF_HUB_OFFLINE="1")
    assert told.returncode == 2
    assert word in told.stderr
    assert "Traceback" not in told.stderr


def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = run("--port", str(taken.getsockname()[1]))
    assert told.returncode == 2
    assert "--port" in told.stderr


def test_a_server_for_others_prints_its_token():
    with running(
        "serve", "--host", "0.0.0.0", "--port", "0", module="tests.web.slow_server"
    ) as server:
        here, _, token = server.url.partition("?token=")
        assert len(token) >= 32
        assert "not encrypted" in "".join(server.lines)
        assert httpx.get(f"{here}api/models").status_code == 401
        right = {"authorization": f"Bearer {token}"}
        assert httpx.get(f"{here}api/models", headers=right).status_code == 200


def test_a_missing_extra_is_named():
    code = (
        "import sys; sys.modules['fastapi'] = None\n"
        "sys.argv = ['piste', 'serve']\n"
        "from piste.cli import main; main()"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "piste[web]" in told.stderr
