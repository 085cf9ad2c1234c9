"""Many people at one `piste serve`: 50 clients for a minute on the embedded model.

`python benchmarks/load_page.py [--clients 50] [--seconds 60]` starts a server, lets every client
explain a text of its own, remove words from it and ask again, and prints errors, times and the
server's memory before and after. A server that is full says so (503): clients wait and try again;
that is counted apart, since it is what the line is for.
"""

import argparse
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

SCENE = (
    "the film is a slow but superb piece of work with a thin plot and tired jokes that somehow "
    "made me smile while the acting stays dull until a beautiful last scene saves the evening"
)


@dataclass
class Log:
    """What the clients saw."""

    times: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    busy: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, seconds: float) -> None:
        with self.lock:
            self.times.setdefault(kind, []).append(seconds)


def ask(client: httpx.Client, kind: str, body: dict[str, object], log: Log, end: float) -> None:
    """One question, asked again while the server is full."""
    while time.monotonic() < end:
        started = time.monotonic()
        try:
            told = client.post(f"/api/{kind}", json=body)
        except httpx.HTTPError as error:
            log.errors[type(error).__name__] += 1
            return
        if told.status_code == 200:
            log.add(kind, time.monotonic() - started)
            return
        if told.status_code != 503:
            log.errors[f"{kind} {told.status_code}"] += 1
            return
        with log.lock:
            log.busy += 1
        time.sleep(random.uniform(0.2, 1.0))


def visit(url: str, seed: int, log: Log, end: float) -> None:
    """One person: a text, two removals, another text."""
    draw = random.Random(seed)
    with httpx.Client(base_url=url, timeout=120) as client:
        while time.monotonic() < end:
            text = " ".join(draw.sample(SCENE.split(), draw.randint(8, 25)))
            ask(client, "explain", {"text": text}, log, end)
            for _ in range(2):
                body = {"text": text, "removed": draw.sample(range(8), 2)}
                ask(client, "answer", body, log, end)


def memory(process: int) -> float:
    """Resident megabytes of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def start() -> tuple["subprocess.Popen[str]", str]:
    command = [sys.executable, "-m", "piste", "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://\S+", line):
            return process, found.group(0)
    raise SystemExit("The server did not start.")


def report(log: Log, megabytes: list[float], seconds: float) -> None:
    for kind, times in sorted(log.times.items()):
        ordered = sorted(times)
        p50, p95 = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95))
        print(
            f"{kind:8} {len(ordered):6,} answered, {len(ordered) / seconds:.1f} a second,", end=""
        )
        print(f" p50 {p50:.2f} s, p95 {p95:.2f} s")
    print(f"turned away with 503: {log.busy:,}; errors: {dict(log.errors) or 'none'}")
    before, halfway, after = megabytes
    print(f"memory of the server: {before:.0f} MB before, {halfway:.0f} halfway, {after:.0f} after")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    process, url = start()
    try:
        with httpx.Client(base_url=url, timeout=120) as client:
            client.post("/api/explain", json={"text": "A warm-up for a fair first figure."})
        megabytes, log = [memory(process.pid)], Log()
        end = time.monotonic() + given.seconds
        clients = [
            threading.Thread(target=visit, args=(url, seed, log, end))
            for seed in range(given.clients)
        ]
        for client_thread in clients:
            client_thread.start()
        time.sleep(given.seconds / 2)
        megabytes.append(memory(process.pid))
        for client_thread in clients:
            client_thread.join()
        report(log, [*megabytes, memory(process.pid)], given.seconds)
    finally:
        process.send_signal(signal.SIGINT)
        print(f"exit code {process.wait(30)}")


if __name__ == "__main__":
    main()
