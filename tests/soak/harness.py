"""Runs cases batch by batch, each in a forked process with a deadline, and stores the results."""

from __future__ import annotations

import json
import os
import shutil
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.soak.cases import CLEANUP, Batch, Case, Result
from tests.soak.ledger import Ledger
from tests.soak.processes import POLL, fork, kill_session, redirect

PREPARING = 180.0  # seconds
Say = Callable[[str], None]


@dataclass
class Running:
    """A batch in a process of its own."""

    batch: Batch
    pid: int
    started: float

    @property
    def file(self) -> Path:
        return self.batch.folder / "result.json"

    def poll(self) -> Result | None:
        """Its result once it has ended; one that is overdue is ended."""
        done, status = os.waitpid(self.pid, os.WNOHANG)
        overdue = time.monotonic() > self.batch.deadline + CLEANUP
        if not done and not overdue:
            return None
        kill_session(self.pid)  # whatever it has left behind
        if not done:
            os.waitpid(self.pid, 0)
        seconds = round(time.monotonic() - self.started, 2)
        return replace(self._stored(status if done else None), seconds=seconds)

    def _stored(self, status: int | None) -> Result:
        try:
            return Result.from_dict(json.loads(self.file.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            log = (self.batch.folder / "log").read_text(encoding="utf-8", errors="replace")
            ended = "did not end" if status is None else f"ended with status {status}"
            return Result.failure(f"batch {self.batch.number} {ended}: {log[-400:]}")


def run_case(case: Case, ledger: Ledger, work: Path, say: Say) -> None:
    """All batches of a case that are not stored yet, as far as its time goes."""
    sizes = case.planned(ledger.scale)
    pending = [number for number in range(len(sizes)) if number not in ledger.results(case)]
    if not pending:
        return
    shared = work / case.key
    problem = _prepare(case, shared, ledger)
    if problem is not None:
        ledger.add(case, pending[0], problem)
        return
    end = time.monotonic() + case.seconds
    running: list[Running] = []
    try:
        while running or (pending and time.monotonic() < end):
            while pending and len(running) < case.side_by_side and time.monotonic() < end:
                number = pending.pop(0)
                folder = shared / f"batch-{number}"
                batch = Batch(number, sizes[number], ledger.scale, end, folder, shared)
                running.append(_start(case, batch))
            running = [one for one in running if not _finish(case, one, ledger, say)]
            time.sleep(POLL)
    finally:
        for one in running:
            kill_session(one.pid)


def _prepare(case: Case, shared: Path, ledger: Ledger) -> Result | None:
    """Make what the batches share, once for this code; what went wrong, if anything."""
    shared.mkdir(parents=True, exist_ok=True)
    mark = shared / "prepared"
    wanted = f"{ledger.code} {ledger.scale}"
    if case.prepare is None or (mark.exists() and mark.read_text() == wanted):
        return None
    shutil.rmtree(shared)
    prepare = case.prepare

    def run(batch: Batch) -> Result:
        prepare(shared, ledger.scale)
        return Result()

    whole = Batch(-1, 1, ledger.scale, time.monotonic() + PREPARING, shared / "prepare", shared)
    one = _start(replace(case, run=run), whole)
    while (result := one.poll()) is None:
        time.sleep(POLL)
    if result.wrong:
        return result
    mark.write_text(wanted)
    return None


def _start(case: Case, batch: Batch) -> Running:
    shutil.rmtree(batch.folder, ignore_errors=True)
    batch.folder.mkdir(parents=True)

    def main() -> int:
        os.setsid()
        redirect(batch.folder / "log")
        try:
            result = case.run(batch)
        except BaseException:
            result = Result.failure(f"batch {batch.number}: {traceback.format_exc()[-400:]}")
        (batch.folder / "result.json").write_text(json.dumps(result.to_dict()), encoding="utf-8")
        return 0

    return Running(batch, fork(main), time.monotonic())


def _finish(case: Case, one: Running, ledger: Ledger, say: Say) -> bool:
    """Store the result of a batch that has ended; whether it has."""
    result = one.poll()
    if result is None:
        return False
    # Cut short by the case's time, it is done again next time, unless it has found something.
    is_whole = result.wrong or not one.batch.is_late
    if is_whole:
        ledger.add(case, one.batch.number, result)
    say(
        f"{case.key} {one.batch.number + 1}: {result.tried:,} tried, {result.wrong:,} wrong,"
        f" {result.seconds:.0f} s{'' if is_whole else ', cut short: the time is up'}"
    )
    for finding in result.findings:
        say(f"  ! {finding}")
    if not result.wrong:
        shutil.rmtree(one.batch.folder, ignore_errors=True)
    return True
