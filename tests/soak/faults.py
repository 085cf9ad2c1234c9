"""An endpoint with every fault: the right answer after retries, or a clear error in time.

A trial asks one question of a server on loopback that has the fault once, or always. Whatever the
server does, the answer is right or an error says what happened, before the deadline, in bounded
memory. The key (or the password in the address) must reach no other origin and no output: not an
error and what caused it, not the log, not the file of answers.
"""

from __future__ import annotations

import logging
import os
import resource
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import piste
from piste.errors import PisteError
from tests.endpoint import Server, margin, running
from tests.endpoint_faults import FAULTS
from tests.soak.cases import Batch, Case, Result, Tally

STATUSES = ("400", "401", "404", "408", "429", "500", "502", "503")
APIS = ("chat", "completions")
TIMEOUT, RETRIES = 0.5, 2  # seconds for an answer; how often it is asked for again
# Three timeouts, pauses of at most 0.5 and 1 second, and room for a busy machine.
DEADLINE = (RETRIES + 1) * TIMEOUT + 1.5 + 4.0
MORE_MEMORY = 100.0  # megabytes that a client may grow by, with servers that send 600
KEY, PASSWORD = "sk-soak-2718281828", "pass-soak-1618033988"
KEY_FROM = "PISTE_SOAK_KEY"
PROMPT = "Is this positive or negative?\n{text}\nAnswer:"
BATCH = 20


class Output(logging.Handler):
    """Everything that the library logs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@dataclass(frozen=True)
class Question:
    """A text that is asked for once, of a server with a fault."""

    number: int
    fault: str
    variant: int  # which API, and whether a key or a password goes with it

    @property
    def text(self) -> str:
        return " ".join(["superb"] * (self.number % 3) + ["dull"] * (self.number % 2) + ["film"])

    def url(self, server: Server) -> str:
        user = f"user:{PASSWORD}@" if self.variant % 2 else ""
        return server.url.replace("://", f"://{user}")

    def answer(self, server: Server, cache: Path) -> float:
        """The margin between the labels, as the endpoint's classifier tells it."""
        classifier = piste.from_endpoint(
            self.url(server), ("positive", "negative"), PROMPT, model=f"model {self.number}",
            api=APIS[self.variant // 2 % 2], key_from=KEY_FROM, timeout=TIMEOUT, retries=RETRIES,
            cache=cache,
        )  # fmt: skip
        encoding = classifier.encode(self.text)
        logits = classifier.logits(np.array([encoding.ids]))[0]
        return float(logits[0] - logits[1])


def tried(batch: Batch, lasting: bool) -> Result:
    output, tally, before = Output(), Tally(), _memory()
    os.environ[KEY_FROM] = KEY
    logging.getLogger("piste").addHandler(output)
    logging.getLogger("piste").setLevel(logging.DEBUG)
    for number in range(batch.number * BATCH, batch.number * BATCH + batch.count):
        if batch.is_late:
            break
        _one(number, lasting, batch.folder / "answers.sqlite", output, tally)
        tally.tried += 1
    grown = _memory() - before
    tally.peaks["MB more"] = round(grown)
    tally.check(grown < MORE_MEMORY, f"{grown:.0f} MB more than before")
    _check_secrets(batch.folder, output, tally)
    return tally.result()


def _one(number: int, lasting: bool, cache: Path, output: Output, tally: Tally) -> None:
    """One question of a server with a fault, which redirects point away from."""
    names = (*FAULTS, *STATUSES)
    rounds, place = divmod(number, len(names))
    question = Question(number, names[place], rounds + place)
    with running() as server, running() as other:
        server.target = f"{other.url}/elsewhere"
        server.faults, server.always = [question.fault], question.fault if lasting else ""
        _ask(question, server, cache, output, tally)
        leaked = {key for key in other.keys if key}
        tally.check(not leaked, f"{question.fault}: credentials sent to another origin")


def _ask(question: Question, server: Server, cache: Path, output: Output, tally: Tally) -> None:
    """Ask; the answer is right, or the error is ours and comes in time."""
    began, name = time.monotonic(), question.fault
    try:
        told = question.answer(server, cache)
        right = abs(told - margin(question.text)) < 1e-6
        tally.check(right, f"{name}: {told}, not {margin(question.text)}")
        tally.count("right answers")
    except PisteError as error:
        output.lines.append("".join(traceback.format_exception(error)))
        tally.count("clear errors")
    except Exception as error:
        output.lines.append("".join(traceback.format_exception(error)))
        tally.fail(f"{name}: {type(error).__name__}: {str(error)[:200]}")
    seconds = time.monotonic() - began
    tally.peaks["slowest, s"] = max(tally.peaks.get("slowest, s", 0.0), round(seconds, 1))
    tally.check(seconds <= DEADLINE, f"{name}: took {seconds:.1f} s")


def _check_secrets(folder: Path, output: Output, tally: Tally) -> None:
    for line in output.lines:
        shown = [secret for secret in (KEY, PASSWORD) if secret in line]
        tally.check(not shown, f"a secret is shown: {line[-300:]}")
    for path in folder.glob("answers.sqlite*"):
        kept = any(secret.encode() in path.read_bytes() for secret in (KEY, PASSWORD))
        tally.check(not kept, f"a secret is kept in {path.name}")


def _memory() -> float:
    """The most megabytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cases() -> list[Case]:
    return [
        Case(
            "endpoint", "once", "every fault of an endpoint, once, then right answers", 180, BATCH,
            240.0, partial(tried, lasting=False), side_by_side=2,
        ),
        Case(
            "endpoint", "always", "every fault of an endpoint, for ever", 140, BATCH, 300.0,
            partial(tried, lasting=True), side_by_side=2,
        ),
    ]  # fmt: skip
