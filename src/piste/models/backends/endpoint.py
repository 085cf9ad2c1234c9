"""Remote models: a chat or completions endpoint that tells the log-probabilities of label words.

The endpoint speaks the API that OpenAI made common. One token is asked for after the prompt; the
label words are scored by the tokens that begin them among the most probable ones. A label that is
not among these is at most as probable as the least of them, and as what they leave: it gets that
bound, and the explanation says how often that happened.
"""

from __future__ import annotations

import json
import logging
import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from piste.arrays import FloatArray
from piste.errors import OutputError, PassingError, SettingError, choices, few, percent
from piste.files import cache_directory
from piste.models.backends.answer_cache import AnswerCache, Answers, MemoryAnswers
from piste.models.backends.function import FunctionClassifier
from piste.models.backends.label_tokens import (
    are_log_probabilities,
    bare,
    label_scores,
    parsed,
    top_tokens,
)
from piste.models.backends.redaction import Secrets, authorization, read_key, shown
from piste.models.backends.transport import Post, Reply, TransientError, post
from piste.options import whole_number

log = logging.getLogger(__name__)

APIS = ("chat", "completions")
TOP = 20  # log-probabilities asked for: what the API allows
AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}  # statuses that may pass
LONGEST_PAUSE = 60.0  # seconds; a server that asks for more is not waited for
MOST_SECONDS = 1e6  # more overflows in a socket
QUOTED = 300  # characters of a refusal
RARE = ("concurrency", "rate")  # settings of `Endpoint` that few change
TEXT = "{text}"  # where the text stands in a prompt


@dataclass(frozen=True)
class Endpoint:
    """Where to ask, for what, and with how much patience."""

    url: str = field(repr=False)  # of the API: https://host/v1; it may hold a password
    labels: tuple[str, ...]
    prompt: str  # with {text} in it
    model: str | None = None
    api: str = "chat"
    key_from: str = "OPENAI_API_KEY"  # the environment variable that holds the key, if any
    timeout: float = 60.0  # seconds for one complete answer
    retries: int = 5
    concurrency: int = 8
    rate: float | None = None  # questions a second, at most

    def __post_init__(self) -> None:
        _check_address(self.url)
        for name in ("timeout", "rate"):
            _check_positive(name, getattr(self, name))
        whole_number("retries", self.retries, 0)
        whole_number("concurrency", self.concurrency, 1)
        if self.api not in APIS:
            raise SettingError(f"There is no API {self.api!r}.", f"Give one of {', '.join(APIS)}.")
        if TEXT not in self.prompt:
            raise SettingError(f"The prompt has no {TEXT}.", "Put it where the text belongs.")
        if len(self.labels) < 2 or len(set(map(bare, self.labels))) < len(self.labels):
            raise SettingError(
                f"The labels are too few or alike: {few(self.labels)}.", "Give two different words."
            )
        read_key(self.key_from)  # a key that cannot be one is told before the first question

    def request(self, text: str) -> dict[str, Any]:
        """The question about one text, as the API wants it."""
        prompt = self.prompt.replace(TEXT, text)
        request: dict[str, Any] = {"max_tokens": 1, "temperature": 0}
        if self.model is not None:
            request["model"] = self.model
        if self.api == "chat":
            messages = [{"role": "user", "content": prompt}]
            return request | {"messages": messages, "logprobs": True, "top_logprobs": TOP}
        return request | {"prompt": prompt, "logprobs": TOP}

    @property
    def address(self) -> str:
        """Where questions go, without user and password: these travel in a header."""
        parts = urlsplit(self.url)
        path = "chat/completions" if self.api == "chat" else "completions"
        place = parts.netloc.rpartition("@")[2]
        return urlunsplit(
            (parts.scheme, place, f"{parts.path.rstrip('/')}/{path}", parts.query, "")
        )

    def post(self, request: Mapping[str, Any]) -> Post:
        """The question with its credentials, which are read anew each time."""
        key = read_key(self.key_from)
        headers = {"Content-Type": "application/json", "User-Agent": "piste"}
        credentials = authorization(self.url, key)
        if credentials is not None:
            headers["Authorization"] = credentials
        body = json.dumps(request).encode()
        return Post(self.address, body, headers, Secrets.of(self.url, key))


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
    cache: str | os.PathLike[str] | None = None,
    **more: Any,
) -> FunctionClassifier:
    """A classifier from an endpoint that speaks the OpenAI API with log-probabilities.

    url: where the API is, such as https://host/v1. A user and password in it are sent as basic
    authentication, instead of the key. Redirects to another origin are refused.
    prompt: the question, with {text} where the text stands; the answer should begin with one of
    the labels.
    model: the name that the server knows the model by. Answers are kept on disk only for a model
    that is named: a server may serve another one tomorrow.
    key_from: the environment variable that holds the key; it is never shown or kept.
    timeout: seconds for one complete answer, from the connection to the last byte.
    retries: how often a question is asked again after a failure that may pass. Each try has its
    own timeout, and pauses of 0.5, 1, 2 ... 30 s come between them, or what the server's
    Retry-After asks for, up to 60 s.
    cache: a file that keeps the answers, so that nothing is paid twice; by default in the user's
    cache directory. It needs a model's name.
    more: `concurrency`, how many questions are asked at once (8), and `rate`, the most that are
    asked in a second (no limit).
    """
    for name in more:
        if name not in RARE:
            raise choices("setting of an endpoint", name, RARE)
    if isinstance(labels, str):
        raise SettingError("labels is one string.", f"Pass a list, such as [{labels!r}, ...].")
    endpoint = Endpoint(url, tuple(labels), prompt, model, api, key_from, timeout, retries, **more)
    ask = RemoteLabels(endpoint, _answers(model, cache))
    return FunctionClassifier(
        ask,
        tuple(labels),
        "logits",
        model or shown(url),
        backend=f"{api} endpoint",
        remarks=ask.notes,
        asks_twice=False,  # the second answer would be the first one, kept
        parallel=True,
    )


def _answers(model: str | None, cache: str | os.PathLike[str] | None) -> Answers:
    """Where answers are kept: on disk for a model with a name, else while the classifier lives."""
    if model is not None:
        return AnswerCache(
            Path(cache) if cache is not None else cache_directory() / "answers.sqlite"
        )
    if cache is None:
        return MemoryAnswers()
    raise SettingError(
        f"Answers cannot be kept in {os.fspath(cache)!r} for a model without a name: the server may"
        " serve another model the next time.",
        "Name it (model=...), or leave cache out: answers are then kept in memory.",
    )


@dataclass
class RemoteLabels:
    """A function of texts that asks an endpoint: log-probabilities [texts, labels]."""

    endpoint: Endpoint
    cache: Answers = field(default_factory=MemoryAnswers, repr=False)
    asked: int = 0  # questions that went over the wire
    bounded: int = 0  # answers without one of the labels
    scored: int = 0  # answers in all, also those from the cache
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _next: float = 0.0  # when the rate allows the next question

    def __call__(self, texts: list[str]) -> FloatArray:
        stopped = threading.Event()  # one question has failed, or the user has had enough
        with ThreadPoolExecutor(max_workers=self.endpoint.concurrency) as pool:
            futures = [pool.submit(self._scores, text, stopped) for text in texts]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                stopped.set()
                for future in futures:
                    future.cancel()
            for future in done:
                future.result()  # raises what has failed
        return np.array([future.result() for future in futures])

    def notes(self) -> tuple[str, ...]:
        """What a reader of an explanation must know of the answers."""
        notes = []
        if self.bounded:
            share = self.bounded / self.scored
            notes.append(
                f"In {percent(share)} of this endpoint's answers so far a label was not among the"
                f" {TOP} likeliest tokens; its probability there is an upper bound."
            )
        if self.cache.problem:
            notes.append(f"Some answers could not be cached: {self.cache.problem}.")
        return tuple(notes)

    def _scores(self, text: str, stopped: threading.Event) -> list[float]:
        request = self.endpoint.request(text)
        question = [self.endpoint.address, request]
        tokens = self.cache.get(question)
        if not are_log_probabilities(tokens):  # never asked, or the file was tampered with
            tokens = self._answered(request, stopped)
            self.cache.put(question, tokens)
        scores, missing = label_scores(tokens, self.endpoint.labels)
        with self._lock:
            self.bounded += missing > 0
            self.scored += 1
        return scores

    def _answered(self, request: Mapping[str, Any], stopped: threading.Event) -> dict[str, float]:
        """The tokens and their log-probabilities, asked again with growing pauses."""
        problem, tries = "", 0
        while tries <= self.endpoint.retries:
            if self._waits_in_vain(stopped):
                problem = problem or "another question has failed"
                break
            tries += 1
            try:
                return top_tokens(parsed(self._sent(request).body), self.endpoint.api)
            except TransientError as error:
                problem = str(error)
                pause = _pause(tries - 1) if error.pause is None else error.pause
            if pause > LONGEST_PAUSE:
                problem += f", and asks to wait {pause:g} s"
                break
            if tries <= self.endpoint.retries:
                log.info("The endpoint did not answer (%s); again in %.1f s.", problem, pause)
                if stopped.wait(pause):
                    break
        raise PassingError(
            f"The endpoint {shown(self.endpoint.url)} did not answer: {problem} ({tries} tries).",
            "Check that it is up; answers of a model with a name are kept, and not asked again.",
        )

    def _waits_in_vain(self, stopped: threading.Event) -> bool:
        """Wait until the rate allows the next question; True where none is to be asked any more."""
        if self.endpoint.rate is None:
            return stopped.is_set()
        with self._lock:
            now = time.monotonic()
            mine = max(now, self._next)
            self._next = mine + 1 / self.endpoint.rate
        return stopped.wait(max(0.0, mine - now))

    def _sent(self, request: Mapping[str, Any]) -> Reply:
        """The endpoint's answer with a status of success."""
        question = self.endpoint.post(request)
        with self._lock:
            self.asked += 1
        reply = post(question, self.endpoint.timeout)
        if 200 <= reply.status < 300:
            return reply
        raise _refused(reply, self.endpoint, question.secrets)


def _refused(reply: Reply, endpoint: Endpoint, secrets: Secrets) -> Exception:
    """Whether to try again, or what is wrong."""
    if reply.status in AGAIN:
        pause = _retry_after(reply.headers.get("Retry-After"))
        return TransientError(f"status {reply.status}", pause)
    body = reply.body.decode("utf-8", "replace").replace("\n", " ")
    said = secrets.redact(body, QUOTED)
    remedy = f"Set {endpoint.key_from}." if reply.status in (401, 403) else "Check URL and model."
    return OutputError(f"{shown(endpoint.url)} refuses: status {reply.status}, {said}.", remedy)


def _retry_after(given: str | None) -> float | None:
    """Seconds, where the server says them; a date is passed over."""
    try:
        return max(0.0, float(given)) if given is not None else None
    except ValueError:
        return None


def _pause(attempt: int) -> float:
    """Growing, and spread, so that many clients do not come back at once."""
    return float(min(30.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0))


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not 0 < value <= MOST_SECONDS:
        raise SettingError(f"{name} is {value}.", f"Give a number above 0, up to {MOST_SECONDS:g}.")


def _check_address(url: str) -> None:
    """Refuse an invalid URL, without showing it: it may hold a password."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        is_address = False
    # An @ in the path is most likely the end of a password with a slash in it.
    if not is_address or not all("!" <= c <= "~" for c in url) or "@" in parts.path:
        raise SettingError(
            "The endpoint's address is not a valid URL (it is not shown: it may hold a password).",
            "Give http(s)://host/v1, with special characters percent-encoded: / and @ in a password"
            " are %2F and %40.",
        )
