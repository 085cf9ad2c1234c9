"""Whatever an endpoint does wrong, the client retries or says what is wrong, and that soon."""

import socket
import threading
import time
import tracemalloc

import numpy as np
import pytest

import piste
from piste.errors import OutputError, SettingError
from piste.models.backends import transport
from tests.endpoint_faults import FAULTS, LONGEST, complete

# What another try cannot mend.
FINAL = {
    "huge": "larger than 4 MB",
    "huge-announced": "larger than 4 MB",
    "huge-chunk": "larger than 4 MB",
    "negative-chunk": "larger than 4 MB",
    "gzip": "is encoded as 'gzip'",
    "429-later": "asks to wait 1e.09 s",
    "drip-error": "status 400",
    "echo": "status 401",
    **{name: "redirects" for name in FAULTS if name.startswith("redirect")},
}
TRANSIENT = [*sorted(FAULTS.keys() - FINAL.keys()), "408", "429", "500", "502", "503", "504"]
SOON = LONGEST / 2  # seconds, on a busy machine too; a fault goes on for twice as long


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_fault_that_passes_is_waited_out(connect, server, fault):
    server.faults = [fault]
    classifier = connect(timeout=0.5, retries=20)  # a busy machine may be late without a fault
    assert np.argmax(classifier.function(["superb"])) == 0
    assert len(server.seen) > 1


@pytest.mark.parametrize("fault", [*TRANSIENT, *FINAL])
def test_a_fault_that_stays_is_an_error_within_the_deadline(connect, server, fault):
    classifier = connect(server.fault_url(fault), timeout=0.5, retries=1)
    started = time.monotonic()
    with pytest.raises(OutputError, match=FINAL.get(fault, r"\(2 tries\)")) as caught:
        classifier.function(["superb"])
    assert time.monotonic() - started < SOON
    assert "127.0.0.1" in caught.value.cause
    assert caught.value.remedy
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize(
    "fault", [name for name in FAULTS if "huge" in name or name == "negative-chunk"]
)
def test_an_answer_without_end_takes_no_memory(connect, server, fault):
    classifier = connect(server.fault_url(fault), timeout=10, retries=0)
    tracemalloc.start()
    try:
        with pytest.raises(OutputError):
            classifier.function(["superb"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * transport.MOST_BYTES


def test_the_faults_do_last(server):
    """A client that only limits single reads would wait for as long as the server likes."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=0.5) as client:
        client.sendall(b"POST /fault/drip/v1 HTTP/1.1\r\nContent-Length: 19\r\n\r\n")
        client.sendall(b'{"prompt": "x\\ny" }')
        for _ in range(20):
            assert client.recv(4096)


def test_one_failure_ends_the_other_questions(connect, server):
    """A hundred questions to a dead server take no longer than a few."""
    server.always = "500"
    with pytest.raises(OutputError, match="status 500"):
        connect(retries=2, concurrency=2).function([f"superb {n}" for n in range(100)])
    assert len(server.seen) < 50


def test_pauses_end_when_another_question_fails(connect, server, monkeypatch):
    """One question is refused while the other one waits for its next try."""
    monkeypatch.setattr("piste.models.backends.endpoint._pause", lambda attempt: LONGEST)
    server.meeting = threading.Barrier(2)
    server.faults = ["cut", "400"]
    started = time.monotonic()
    with pytest.raises(OutputError, match="status 400"):
        connect(concurrency=2).function(["superb", "dull"])
    assert time.monotonic() - started < SOON


def test_a_lookup_that_hangs_is_within_the_deadline(connect, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(LONGEST) and [])
    started = time.monotonic()
    with pytest.raises(OutputError, match=r"no complete answer within 0\.3 s"):
        connect("http://model.example/v1", timeout=0.3, retries=0).function(["superb"])
    assert time.monotonic() - started < SOON
    released.set()


def test_nobody_listens(connect):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(OutputError, match="ConnectionRefusedError"):
            connect(url, retries=0).function(["superb"])


@pytest.mark.parametrize(
    "change",
    [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": float("inf")}, {"timeout": 1e12},
     {"rate": 0}, {"retries": -1}, {"concurrency": 0}],
)  # fmt: skip
def test_numbers_out_of_range_are_named(connect, change):
    (name,) = change
    with pytest.raises(SettingError, match=name):
        connect(**change)


def test_an_answer_may_be_large(connect, server, monkeypatch):
    """Blanks after the answer: all of it is read, and none of it hurts."""
    blanks = b" " * (transport.MOST_BYTES // 2)

    def padded(handler, answer):
        handler.wfile.write(complete(answer + blanks))

    monkeypatch.setitem(FAULTS, "padded", padded)
    assert np.argmax(connect(server.fault_url("padded")).function(["superb"])) == 0


def test_an_explanation_survives_every_passing_fault(connect, server):
    """Each fault hits some question of one explanation."""
    server.faults = [name for name in TRANSIENT if name != "silent"]
    classifier = connect(timeout=1.0, retries=50)
    found = piste.explain("A superb film.", classifier, "occlusion", target="positive")
    assert found.scores["removal"].max() == pytest.approx(2.0, abs=1e-6)
    assert not server.faults
