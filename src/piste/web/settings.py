"""What a server allows, checked before it starts."""

from __future__ import annotations

import ipaddress
import re
import secrets
from dataclasses import dataclass, replace

from piste.errors import SettingError, several
from piste.options import whole_number

LOCAL = "127.0.0.1"
LEAST_TOKEN = 16  # characters, where others can reach the server
CONNECTIONS = 256  # that wait for a request; and as many requests at once
BODY_SECONDS = 30.0  # in which the whole body of a request must arrive
MOST_CHARACTERS = 200_000  # whatever --max-chars says: the schema's limit
ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d+)?")
EXAMPLE = (
    "The plot is thin and the jokes are not funny, but the acting is superb and the ending is "
    "beautiful."
)


@dataclass(frozen=True)
class Settings:
    """Where the server listens, who may ask, and how much."""

    host: str = LOCAL
    port: int = 8000
    token: str | None = None
    queue: int = 16  # explanations that may wait
    workers: int = 2  # explanations that run at once
    max_chars: int = 20_000  # of both texts together
    timeout: float = 300.0  # seconds a request may take, waiting included
    example: str = EXAMPLE  # the text that the page starts with
    site: str | None = None  # a proxy shows the page to everybody under this name: no token
    embedded_in: str | None = None  # the one origin whose pages may show this one in a frame

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)

    def checked(self) -> Settings:
        """The settings, with a token where one is needed; or the error for one that is wrong."""
        if not self.host.strip():
            raise SettingError(f"The host is {self.host!r}.", f"Leave it out for {LOCAL}.")
        if whole_number("the port", self.port, 0) > 65535:
            raise SettingError(f"There is no port {self.port}.", "Give 0 (a free one) to 65535.")
        whole_number("the queue", self.queue, 1)
        whole_number("the number of workers", self.workers, 1)
        if not 1 <= whole_number("max-chars", self.max_chars, 1) <= MOST_CHARACTERS:
            raise SettingError(
                f"max-chars is {self.max_chars}.", f"Give a number up to {MOST_CHARACTERS}."
            )
        if not 0 < self.timeout < float("inf"):
            raise SettingError(f"The timeout is {self.timeout}.", "Give seconds above 0: 300.")
        if self.embedded_in is not None and not ORIGIN.fullmatch(self.embedded_in):
            raise SettingError(
                f"{self.embedded_in!r} is not the origin of a page.",
                "Give one: https://example.org.",
            )
        return replace(self, token=self._checked_token())

    def _checked_token(self) -> str | None:
        if self.token is None:
            return None if self.is_local or self.site else secrets.token_urlsafe(24)
        if not (self.token.isascii() and self.token.isprintable() and self.token.strip()):
            raise SettingError(
                "The token is empty or has characters that a header cannot carry.",
                "Use letters, digits, - and _.",
            )
        if not self.is_local and len(self.token) < LEAST_TOKEN:
            raise SettingError(
                f"A token of {several(len(self.token), 'character')} can be guessed.",
                f"Give at least {LEAST_TOKEN}, or leave it out and one is made.",
            )
        return self.token


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    address = as_address(host)
    return address is not None and address.is_loopback


def as_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The host as an IP address; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
