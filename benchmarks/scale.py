"""Many texts by `piste run`: texts a minute, memory, a kill, and a cluster by calculation.

    python benchmarks/scale.py --data reviews.jsonl.gz --texts 10000 [--workers 2] [--effort quick]
                               [--kill once]

1. Runs the texts; prints texts a minute and the largest memory of the run after every tenth.
2. Runs them again, kills the run half-way, resumes it, and compares the rows. With --kill once it
   is the first run that is killed and resumed, and there is no second one.
3. Measures what reading and committing a shard take, and simulates a hundred million texts on a
   cluster whose workers die and lag (`benchmarks/cluster.py`).
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from cluster import Rates, simulated

from piste.data import DEFAULT
from piste.runs import shards
from piste.runs.commits import COMMITS, Destination, commits
from piste.runs.job import Source

MANY = 100_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shard", type=int, default=64)
    parser.add_argument("--effort", help="as in piste run")
    parser.add_argument("--lexicon", action="store_true", help="with a lexicon over the texts")
    parser.add_argument("--kill", choices=["never", "once", "again"], default="again")
    parser.add_argument("--actors", type=int, nargs="*", default=[100, 1000, 4000])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        each = undisturbed(given, folder)
        if given.kill == "again":
            killed(given, folder)
        if given.kill == "once":
            counted(folder / "whole", given.texts)
        calculation(given, folder, each)


def command(given: argparse.Namespace, folder: Path, out: str) -> subprocess.Popen[bytes]:
    words = ["run", str(given.data), "--model", given.model, "--out", str(folder / out)]
    for name in ("limit", "workers", "shard", "effort"):
        value = given.texts if name == "limit" else getattr(given, name)
        words += [] if value is None else [f"--{name}", str(value)]
    words += ["--build-lexicon"] if given.lexicon else []
    told = subprocess.DEVNULL
    whole = [sys.executable, "-m", "piste", *words]
    return subprocess.Popen(whole, start_new_session=True, stdout=told, stderr=told)


def undisturbed(given: argparse.Namespace, folder: Path) -> float:
    """Run all texts; the seconds of a text in one process, from the first shard on."""
    process, out, points = command(given, folder, "whole"), folder / "whole", list[Any]()
    largest, before, is_killed = 0, time.monotonic(), given.kill != "once"
    print("texts  texts/minute  memory MB (largest so far)")
    while process.poll() is None:
        time.sleep(0.2)
        largest = max(largest, memory(process.pid))
        done = sum(one.count for one in commits(out).values())
        if done and (not points or done - points[-1][1] >= given.texts / 10):
            points.append((time.monotonic(), done, largest))
            pace = 60 * done / (time.monotonic() - before)
            print(f"{done:>6,} {pace:>9.0f} {largest:>9}", flush=True)
        if not is_killed and done >= given.texts / 2:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kept, is_killed = sum(one.count for one in commits(out).values()), True
            print(f"killed with {kept:,} texts committed, and resumed", flush=True)
            process = command(given, folder, "whole")
    if process.returncode:
        raise SystemExit(f"The run ended with {process.returncode}.")
    ended, texts = time.monotonic(), sum(one.count for one in commits(out).values())
    seconds = ended - before
    print(f"{texts:,} texts in {seconds:.0f} s with starting: {60 * texts / seconds:.0f} a minute")
    if len(points) < 2:
        return seconds * given.workers / texts
    (began, first, early), (_, _, late) = points[0], points[-1]
    print(f"memory grew by {late - early:+} MB from {early} MB between the first and last tenth")
    return (ended - began) * given.workers / max(1, texts - first)


def counted(out: Path, texts: int) -> None:
    """Every text is there once, and every shard was committed once."""
    rows = [
        index for table in shards.read(out, shards.TEXTS, ["index"]) for index in table["index"]
    ]
    assert rows == list(range(texts)), "texts are missing, or there twice"
    lines = len((out / COMMITS).read_text().splitlines())
    print(f"{len(rows):,} texts, each once; {lines} commits for {len(commits(out))} shards")


def memory(pid: int) -> int:
    """Resident megabytes of a process and its children (Linux)."""
    total = 0
    for path in [Path(f"/proc/{pid}"), *children(pid)]:
        try:
            status = (path / "status").read_text()
        except OSError:
            continue
        total += sum(int(x.split()[1]) for x in status.splitlines() if x[:5] == "VmRSS")
    return total // 1024


def children(pid: int) -> list[Path]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [Path(f"/proc/{child}") for child in text.split()]


def killed(given: argparse.Namespace, folder: Path) -> None:
    """Kill a run half-way, resume it, and compare its rows with those of the undisturbed one."""
    process, out = command(given, folder, "killed"), folder / "killed"
    while process.poll() is None and len(commits(out)) < len(commits(folder / "whole")) / 2:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = sum(one.count for one in commits(out).values())
    before = time.monotonic()
    again = command(given, folder, "killed")
    if again.wait():
        raise SystemExit(f"The resumed run ended with {again.returncode}.")
    seconds = time.monotonic() - before
    lines = (out / COMMITS).read_text().splitlines()
    print(f"killed with {kept:,} texts committed; the rest took {seconds:.0f} s")
    print(
        f"  {len(lines)} commits for {len(commits(out))} shards; largest gap of an effect"
        f" {gap(out, folder / 'whole'):.1e}"
    )


def gap(one: Path, other: Path) -> float:
    tables = [shards.read(folder, shards.PLAYERS, ["index", "effect"]) for folder in (one, other)]
    largest = 0.0
    for mine, theirs in zip(*tables, strict=True):
        if mine["index"] != theirs["index"]:
            raise SystemExit("The resumed run has other rows.")
        pairs = zip(mine["effect"], theirs["effect"], strict=True)
        largest = max([largest, *(abs(a - b) for a, b in pairs)])
    return largest


def measured(given: argparse.Namespace, folder: Path, each: float) -> Rates:
    """What a shard of 256 texts takes: to read, to make by one actor, to commit."""
    size = 256
    source = Source(str(given.data), DEFAULT, None, "train", size)
    before = time.perf_counter()
    count = sum(1 for _ in islice(source.missing({}), 20))
    read = (time.perf_counter() - before) / count
    destination, commit = Destination(str(folder / "committed")), 0.0
    (folder / "committed").mkdir()
    for number, one in commits(folder / "whole").items():
        files = {
            kind: (folder / "whole" / kind / f"part-{number:08d}.parquet").read_bytes()
            for kind in (shards.TEXTS, shards.PLAYERS)
        }
        table: dict[str, list[Any]] = {
            name: [] for name in ("id", "error", "index", "stamp", "passes")
        }
        staged = destination.stage(one.number, files, table)
        before = time.perf_counter()
        destination.commit(staged)
        commit += time.perf_counter() - before
    return Rates(read, each * size, commit / len(commits(folder / "whole")), load=20.0)


def calculation(given: argparse.Namespace, folder: Path, each: float) -> None:
    rates, count = measured(given, folder, each), MANY // 256
    print(
        f"a shard of 256 texts: read in {rates.read:.3f} s, made in {rates.work:.0f} s by one"
        f" process, committed in {rates.commit * 1000:.1f} ms"
    )
    print(f"{MANY:,} texts, {count:,} shards; simulated, a model loaded in {rates.load:.0f} s")
    print("actors  what goes wrong                 hours  of ideal  deaths  lost  driver busy")
    for actors in given.actors:
        ideal = count * rates.work / actors
        for name, more in trouble().items():
            outcome = simulated(count, actors, Rates(**{**vars(rates), **more}))
            lost = outcome.wasted / (outcome.wasted + count * rates.work)
            assert outcome.failed is None, f"shard {outcome.failed} was given up"
            assert set(outcome.committed.values()) == {1}
            hours = outcome.seconds / 3600
            print(
                f"{actors:>6}  {name:<30} {hours:>6.1f} {outcome.seconds / ideal:>8.2f}"
                f" {outcome.deaths:>8,} {lost:>5.1%} {outcome.driver_share:>8.1%}"
            )


def trouble() -> dict[str, dict[str, float]]:
    return {
        "nothing": {},
        "actors die, once a day each": {"between_deaths": 86_400.0},
        "actors die, once an hour each": {"between_deaths": 3_600.0},
        "5 % of actors 3 times as slow": {"slow": 0.05},
        "both": {"between_deaths": 3_600.0, "slow": 0.05},
    }


if __name__ == "__main__":
    main()
