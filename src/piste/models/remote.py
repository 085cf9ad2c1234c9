"""Remote models: a chat or completions endpoint that tells the log-probabilities of label words.

The endpoint speaks the API that OpenAI made common. One token is asked for after the prompt; the
label words are scored by the tokens that begin them among the most probable ones. A label that is
not among these is at most as probable as the least of them, and as what they leave: it gets that
bound, and the explanation says how often that happened.
"""

from __future__ import annotations

import http.client
import json
import logging
import math
import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from piste.errors import OutputError, SettingError, percent
from piste.explanation import FloatArray
from piste.files import cache_directory
from piste.models.answers import AnswerCache
from piste.models.callable import FunctionClassifier

log = logging.getLogger(__name__)

APIS = ("chat", "completions")
TOP = 20  # log-probabilities asked for: what the API allows
AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}  # statuses that may pass
TEXT = "{text}"  # where the text stands in a prompt


@dataclass(frozen=True)
class Endpoint:
    """Where to ask, for what, and with how much patience."""

    url: str  # of the API: https://host/v1
    labels: tuple[str, ...]
    prompt: str  # with {text} in it
    model: str | None = None
    api: str = "chat"
    key_from: str = "OPENAI_API_KEY"  # the environment variable that holds the key, if any
    timeout: float = 60.0  # seconds for one answer
    retries: int = 5
    concurrency: int = 8
    rate: float | None = None  # questions a second, at most

    def __post_init__(self) -> None:
        if not _is_address(self.url):
            raise SettingError("The endpoint's URL is no address.", "Give http(s)://host/v1.")
        numbers = (self.timeout, self.concurrency, 1 if self.rate is None else self.rate)
        if min(numbers) <= 0 or self.retries < 0:
            raise SettingError("A number is out of range.", "Give times, rate and threads above 0.")
        if self.api not in APIS:
            raise SettingError(f"There is no API {self.api!r}.", f"Give one of {', '.join(APIS)}.")
        if TEXT not in self.prompt:
            raise SettingError(f"The prompt has no {TEXT}.", "Put it where the text belongs.")
        if len(self.labels) < 2 or len(set(map(_bare, self.labels))) < len(self.labels):
            raise SettingError("The labels are too few or alike.", "Give two different words.")

    def request(self, text: str) -> dict[str, Any]:
        """The question about one text, as the API wants it."""
        prompt = self.prompt.replace(TEXT, text)
        asked: dict[str, Any] = {"max_tokens": 1, "temperature": 0}
        if self.model is not None:
            asked["model"] = self.model
        if self.api == "chat":
            messages = [{"role": "user", "content": prompt}]
            return asked | {"messages": messages, "logprobs": True, "top_logprobs": TOP}
        return asked | {"prompt": prompt, "logprobs": TOP}

    @property
    def address(self) -> str:
        path = "chat/completions" if self.api == "chat" else "completions"
        return f"{self.url.rstrip('/')}/{path}"


def from_endpoint(
    url: str,
    labels: Sequence[str],
    prompt: str,
    *,
    model: str | None = None,
    api: str = "chat",
    key_from: str = "OPENAI_API_KEY",
    timeout: float = 60.0,
    retries: int = 5,
    concurrency: int = 8,
    rate: float | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> FunctionClassifier:
    """A classifier from an endpoint that speaks the OpenAI API with log-probabilities.

    prompt: the question, with {text} where the text stands; the answer should begin with one of
    the labels.
    key_from: the environment variable that holds the key; it is never shown or kept.
    cache: a file that keeps the answers, so that nothing is paid twice; by default in the user's
    cache directory.
    """
    if isinstance(labels, str):
        raise SettingError("labels is one string.", f"Pass a list, such as [{labels!r}, ...].")
    endpoint = Endpoint(
        url, tuple(labels), prompt, model, api, key_from, timeout, retries, concurrency, rate
    )
    kept = AnswerCache(Path(cache) if cache is not None else cache_directory() / "answers.sqlite")
    ask = RemoteLabels(endpoint, kept)
    name = model or _shown(url)
    return FunctionClassifier(
        ask,
        tuple(labels),
        "logits",
        name,
        backend=f"{api} endpoint",
        remarks=ask.notes,
        asks_twice=False,  # the second answer would come from the cache
    )


@dataclass
class RemoteLabels:
    """A function of texts that asks an endpoint: log-probabilities [texts, labels]."""

    endpoint: Endpoint
    cache: AnswerCache | None = None
    asked: int = 0  # questions that went over the wire
    bounded: int = 0  # labels that were not among the answers
    told: int = 0  # labels in all
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _next: float = 0.0  # when the rate allows the next question

    def __call__(self, texts: list[str]) -> FloatArray:
        with ThreadPoolExecutor(max_workers=self.endpoint.concurrency) as pool:
            found = list(pool.map(self._scores, texts))
        return np.array(found)

    def notes(self) -> tuple[str, ...]:
        """What a reader of an explanation must know of the answers."""
        if not self.bounded:
            return ()
        share = self.bounded / max(1, self.told)
        return (
            f"In {percent(share)} of the answers a label was not among the {TOP} likeliest tokens;"
            " its probability there is an upper bound.",
        )

    def _scores(self, text: str) -> list[float]:
        request = self.endpoint.request(text)
        question = [self.endpoint.address, request]
        tokens = self.cache.get(question) if self.cache is not None else None
        if tokens is None:
            tokens = self._answered(request)
            if self.cache is not None:
                self.cache.put(question, tokens)
        scores, missing = label_scores(tokens, self.endpoint.labels)
        with self._lock:
            self.bounded += missing
            self.told += len(scores)
        return scores

    def _answered(self, request: Mapping[str, Any]) -> dict[str, float]:
        """The tokens and their log-probabilities, asked again with growing pauses."""
        problem = ""
        for attempt in range(self.endpoint.retries + 1):
            self._wait_for_the_rate()
            try:
                return top_tokens(self._post(request), self.endpoint.api)
            except _Passing as error:
                problem = str(error)
                if attempt < self.endpoint.retries:
                    pause = error.pause or _pause(attempt)
                    log.info("The endpoint did not answer (%s); again in %.1f s.", problem, pause)
                    time.sleep(pause)
        raise OutputError(
            f"The endpoint {_shown(self.endpoint.url)} did not answer: {problem}"
            f" ({self.endpoint.retries + 1} tries).",
            "Check that it is up; what was answered is kept where there is a cache.",
        )

    def _wait_for_the_rate(self) -> None:
        if self.endpoint.rate is None:
            return
        with self._lock:
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + 1 / self.endpoint.rate
        time.sleep(max(0.0, mine - now))

    def _post(self, request: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "piste"}
        key = os.environ.get(self.endpoint.key_from)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        data = json.dumps(request).encode()
        asked = urllib.request.Request(self.endpoint.address, data, headers)
        with self._lock:
            self.asked += 1
        try:
            with urllib.request.urlopen(asked, timeout=self.endpoint.timeout) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:  # it holds the connection
                raise _refused(error, self.endpoint) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _Passing(f"{type(error).__name__}: {str(error)[:200]}") from error


class _Passing(Exception):
    """A failure that may be over at the next try."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


def _refused(error: urllib.error.HTTPError, endpoint: Endpoint) -> Exception:
    """Whether to try again, or what is wrong."""
    if error.code in AGAIN:
        return _Passing(f"status {error.code}", _retry_after(error.headers.get("Retry-After")))
    said = error.read(300).decode("utf-8", "replace").replace("\n", " ")
    remedy = f"Set {endpoint.key_from}." if error.code in (401, 403) else "Check URL and model."
    return OutputError(f"{_shown(endpoint.url)} refuses: status {error.code}, {said}.", remedy)


def _retry_after(given: str | None) -> float | None:
    try:
        return min(60.0, max(0.0, float(given))) if given is not None else None
    except ValueError:
        return None


def _pause(attempt: int) -> float:
    """Growing, and spread, so that many clients do not come back at once."""
    return float(min(30.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        return False


def _shown(url: str) -> str:
    """The address without a user or a key that somebody wrote into it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def top_tokens(answer: Any, api: str) -> dict[str, float]:
    """The likeliest first tokens and their log-probabilities. Malformed answers may pass."""
    try:
        told = answer["choices"][0]["logprobs"]
        if api == "chat":
            entries = told["content"][0]["top_logprobs"]
            pairs = [(entry["token"], entry["logprob"]) for entry in entries]
        else:
            pairs = list(told["top_logprobs"][0].items())
        found = {str(token): float(value) for token, value in pairs}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise _Passing(f"an answer without log-probabilities ({type(error).__name__})") from error
    if not found or not all(math.isfinite(value) for value in found.values()):
        raise _Passing("an answer whose log-probabilities are not numbers")
    return found


def label_scores(tokens: Mapping[str, float], labels: Sequence[str]) -> tuple[list[float], int]:
    """The log-probability of each label, and how many of them are bounds only.

    A token counts for the one label that it begins; one that begins several counts for none.
    """
    bare = [_bare(label) for label in labels]
    shares: list[list[float]] = [[] for _ in labels]
    for token, value in tokens.items():
        start = _bare(token)
        fits = [index for index, label in enumerate(bare) if start and label.startswith(start)]
        if len(fits) == 1:
            shares[fits[0]].append(value)
    left = math.log(max(1e-9, 1 - sum(math.exp(value) for value in tokens.values())))
    bound = min(left, min(tokens.values()))
    scores = [float(np.logaddexp.reduce(found)) if found else bound for found in shares]
    return scores, sum(not found for found in shares)


def _bare(word: str) -> str:
    return word.strip(" \t\n\"'.:Ġ▁").casefold()
