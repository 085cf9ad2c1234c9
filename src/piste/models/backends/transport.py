"""One HTTP POST within a deadline and a size, to one origin, without secrets in its errors.

Deadline and size are held by the socket: `http.client` reads in many small steps, and a timeout
of each step alone would let a server that sends one byte a second go on for hours.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import ipaddress
import queue
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import urljoin, urlsplit

from piste.errors import OutputError
from piste.models.backends.redaction import Secrets

MOST_BYTES = 4 * 2**20  # of an answer, headers included: a hundred times what an API sends
QUOTED_BYTES = 4096  # read of the answer that comes with an error status
REDIRECTS = {301, 302, 303, 307, 308}
REPEATABLE = {307, 308}  # redirects that keep the method: the others turn a POST into a GET
MOST_REDIRECTS = 3
PORTS = {"http": 80, "https": 443}
STEP = 65_536


class TransientError(Exception):
    """A failure that a retry may fix. Its message holds no secrets."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause  # seconds that the server asks for


@dataclass(frozen=True)
class Post:
    """What is sent, and where to."""

    url: str = field(repr=False)  # without user and password, but it may have a key in its query
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: Secrets = field(default_factory=Secrets, repr=False)


@dataclass(frozen=True)
class Reply:
    """A complete answer; of one with an error status, the beginning of its body."""

    status: int
    headers: Message
    body: bytes


def post(request: Post, timeout: float) -> Reply:
    """The server's answer, complete within `timeout` seconds and `MOST_BYTES`.

    Raises TransientError where another try may help, and OutputError where it will not.
    """
    limits = Limits(timeout)
    url = request.url
    for _ in range(MOST_REDIRECTS + 1):
        reply = _exchange(url, request, limits)
        if reply.status not in REDIRECTS:
            return reply
        url = _redirected(url, reply, request.secrets)
    raise OutputError(
        f"{request.secrets.shown(request.url)} redirects more than {MOST_REDIRECTS} times.",
        "Check the endpoint's URL.",
    )


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port: what a key may be sent to."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or PORTS.get(parts.scheme, 0)


def _redirected(url: str, reply: Reply, secrets: Secrets) -> str:
    """Where a redirect leads, if the question may be sent there."""
    target, name, same = "", "an invalid address", False
    with contextlib.suppress(ValueError):  # a port that is no number, half an IPv6 address
        target = urljoin(url, reply.headers.get("Location", ""))
        same, name = origin(target) == origin(url), secrets.shown(target)
    if same and reply.status in REPEATABLE:
        return target
    reason = (
        "following it would not repeat the question"
        if same
        else "that is another origin, which gets neither the text nor the key"
    )
    raise OutputError(
        f"{secrets.shown(url)} redirects (status {reply.status}) to {name}: {reason}.",
        "If you trust that address, give it as the endpoint's URL.",
    )


class Limits:
    """The seconds and bytes that are left for one answer."""

    def __init__(self, seconds: float, most_bytes: int = MOST_BYTES) -> None:
        self.seconds, self.bytes = seconds, most_bytes
        self.end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until the deadline."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline is over")
        return left

    def count(self, received: int) -> int:
        self.bytes -= received
        if self.bytes < 0:
            raise _Unusable(TOO_LARGE)
        return received


class _Unusable(Exception):
    """A failure that no retry can fix; the message says why."""


TOO_LARGE = f"is larger than {MOST_BYTES // 2**20} MB"


class _LimitedSocket(socket.socket):
    """A socket whose every step ends by the deadline of the whole answer."""

    limits: Limits | None = None  # set once the connection is made

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        if self.limits is None:
            return super().recv_into(*arguments, **options)
        self.settimeout(self.limits.left())
        return self.limits.count(super().recv_into(*arguments, **options))

    def send(self, *arguments: Any, **options: Any) -> int:
        if self.limits is not None:
            self.settimeout(self.limits.left())
        return super().send(*arguments, **options)

    def sendall(self, *arguments: Any, **options: Any) -> None:
        if self.limits is not None:
            self.settimeout(self.limits.left())
        super().sendall(*arguments, **options)


class _LimitedTLSSocket(_LimitedSocket, ssl.SSLSocket):
    """The same, encrypted: `ssl.SSLSocket` is next in line for `super()`."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, host: str, *, limits: Limits, **options: Any) -> None:
        super().__init__(host, **options)
        self._create_connection = functools.partial(_connected, limits)


class _TLSConnection(http.client.HTTPSConnection):
    def __init__(self, host: str, *, limits: Limits, **options: Any) -> None:
        super().__init__(host, **options)
        self.limits = limits
        self._create_connection = functools.partial(_connected, limits)

    def connect(self) -> None:
        super().connect()
        assert isinstance(self.sock, _LimitedTLSSocket)  # by the context's `sslsocket_class`
        self.sock.limits = self.limits


def _connected(limits: Limits, address: tuple[str, int], *_: Any) -> socket.socket:
    """A connection to the first of the host's addresses that answers in time."""
    problem = OSError("the host has no address")
    places = _resolved(address, limits)
    for number, (family, kind, protocol, _name, place) in enumerate(places):
        connection = _LimitedSocket(family, kind, protocol)
        try:
            # One address that swallows packets leaves time for the others.
            connection.settimeout(limits.left() / (len(places) - number))
            connection.connect(place)
            connection.settimeout(limits.left())  # for the TLS handshake
        except OSError as error:
            connection.close()
            problem = error
        else:
            connection.limits = limits
            return connection
    raise problem


def _resolved(address: tuple[str, int], limits: Limits) -> list[Any]:
    """The host's addresses. A lookup cannot be interrupted: a late one is left to its thread."""
    host, port = address
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    answers: queue.SimpleQueue[list[Any] | OSError | UnicodeError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        addresses = answers.get(timeout=limits.left())
    except queue.Empty:
        raise TimeoutError("the host name was not found in time") from None
    if isinstance(addresses, Exception):
        raise addresses
    return addresses


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens connections that keep the limits."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request, limits=self.limits)  # type: ignore[arg-type]

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(
            _TLSConnection,  # type: ignore[arg-type]
            request,
            limits=self.limits,
            context=_tls(),
        )


@functools.cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = _LimitedTLSSocket
    return context


def _exchange(url: str, request: Post, limits: Limits) -> Reply:
    """One request and its answer, whatever its status. Redirects are not followed here."""
    opener = urllib.request.OpenerDirector()  # nothing in it that follows, caches or authenticates
    opener.add_handler(urllib.request.ProxyHandler())
    opener.add_handler(_Handler(limits))
    headers = {"Accept-Encoding": "identity", **request.headers}
    sent = urllib.request.Request(url, request.body, headers)
    failure: Exception
    try:
        with opener.open(sent, timeout=limits.left()) as response:
            return _read(response, limits)
    except (_Unusable, OSError, http.client.HTTPException, ValueError) as error:
        failure = _unwrapped(error)
    # Outside of the handler: the failure may quote a secret, and must not be the new one's context.
    raise _explained(failure, url, limits, request.secrets)


def _unwrapped(error: Exception) -> Exception:
    """The failure itself: urllib puts some into a URLError."""
    reason = getattr(error, "reason", None) if isinstance(error, urllib.error.URLError) else None
    return reason if isinstance(reason, Exception) else error


def _read(response: http.client.HTTPResponse, limits: Limits) -> Reply:
    status, headers = response.status, response.headers
    if not 200 <= status < 300:
        return Reply(status, headers, _beginning(response))
    encoding = headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise _Unusable(f"is encoded as {encoding!r}, which was not asked for")
    if (response.length or 0) > limits.bytes:
        raise _Unusable(TOO_LARGE)
    parts = []
    while part := response.read(STEP):
        parts.append(part)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return Reply(status, headers, b"".join(parts))


def _beginning(response: http.client.HTTPResponse) -> bytes:
    """What a server says about an error, if it says it in time."""
    try:
        return response.read(QUOTED_BYTES)
    except (_Unusable, OSError, http.client.HTTPException, ValueError):
        return b""


def _explained(failure: Exception, url: str, limits: Limits, secrets: Secrets) -> Exception:
    """The failure in words, as an error to raise."""
    said = secrets.redact(str(failure), 200)
    if isinstance(failure, _Unusable):
        return OutputError(
            f"The answer of {secrets.shown(url)} {said}.",
            "Check that the URL is that of an OpenAI-compatible API.",
        )
    if isinstance(failure, ssl.SSLCertVerificationError):
        return OutputError(
            f"The TLS certificate of {secrets.shown(url)} cannot be verified: {said}.",
            "Check the URL; for a certificate authority of your own set SSL_CERT_FILE.",
        )
    if isinstance(failure, TimeoutError):
        return TransientError(f"no complete answer within {limits.seconds:g} s")
    return TransientError(f"{type(failure).__name__}: {said}")
