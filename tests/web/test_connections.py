"""Clients that say nothing, or say it slowly, lock nobody out."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

import piste
from piste.web import connections, security
from piste.web.app import Server
from piste.web.server import _uvicorn, bound
from piste.web.settings import CONNECTIONS, Settings
from tests.web.servers import TEXT, running, soon, taste, toy

BEGINNING = b"POST /api/explain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@contextmanager
def serving(model=None, **settings):
    """A server in a thread: the port, and uvicorn's own object."""
    server = Server({"toy": model or toy()}, Settings(port=0, **settings).checked())
    with bound(server.settings) as listening:
        listening.listen(CONNECTIONS)
        inner = _uvicorn(server)
        thread = threading.Thread(target=inner.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()[1], inner
        finally:
            inner.should_exit = True
            thread.join(30)
            server.queue.stop()
            server.queue.join()


@contextmanager
def clients(port: int, count: int, beginning: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections that have sent this much and no more."""
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            client.sendall(beginning)
            found.append(client)
        yield found


@contextmanager
def dripping(all_of_them: list[socket.socket], pause: float) -> Iterator[None]:
    """Every client sends a byte now and then, until the server has enough of it."""
    stopped = threading.Event()

    def drip() -> None:
        left = list(all_of_them)
        while left and not stopped.wait(pause):
            left = [client for client in left if _sent(client)]

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _sent(client: socket.socket) -> bool:
    try:
        client.sendall(b"x")
    except OSError:
        return False
    return True


def answer(client: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionError:  # it was cut
        pass
    return b"".join(parts)


def test_silent_and_dripping_clients_lock_nobody_out():
    """256 that are silent and 50 that send a byte a second; then somebody comes to ask."""
    with running("serve", "--port", "0", module="tests.web.slow_server") as server:
        port = httpx.URL(server.url).port
        slow = clients(port, 50, b"GET /api/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        with clients(port, CONNECTIONS), slow as drips, dripping(drips, 1.0):
            for _ in range(5):
                told = httpx.get(f"{server.url}api/models", timeout=20)
                assert told.status_code == 200


def test_clients_without_the_token_lock_nobody_out():
    token = "a-token-of-some-length"
    with serving(token=token) as (port, _), clients(port, 2 * CONNECTIONS, BEGINNING):
        right = {"authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{port}/api/models"
        assert httpx.get(url, headers=right, timeout=20).status_code == 200


@pytest.fixture
def hurried(monkeypatch):
    """A server in a hurry."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(security, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(connections, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.5)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    ("beginning", "status"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", b""),
        (BEGINNING + b'Content-Length: 9999\r\n\r\n{"text": "', b"408"),
        (BEGINNING + b"Transfer-Encoding: chunked\r\n\r\n999\r\n", b"408"),
        (b"GET / HTTP/1.1\r\nHost: evil\r\nContent-Length: 9999\r\n\r\n", b"421"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HTTP/1.1\r\nX-Slow: ", b"200"),
    ],
    ids=["nothing", "headers", "body", "chunks", "refused", "second"],
)
@pytest.mark.parametrize("pause", [0.05, None])
def test_a_request_that_does_not_arrive_in_time(beginning, status, pause):
    with serving() as (port, inner), clients(port, 1, beginning) as (client,):
        with dripping([client] if pause else [], pause or 1.0):
            told = answer(client)
        assert told[9:12] == status
        assert soon(lambda: not inner.server_state.connections)


@pytest.mark.usefixtures("hurried")
def test_an_answer_that_nobody_reads():
    request = b"GET /static/page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serving() as (port, inner), clients(port, 1) as (client,):
        client.settimeout(0.2)
        with suppress(OSError):  # neither side reads any more, or the server has cut it
            while True:
                client.sendall(request * 100)
        assert soon(lambda: not inner.server_state.connections)


@pytest.mark.usefixtures("hurried")
def test_an_answer_may_take_longer_than_a_request():
    def slow(texts):
        time.sleep(0.1)
        return taste(texts)

    with serving(piste.from_function(slow)) as (port, _):
        body = {"text": TEXT, "method": "occlusion"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for seed in range(2):  # by one connection, if it is still there
                told = client.post("/api/explain", json={**body, "seed": seed})
                assert told.status_code == 200


@pytest.mark.usefixtures("hurried")
def test_the_one_that_waits_longest_goes_first(monkeypatch):
    monkeypatch.setattr(connections, "CONNECTIONS", 3)
    monkeypatch.setattr(connections, "HEADER_SECONDS", 60.0)
    with serving() as (port, inner), clients(port, 4) as (first, *others):
        assert answer(first) == b""
        assert len(inner.server_state.connections) == 3
        for client in others:
            client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert answer(client).startswith(b"HTTP/1.1 200")
