"""SIGKILL at random moments of the work: started again until it ends, nothing may be lost.

Commands of one process are forked from a process that has imported everything, so that a start
costs a second, not five; those with workers are started cold, in a new interpreter. A command is
killed up to `KILLS` times, at moments drawn over the time that an undisturbed one works, and then
left alone. What was finished at a kill must be there, unchanged, ever after; the result must be
that of the undisturbed command; no process may outlive the command that started it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.soak.cases import Batch, Case, Result, Tally
from tests.soak.processes import Command, cold, forked, group_members
from tests.soak.works import OUT, WORKS, Kept, Work, differences, files_of, leftovers, write_data

KILLS = 5  # of one command, before it is left to end
LONGEST = 120.0  # seconds that a command may take
ALONE = 10.0  # seconds that workers may take to notice that they are alone
Start = Callable[[list[str], Path], Command]


def texts_for(scale: float, whole: int) -> int:
    """Fewer texts for a quick try."""
    return max(6, round(whole * min(1.0, scale * 4)))


def prepare(folder: Path, scale: float, work: Work, start: Start, texts: int) -> None:
    """The undisturbed command, and when it began to write and when it ended."""
    data = write_data(folder / "data.jsonl", texts_for(scale, texts))
    command, began = start(work.arguments(data, folder / OUT), folder / "undisturbed"), time.time()
    begun = 0.0
    while command.wait(0.02) is None:
        if not begun and list(folder.glob(f"{OUT}*")):
            begun = time.time() - began
        if time.time() - began > LONGEST:
            command.clear()
    if command.code != 0:
        raise RuntimeError(f"{work.name} fails by itself ({command.code}): {command.output[-300:]}")
    times = {"begun": begun, "ended": time.time() - began}
    (folder / "times.json").write_text(json.dumps(times))


def kills(batch: Batch, work: Work, start: Start) -> Result:
    """Commands killed until the batch's number of kills is reached."""
    tally, moments = Tally(), Moments.of(batch)
    while tally.tried < batch.count and not batch.is_late:
        most = min(KILLS, batch.count - tally.tried)
        Trial(batch, work, start, tally, moments).run(most)
    return tally.result()


@dataclass
class Moments:
    """When to kill: over the time that the undisturbed command worked, as far as work is left."""

    draw: random.Random
    begun: float  # seconds after its start, in the undisturbed command
    ended: float
    haste: float = 1.0  # below 1 where commands end before their moment: the machine is idler now

    @classmethod
    def of(cls, batch: Batch) -> Moments:
        times = json.loads((batch.shared / "times.json").read_text())
        return cls(random.Random(batch.seed), **times)

    def wait(self, command: Command, left: float) -> int | None:
        """Wait for the moment; the exit code if the command ends before. left: of the work, 0-1."""
        latest = self.begun + left * (self.ended - self.begun)
        code = command.wait(self.haste * self.draw.uniform(0.8 * self.begun, latest))
        self.haste = min(1.0, self.haste * (1.1 if code is None else 0.8))
        return code


def _new_folder(batch: Batch) -> Path:
    folder = batch.folder / f"trial-{len(list(batch.folder.glob('trial-*')))}"
    folder.mkdir()
    return folder


class Trial:
    """One result folder, from the first kill to the end of the work."""

    def __init__(
        self, batch: Batch, work: Work, start: Start, tally: Tally, moments: Moments
    ) -> None:
        self.work, self.start, self.tally, self.moments = work, start, tally, moments
        self.shared, self.data = batch.shared, batch.shared / "data.jsonl"
        self.folder = _new_folder(batch)
        self.out = self.folder / OUT
        self.finished: Kept = {}
        self.all = len(work.kept(batch.shared / OUT))  # that are finished at the end

    def run(self, most: int) -> None:
        for _ in range(most):
            if not self._killed():
                break  # it has ended before its moment came
        command = self.started()
        code = command.wait(LONGEST)
        self.tally.check(code == 0, f"ended with {code}: {command.output[-300:]}")
        self._alone(command, 2.0)
        if code == 0:
            self._compare()

    def started(self) -> Command:
        return self.start(self.work.arguments(self.data, self.out), self.folder / "log")

    def _killed(self) -> bool:
        """Kill the command at a random moment; whether it was still at work."""
        command = self.started()
        code = self.moments.wait(command, 1 - 0.9 * len(self.finished) / self.all)
        if code is not None:
            self.tally.check(code == 0, f"ended with {code}: {command.output[-300:]}")
            return False
        command.kill()
        self.tally.tried += 1
        self._alone(command, ALONE)
        self._nothing_lost("after a kill")
        return True

    def _alone(self, command: Command, seconds: float) -> None:
        left = command.survivors(seconds)
        self.tally.check(not left, f"{len(left)} processes outlive the command by {seconds:.0f} s")
        command.clear()

    def _nothing_lost(self, when: str) -> None:
        now = self.work.kept(self.out)
        lost = [name for name, content in self.finished.items() if now.get(name) != content]
        self.tally.check(not lost, f"finished before, lost or changed {when}: {lost[:3]}")
        self.finished = now

    def _compare(self) -> None:
        self._nothing_lost("at the end")
        told = differences(self.work.read(self.out), self.work.read(self.shared / OUT))
        self.tally.check(not told, f"not as undisturbed: {told}")
        if self.out.is_dir():
            more = files_of(self.out) ^ files_of(self.shared / OUT)
            self.tally.check(not more, f"files: {sorted(more)[:3]}")
        self.tally.count("hidden temporary files left", leftovers(self.folder))


def workers_killed(batch: Batch) -> Result:
    """A worker killed, not the command: it must say so in one line, and go on when asked again."""
    tally, moments, work = Tally(), Moments.of(batch), WORKS["run-workers"]
    while tally.tried < batch.count and not batch.is_late:
        trial = Trial(batch, work, cold, tally, moments)
        command = trial.started()
        if _kill_a_worker(command, moments.draw, moments.ended):
            tally.tried += 1
            code = command.wait(LONGEST)
            clear = code == 2 and "Traceback" not in command.output
            tally.check(clear or code == 0, f"a killed worker: {code}, {command.output[-200:]}")
        command.clear()
        trial.run(0)
    return tally.result()


def _kill_a_worker(command: Command, draw: random.Random, ended: float) -> bool:
    """SIGKILL to a worker at a random moment of its life; False where all had ended before."""
    while command.wait(0.1) is None and not _workers(command):
        pass
    command.wait(draw.uniform(0.0, 0.7) * ended)
    workers = _workers(command)
    if command.code is not None or not workers:
        return False
    os.kill(draw.choice(workers), signal.SIGKILL)
    return True


def _workers(command: Command) -> list[int]:
    return [pid for pid in group_members(command.pid) if _is_worker(pid)]


def _is_worker(pid: int) -> bool:
    """Whether it is a process that multiprocessing spawned, other than its resource tracker."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _case(name: str, title: str, count: int, texts: int, start: Start, batch: int = 10) -> Case:
    work = WORKS[name]
    run = partial(kills, work=work, start=start)
    undisturbed = partial(prepare, work=work, start=start, texts=texts)
    return Case("kills", name, title, count, batch, 300.0, run, undisturbed)


def cases() -> list[Case]:
    return [
        _case("run", "SIGKILL of `run` with a lexicon, 1 process", 34, 30, forked),
        _case("run-plain", "SIGKILL of `run` without a lexicon, 1 process", 18, 18, forked),
        _case("run-workers", "SIGKILL of `run`, 2 workers (cold starts)", 10, 18, cold, batch=5),
        Case(
            "kills", "worker", "SIGKILL of one of 2 workers of `run` (cold starts)", 4, 2, 300.0,
            workers_killed, partial(prepare, work=WORKS["run-workers"], start=cold, texts=18),
        ),
        _case("evaluate", "SIGKILL of `evaluate`", 20, 14, forked),
        _case("lexicon", "SIGKILL of `lexicon build`", 14, 200, forked),
    ]  # fmt: skip
