"""Credentials of an endpoint: how they are read, and how they are taken out of what is shown."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit
from urllib.request import getproxies

from piste.errors import SettingError

REDACTED = "[redacted]"
PART = 8  # characters of a secret that count as a part of it
LONGEST_URL = 300  # characters of an address in a message
WORD = 4  # shorter secrets are redacted only where they stand alone: "x" is in many words


def shown(url: str) -> str:
    """The address as it may be shown: without user, password, query and fragment."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"


def read_key(variable: str) -> str:
    """The API key in an environment variable; empty where there is none."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise SettingError(
            "key_from is not the name of an environment variable (it is not shown here, in case it"
            " is the key itself).",
            "Put the key into a variable and pass the variable's name: key_from='OPENAI_API_KEY'.",
        )
    key = os.environ.get(variable, "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise SettingError(
            f"The API key in {variable} contains a blank, a control character or a character that"
            " is not ASCII (the key is not shown).",
            f"Set {variable} to the key alone, on one line.",
        )
    return key


def authorization(url: str, key: str) -> str | None:
    """The Authorization header: user and password of the URL if it has them, else the key.

    A key that is in the environment for another service is not sent to a server that has a
    password of its own.
    """
    pair = ":".join(map(unquote, _userinfo(url)))
    if pair:
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    return f"Bearer {key}" if key else None


@dataclass(frozen=True, repr=False)
class Secrets:
    """Strings that must not be shown, logged or stored, in whatever form they are quoted."""

    forms: frozenset[str] = frozenset()  # in lower case

    @classmethod
    def of(cls, url: str, key: str) -> Secrets:
        """The key, and what is secret in the endpoint's URL and in the URLs of proxies."""
        values = {key}
        for address in (url, *getproxies().values()):
            user_and_password = _userinfo(address)
            values |= {*user_and_password, ":".join(map(unquote, user_and_password))}
        parts = urlsplit(url)
        values |= {value for _, value in parse_qsl(parts.query)} | {parts.query, parts.fragment}
        return cls(frozenset(_lower(form) for value in values - {""} for form in _forms(value)))

    def redact(self, text: str, most: int | None = None) -> str:
        """The first `most` characters, without secrets and parts of secrets.

        Secrets are looked for in the whole text first, so that the cut leaves no half of one.
        """
        hidden = bytearray(len(text))  # 1: the character belongs to a secret
        for start, end in self._places(_lower(text)):
            hidden[start:end] = b"\1" * (end - start)
        flagged = "".join(
            "\0" if is_hidden else character.replace("\0", " ")
            for character, is_hidden in zip(text[:most], hidden, strict=False)
        )
        return re.sub("\0+", REDACTED, flagged)

    def shown(self, url: str) -> str:
        """The address as it may be shown: a server may have led to one that repeats a secret."""
        return self.redact(shown(url), LONGEST_URL)

    def _places(self, text: str) -> Iterable[tuple[int, int]]:
        for form in self.forms:
            if len(form) < WORD:
                for match in re.finditer(rf"(?<!\w){re.escape(form)}(?!\w)", text):
                    yield match.span()
                continue
            width = min(len(form), PART)
            parts = {form[start : start + width] for start in range(len(form) - width + 1)}
            for start in range(len(text) - width + 1):
                if text[start : start + width] in parts:
                    yield start, start + width


def _userinfo(url: str) -> tuple[str, ...]:
    """User and password as the URL spells them; nothing where it has none."""
    # By hand: a proxy's URL may be one that `urlsplit` refuses or, without a scheme, misreads.
    place = re.split("[/?#]", url.partition("://")[2] or url, maxsplit=1)[0]
    before, at, _ = place.rpartition("@")
    return tuple(before.split(":", 1)) if at else ()


def _forms(secret: str) -> set[str]:
    """The ways in which a server, a library or a log may spell a secret."""
    forms = set()
    for plain in {secret, unquote(secret)}:
        forms |= {quote(plain, safe=""), quote(plain), quote_plus(plain)}
        forms |= {plain, json.dumps(plain)[1:-1], repr(plain)[1:-1], html.escape(plain)}
        coded = base64.b64encode(plain.encode("utf-8", "surrogateescape")).decode().rstrip("=")
        forms |= {coded, coded.translate({ord("+"): "-", ord("/"): "_"})}
    return forms


def _lower(text: str) -> str:
    """The text in lower case, as long as before: other alphabets may change their length."""
    return "".join(character.lower() if character.isascii() else character for character in text)
