"""Who may ask, and what browsers may do with the answer: a layer around the whole application."""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.exceptions import HTTPException

from piste.web.settings import (
    BODY_SECONDS,
    CONNECTIONS,
    MOST_CHARACTERS,
    Settings,
    as_address,
)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 12 * MOST_CHARACTERS + 65_536  # JSON may write a character as two \uXXXX
# The page itself holds nothing: its script asks the API, with the token.
OPEN = ("/", "/favicon.ico")
OPEN_BELOW = "/static/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def headers_for(embedded_in: str | None) -> list[tuple[bytes, bytes]]:
    """What stands on every answer; one origin may be allowed to show the page in a frame."""
    own = dict(HEADERS)
    if embedded_in is not None:
        own["content-security-policy"] = POLICY.replace(
            "frame-ancestors 'none'", f"frame-ancestors {embedded_in}"
        )
        del own["x-frame-options"]  # knows no origins
    return [(name.encode(), value.encode()) for name, value in own.items()]


class Guard:
    """Refuses foreign hosts, foreign pages, missing tokens and huge bodies; adds the headers."""

    def __init__(self, app: App, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.active = 0  # requests that were let in and are not answered yet
        self.names = {"localhost", settings.host.lower(), socket.gethostname().lower()}
        if settings.site is not None:
            self.names.add(settings.site.lower())
        self.headers = headers_for(settings.embedded_in)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sender = _with_headers(send, self.headers)
        refusal = self.refusal(scope)
        if refusal is not None:
            await _refuse(sender, *refusal)
            return
        self.active += 1
        try:
            await self.app(scope, _limited(receive), sender)
        finally:
            self.active -= 1

    def refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Status, cause and remedy where the request is turned away."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        host = headers.get("host", "")
        if not self.knows(host):
            cause = "This server does not go by that name."
            return 421, cause, f"Open it at http://{self.settings.host}, or name it with --host."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "Another site sent this request.", "Ask from the page itself."
        if headers.get("content-length", "0").isdecimal():
            if int(headers.get("content-length", "0")) > MOST_BYTES:
                return 413, "The request is too large.", "Send a shorter text."
        if not self.admits(scope, headers.get("authorization", "")):
            remedy = "Open the address that the server printed, or send it: Authorization: Bearer."
            return 401, "The token is missing or wrong.", remedy
        # Last: those without the token take no place of those who have it.
        if self.active >= CONNECTIONS:
            return (
                503,
                f"The server is busy: {self.active} requests are open.",
                "Try again shortly.",
            )
        return None

    def knows(self, header: str) -> bool:
        """Whether the Host header means us: a page of another name may point its name here."""
        try:
            host = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        if host in self.names:
            return True
        address = as_address(host)
        return address is not None and (address.is_loopback or not self.settings.is_local)

    def admits(self, scope: Scope, authorization: str) -> bool:
        """Whether the token is right, or none is needed."""
        token, path = self.settings.token, scope["path"]
        if token is None or path in OPEN or path.startswith(OPEN_BELOW):
            return True
        kind, _, given = authorization.partition(" ")
        if kind.lower() != "bearer":
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
            given = query.get("token", [""])[0] if scope["method"] == "GET" else ""
        return hmac.compare_digest(given.strip().encode(), token.encode())


def _with_headers(send: Send, added: list[tuple[bytes, bytes]]) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in added}
            kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in ours]
            message = {**message, "headers": [*kept, *added]}
        await send(message)

    return sender


def _limited(receive: Receive) -> Receive:
    """The body, as long as it is neither huge nor slow: its length need not be announced."""
    seen, complete = 0, False
    end = asyncio.get_running_loop().time() + BODY_SECONDS

    async def receiver() -> Message:
        nonlocal seen, complete
        left = end - asyncio.get_running_loop().time()
        message = await _timely(receive, None if complete else left)
        seen += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if seen > MOST_BYTES:
            raise HTTPException(413, "The request is too large.")
        return message

    return receiver


async def _timely(receive: Receive, seconds: float | None) -> Message:
    try:
        return await asyncio.wait_for(receive(), seconds)
    except TimeoutError:
        raise HTTPException(408, "The request did not arrive in time.") from None


async def _refuse(send: Send, status: int, cause: str, remedy: str) -> None:
    body = json.dumps({"error": cause, "remedy": remedy}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 503:
        headers.append((b"retry-after", b"2"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
