"""uvicorn's connections, with deadlines: uvicorn itself waits for a request for ever.

A connection that is waiting for a request (for its first, its next, or the rest of its headers)
takes a place that somebody else may need. It has `HEADER_SECONDS`, however it spreads its bytes
over them, and is the first to go when too many are waiting.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from piste.web.settings import BODY_SECONDS, CONNECTIONS

HEADER_SECONDS = 10.0  # in which the headers of a request must arrive
GRACE_SECONDS = 5.0  # after the body's deadline, in which the application answers 408
UNREAD_SECONDS = 30.0  # in which a client must read a part of the answer


class TimelyProtocol(H11Protocol):
    """Closes connections whose requests do not arrive, or whose answers are not read, in time."""

    deadline: asyncio.TimerHandle | None = None  # of the request that is arriving
    unread: asyncio.TimerHandle | None = None  # of the answer that nobody reads
    since = 0.0  # when the wait for a request began

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being worked on."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        was_waiting = self.is_waiting
        super().data_received(data)
        if self.is_waiting:  # headers are incomplete: more bytes do not buy more time
            return
        if not self.cycle.more_body:
            self._set_deadline(None)
        elif was_waiting:
            self._set_deadline(BODY_SECONDS + GRACE_SECONDS)

    def on_response_complete(self) -> None:
        self._await_request()
        super().on_response_complete()  # which may begin with the next request
        if not self.is_waiting:
            self._set_deadline(BODY_SECONDS + GRACE_SECONDS if self.cycle.more_body else None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        self._set_unread(None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set_unread(UNREAD_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._set_unread(None)

    def expire(self) -> None:
        """Close the connection, and cut it if the client does not even read what is left."""
        self.transport.close()
        self._set_unread(UNREAD_SECONDS)

    def _await_request(self) -> None:
        self.since = self.loop.time()
        self._set_deadline(HEADER_SECONDS)

    def _set_deadline(self, seconds: float | None) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
        self.deadline = None if seconds is None else self.loop.call_later(seconds, self.expire)

    def _set_unread(self, seconds: float | None) -> None:
        if self.unread is not None:
            self.unread.cancel()
        abort = self.transport.abort
        self.unread = None if seconds is None else self.loop.call_later(seconds, abort)

    def _make_room(self) -> None:
        """Close the connection that has been waiting longest, if too many are."""
        waiting = [
            other
            for other in self.connections
            if isinstance(other, TimelyProtocol)
            and other.is_waiting
            and not other.transport.is_closing()
        ]
        if len(waiting) > CONNECTIONS:
            min(waiting, key=lambda other: other.since).expire()
