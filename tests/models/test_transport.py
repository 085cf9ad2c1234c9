"""The ways to an endpoint: encrypted, and through a proxy."""

import shutil
import ssl
import subprocess
import time

import numpy as np
import pytest

from piste.errors import OutputError
from piste.models.backends import transport
from tests import endpoint
from tests.endpoint_faults import LONGEST

SOON = LONGEST / 2


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of our own for 127.0.0.1, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    chain, key = folder / "chain.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(chain)]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return chain, key


@pytest.fixture
def encrypted(certificate):
    """An endpoint behind TLS, and its URL."""
    with endpoint.running() as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield server


@pytest.fixture
def trusted(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    transport._tls.cache_clear()
    yield
    transport._tls.cache_clear()


def https(url: str) -> str:
    return url.replace("http:", "https:")


@pytest.mark.usefixtures("trusted")
def test_an_answer_by_tls(connect, encrypted):
    assert np.argmax(connect(https(encrypted.url), retries=0).function(["superb"])) == 0


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("fault", ["drip", "drip-headers", "drip-chunks", "silent", "huge"])
def test_deadline_and_size_hold_with_tls(connect, encrypted, fault):
    started = time.monotonic()
    expected = "larger than 4 MB" if fault == "huge" else "no complete answer within"
    timeout = 5.0 if fault == "huge" else 0.5
    classifier = connect(https(encrypted.fault_url(fault)), timeout=timeout, retries=0)
    with pytest.raises(OutputError, match=expected):
        classifier.function(["superb"])
    assert time.monotonic() - started < SOON


def test_a_server_that_cannot_prove_who_it_is(connect, encrypted):
    with pytest.raises(OutputError, match="cannot be verified"):
        connect(https(encrypted.url), retries=5).function(["superb"])
    assert encrypted.seen == []


def test_a_handshake_that_never_ends(connect, server):
    """A plain server waits for a request while the client waits for its half of the handshake."""
    started = time.monotonic()
    with pytest.raises(OutputError, match=r"no complete answer within|Error"):
        connect(https(server.url), timeout=0.5, retries=0).function(["superb"])
    assert time.monotonic() - started < SOON


def test_a_proxy_is_asked(connect, server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    monkeypatch.delenv("no_proxy", raising=False)
    assert np.argmax(connect("http://model.example/v1", retries=0).function(["superb"])) == 0
    assert server.visits == ["POST http://model.example/v1/chat/completions"]


def test_a_proxy_that_drips(connect, server, monkeypatch):
    monkeypatch.setenv("https_proxy", server.url.removesuffix("/v1"))
    monkeypatch.delenv("no_proxy", raising=False)
    server.always = "drip-headers"
    started = time.monotonic()
    with pytest.raises(OutputError, match="no complete answer within"):
        connect("https://model.example/v1", timeout=0.5, retries=0).function(["superb"])
    assert time.monotonic() - started < SOON
