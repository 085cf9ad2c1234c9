"""Everything that a server can do wrong to a client, by name: what `tests.endpoint.Server` plays.

A fault is a function of the request's handler and the right answer's bytes. It writes to the
connection what it likes. None of them lasts longer than `LONGEST` seconds, nor longer than the
client or the server.
"""

from __future__ import annotations

import gzip
import socket
import struct
import time
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.endpoint import Handler

LONGEST = 30.0  # seconds
PAUSE = 0.1  # seconds between drops; a timeout of single reads would never fire
LATER = 10**9  # seconds that a server may ask to wait
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
HUGE = 600 * 2**20  # bytes
BLOCK = b" " * 2**16
DEEP = 100_000  # brackets

Fault = Callable[["Handler", bytes], object]


def play(name: str, handler: Handler, answer: bytes) -> None:
    """Play a fault: a name of FAULTS, or a status such as "500"."""
    try:
        if name.isdigit():
            _status(handler, int(name))
        else:
            FAULTS[name](handler, answer)
    except OSError:  # the client has given up, as it should
        pass
    finally:
        handler.close_connection = True


def _status(handler: Handler, status: int, retry_after: int = 0) -> None:
    body = b'{"error": "no"}'
    handler.wfile.write(
        b"HTTP/1.1 %d No\r\nRetry-After: %d\r\nContent-Length: %d\r\n\r\n%s"
        % (status, retry_after, len(body), body)
    )


def _drops(handler: Handler, parts: Iterable[bytes], pause: float = PAUSE) -> None:
    """Part after part, until the time is up or somebody leaves."""
    end = time.monotonic() + LONGEST
    for part in parts:
        handler.wfile.write(part)
        if time.monotonic() > end or handler.endpoint.stopping.wait(pause):
            return


def _endless(part: bytes) -> Iterable[bytes]:
    """More than any client should take."""
    return repeat(part, HUGE // max(1, len(part)))


def complete(body: bytes, headers: bytes = b"") -> bytes:
    return OK + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _says(body: bytes, headers: bytes = b"") -> Fault:
    """A complete answer with this body."""
    return lambda handler, _: handler.wfile.write(complete(body, headers))


def _claims(more: int) -> Fault:
    """The right answer under a length that is wrong by that much."""

    def fault(handler: Handler, answer: bytes) -> None:
        handler.wfile.write(OK + b"Content-Length: %d\r\n\r\n" % (len(answer) + more) + answer)

    return fault


def _begins(beginning: bytes, part: bytes = b"", pause: float = 0.0) -> Fault:
    """An answer that begins so, and then has no end."""

    def fault(handler: Handler, _: bytes) -> None:
        handler.wfile.write(beginning)
        _drops(handler, _endless(part), pause)

    return fault


def _reset(handler: Handler, _: bytes) -> None:
    handler.wfile.write(OK)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def _redirect(status: int) -> Fault:
    def fault(handler: Handler, _: bytes) -> None:
        target = (handler.endpoint.target or handler.path).encode()
        handler.wfile.write(
            b"HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, target)
        )

    return fault


def _echo(handler: Handler, _: bytes) -> None:
    """A refusal that quotes the credentials, as some gateways do."""
    key = (handler.headers.get("Authorization") or "").encode()
    body = b'{"error": "no access for %s at %s"}' % (key, handler.path.encode())
    handler.wfile.write(b"HTTP/1.1 401 No\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def _slow(handler: Handler, answer: bytes) -> None:
    handler.endpoint.stopping.wait(1.0)
    handler.wfile.write(complete(answer))


def _drip(handler: Handler, answer: bytes) -> None:
    parts = (answer[i : i + 1] for i in range(len(answer)))
    handler.wfile.write(OK + b"Content-Length: %d\r\n\r\n" % len(answer))
    _drops(handler, parts)


def _logprob(value: bytes) -> bytes:
    entry = b'{"token": "pos", "logprob": %s}' % value
    return b'{"choices": [{"logprobs": {"content": [{"top_logprobs": [%s]}]}}]}' % entry


FAULTS: dict[str, Fault] = {
    # the connection
    "cut": lambda handler, _: None,  # not a byte of an answer
    "reset": _reset,
    "silent": lambda handler, _: _drops(handler, _endless(b"")),
    "not-http": lambda handler, _: handler.wfile.write(b"220 mail.example ESMTP\r\n"),
    # time
    "slow": _slow,
    "drip": _drip,
    "drip-headers": _begins(OK + b"X-Long: ", b"x", PAUSE),
    "drip-chunks": _begins(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", PAUSE),
    "drip-error": _begins(b"HTTP/1.1 400 No\r\nContent-Length: 9999\r\n\r\n", b"x", PAUSE),
    "continue": _begins(b"", b"HTTP/1.1 100 Continue\r\n\r\n", PAUSE),
    "429-later": lambda handler, _: _status(handler, 429, LATER),
    # size
    "huge": _begins(OK + b"\r\n", BLOCK),
    "huge-announced": _begins(OK + b"Content-Length: %d\r\n\r\n" % HUGE, BLOCK),
    "huge-chunk": _begins(OK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % HUGE, BLOCK),
    "negative-chunk": _begins(OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", BLOCK),
    "huge-headers": _begins(OK, b"X-More: " + b"x" * 1000 + b"\r\n"),
    "huge-header": _begins(OK + b"X-Long: ", b"x" * 2**16),
    "gzip": _says(gzip.compress(b" " * 10 * 2**20), b"Content-Encoding: gzip\r\n"),
    # content
    "long-length": _claims(9),
    "short-length": _claims(-9),
    "malformed": _says(b"{not json"),
    "empty": _says(b'{"choices": []}'),
    "bad-utf8": _says(b'{"choices": "\xff\xfe\xfa"}'),
    "nan": _says(_logprob(b"NaN")),
    "infinity": _says(_logprob(b"-Infinity")),
    "overflow": _says(_logprob(b"1e999")),
    "huge-integer": _says(_logprob(b"-" + b"9" * 400)),
    "positive": _says(_logprob(b"800.0")),
    "deep": _says(b"[" * DEEP + b"]" * DEEP),
    # elsewhere, and secrets
    "redirect-301": _redirect(301),
    "redirect-302": _redirect(302),
    "redirect-303": _redirect(303),
    "redirect-307": _redirect(307),
    "redirect-308": _redirect(308),
    "echo": _echo,
}
