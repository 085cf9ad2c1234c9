"""Fifty people and 256 slow connections at one `piste serve`.

The people explain texts and remove words, as in `benchmarks/load_page.py`; a full server may turn
them away (503), and nothing else may go wrong. The slow ones say nothing at all, or send the head
or the body of a request byte by byte; when they are cut off they come again. Afterwards the server
must have about the memory and the threads it had before, and give the same answer to the same
question.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import threading
import time
from typing import Any

import httpx

from benchmarks.load_page import Log, memory, visit
from tests.soak.cases import Batch, Case, Result, Tally
from tests.soak.processes import Command, cold, threads_of

CLIENTS, SLOW, SECONDS = 50, 256, 60
MORE_MEMORY, MORE_THREADS = (
    256.0,
    16,
)  # megabytes and threads that the server may have more after it
STARTING, SETTLING = 90.0, 15.0  # seconds
PAUSE = 1.0  # seconds between two bytes of a slow request
QUESTION = {"text": "The plot is thin, but the acting is superb."}
HEAD = b"POST /api/explain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
SILENT, HEADERS, BODY = b"", HEAD, HEAD + b"Content-Length: 5000\r\n\r\n"


def served(batch: Batch) -> Result:
    """So many seconds of both kinds of clients."""
    tally, share = Tally(), min(1.0, batch.count / SECONDS)
    server = cold(["serve", "--port", "0"], batch.folder / "server.log")
    try:
        url = _address(server)
        before = _answer(url)
        _load(url, max(2, round(CLIENTS * share)), 0, 1.0, Tally())  # caches and pools fill up
        megabytes, threads = memory(server.pid), threads_of(server.pid)
        clients, slow = max(2, round(CLIENTS * share)), max(4, round(SLOW * share))
        _load(url, clients, slow, float(batch.count), tally)
        tally.check(server.wait(0) is None, f"the server ended: {server.output[-300:]}")
        tally.check(_answer(url) == before, "another answer to the same question afterwards")
        _check_growth(server, megabytes, threads, tally)
    finally:
        server.clear()
    return tally.result()


def _address(server: Command) -> str:
    end = time.monotonic() + STARTING
    while time.monotonic() < end and server.wait(0.1) is None:
        if found := re.search(r"http://\S+", server.output):
            return found.group(0)
    raise RuntimeError(f"the server did not start: {server.output[-300:]}")


def _answer(url: str) -> Any:
    told = httpx.post(f"{url}api/explain", json=QUESTION, timeout=60)
    told.raise_for_status()
    return told.json()["scores"]


def _load(url: str, clients: int, slow: int, seconds: float, tally: Tally) -> None:
    """People and slow connections at once; what the people met goes into the tally."""
    logs = [Log() for _ in range(clients)]
    end = time.monotonic() + seconds
    people = [
        threading.Thread(target=visit, args=(url, seed, log, end)) for seed, log in enumerate(logs)
    ]
    others = threading.Thread(target=_slow_ones, args=(url, slow, end, tally))
    for thread in (others, *people):
        thread.start()
    for thread in (others, *people):
        thread.join()
    answers = [sum(map(len, log.times.values())) for log in logs]
    tally.tried += sum(answers)
    tally.count("503", sum(log.busy for log in logs))
    for log in logs:
        for error, times in log.errors.items():
            tally.fail(f"{times} x {error}")
    _check_turns(answers, seconds, tally)


def _check_turns(answers: list[int], seconds: float, tally: Tally) -> None:
    """Whoever comes is answered: in a minute everybody, in a moment somebody."""
    waiting = answers.count(0) if seconds >= SECONDS else int(not any(answers))
    tally.peaks["clients that got no answer"] = waiting
    tally.check(not waiting, f"{waiting} of {len(answers)} clients were never answered")


def _slow_ones(url: str, count: int, end: float, tally: Tally) -> None:
    async def all_of_them() -> None:
        kinds = (SILENT, HEADERS, BODY)
        port = httpx.URL(url).port or 80
        cut = await asyncio.gather(*(_slow_one(port, kinds[i % 3], end, i) for i in range(count)))
        tally.count("slow connections cut off", sum(cut))

    asyncio.run(all_of_them())


async def _slow_one(port: int, beginning: bytes, end: float, seed: int) -> int:
    """Connect, begin, go on byte by byte; how often the server put an end to it."""
    draw, times = random.Random(seed), 0
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(draw.uniform(0.1, PAUSE))
            continue
        with contextlib.suppress(OSError):
            times += await _linger(reader, writer, beginning, end)
        writer.close()
        await asyncio.sleep(draw.uniform(0.1, PAUSE))
    return times


async def _linger(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, beginning: bytes, end: float
) -> int:
    """1 if the server ends the connection before the time is up."""
    writer.write(beginning)
    while time.monotonic() < end:
        if beginning:
            writer.write(b"x")
        with contextlib.suppress(TimeoutError):
            if not await asyncio.wait_for(reader.read(4096), PAUSE):
                return 1
    return 0


def _check_growth(server: Command, megabytes: float, threads: int, tally: Tally) -> None:
    """Memory and threads, once the server has had time to let go of them."""
    end = time.monotonic() + SETTLING
    while threads_of(server.pid) > threads and time.monotonic() < end:
        time.sleep(0.2)
    more_memory, more_threads = memory(server.pid) - megabytes, threads_of(server.pid) - threads
    tally.peaks |= {"MB more": round(more_memory), "threads more": more_threads}
    tally.check(more_memory <= MORE_MEMORY, f"{more_memory:.0f} MB more than before")
    tally.check(more_threads <= MORE_THREADS, f"{more_threads} threads more than before")


def cases() -> list[Case]:
    title = f"{CLIENTS} clients and {SLOW} slow connections at `serve` for {SECONDS} s"
    return [Case("serve", "slow-clients", title, SECONDS, SECONDS, 240.0, served)]
