"""The soak's own checks: every stage at its smallest scale, and that the harness sees faults."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests import backends
from tests.soak import fuzz, odd_inputs, threads, works
from tests.soak.cases import Batch, Case, Result, Tally
from tests.soak.full_disk import small_disk
from tests.soak.harness import run_case
from tests.soak.kills import Moments, Trial
from tests.soak.ledger import ROOT, Ledger
from tests.soak.processes import Command, group_members
from tests.soak.stages import CASES, STAGES
from tests.soak.table import BEGIN, END, HEAD, Row, markdown, update_page

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are counted by /proc"
)
# One of each stage: the others differ in the command or the model, not in what the harness does.
SMALL = ("kills/run", "disk/explain", "threads/function", "serve", "fuzz", "endpoint/once")
PAGE = ROOT / "docs" / "reliability.md"


def soak(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.soak", "--folder", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def rows_of(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_stage_runs(tmp_path):
    stages = [word for name in SMALL for word in ("--stage", name)]
    ended = soak(tmp_path, "--scale", "0.0001", *stages)
    rows = rows_of(ended.stdout)[2:-1]  # without head and sum
    assert {row[0] for row in rows} == set(STAGES), ended.stdout + ended.stderr
    assert [row for row in rows if not int(row[2].replace(",", ""))] == []
    assert [row for row in rows if row[3] != "0"] == [], ended.stdout
    assert ended.returncode == 0


def test_the_page_has_every_case_of_the_soak():
    text = PAGE.read_text(encoding="utf-8")
    rows = rows_of(text[text.index(BEGIN) : text.index(END)])
    assert rows[0] == list(HEAD)
    assert [row[:2] for row in rows[2:-1]] == [[case.stage, case.title] for case in CASES]


def test_all_backends_and_all_kinds_of_inputs_are_tried():
    assert set(threads.BACKENDS) == set(backends.BACKENDS)
    assert set(fuzz.KINDS) == set(odd_inputs.TARGETS)
    assert sum(count for _, count in fuzz.KINDS.values()) == 1_000_000
    assert sum(case.count for case in CASES if case.stage == "kills") == 100


def test_the_harness_forks_before_torch_has_started():
    """Torch's pool of threads does not survive a fork: only imports may have happened."""
    script = "import sys, tests.soak.stages; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def done(batch: Batch) -> Result:
    with (batch.shared / "tried").open("a") as stream:
        stream.write(f"{batch.number}\n")
    return Result(tried=batch.count)


def crashes(batch: Batch) -> Result:
    os.kill(os.getpid(), signal.SIGKILL)
    return Result()


def raises(batch: Batch) -> Result:
    raise ValueError("planted")


def hangs(batch: Batch) -> Result:
    subprocess.Popen(["sleep", "60"])
    time.sleep(60)
    return Result()


def second_is_late(batch: Batch) -> Result:
    while batch.number and not batch.is_late:
        time.sleep(0.01)
    return Result(tried=1)


def run(function, folder: Path, count: int = 5, seconds: float = 30.0) -> Row:
    case = Case("toy", function.__name__, "toy", count, 2, seconds, function)
    ledger = Ledger(folder / "results", 1.0)
    run_case(case, ledger, folder / "work", lambda line: None)
    return Row.of(case, ledger)


def test_batches_are_stored_and_not_done_again(tmp_path):
    for _ in range(2):
        row = run(done, tmp_path)
        assert (row.result.tried, row.done, row.is_good) == (5, 3, True)
    assert (tmp_path / "work/toy/done/tried").read_text().split() == ["0", "1", "2"]


def test_results_of_other_code_or_another_scale_do_not_count(tmp_path, monkeypatch):
    run(done, tmp_path)
    case = Case("toy", "done", "toy", 5, 2, 1.0, done)
    assert len(Ledger(tmp_path / "results", 1.0).results(case)) == 3
    assert Ledger(tmp_path / "results", 0.5).results(case) == {}
    monkeypatch.setattr("tests.soak.ledger.code_digest", lambda: "other")
    assert Ledger(tmp_path / "results", 1.0).results(case) == {}


@pytest.mark.parametrize("function", [crashes, raises])
def test_a_batch_that_breaks_is_counted_as_wrong(function, tmp_path):
    row = run(function, tmp_path, count=1)
    assert (row.result.wrong, row.is_good) == (1, False)
    assert len(row.result.findings) == 1


def test_a_batch_that_does_not_end_is_ended_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.soak.harness.CLEANUP", 0.2)
    row = run(hangs, tmp_path, count=1, seconds=0.5)
    assert row.result.wrong == 1
    assert "did not end" in row.result.findings[0]


def test_time_that_runs_out_leaves_the_case_incomplete(tmp_path):
    row = run(second_is_late, tmp_path, seconds=3.0)
    assert (row.done, row.is_good) == (1, False)  # the second batch is done again next time
    assert row.cells[2] == "1 (1 of 3 batches)"


def test_results_add_up():
    one = Result(1, 1, 2.0, ("a",), {"503": 2}, {"MB": 3.0})
    two = Result(2, 0, 1.0, (), {"503": 1}, {"MB": 1.0, "s": 4.0})
    assert one + two == Result(3, 1, 3.0, ("a",), {"503": 3}, {"MB": 3.0, "s": 4.0})


def test_the_page_is_updated_between_its_marks_only(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    row = Row(Case("s", "n", "a | b", 1, 1, 1.0, done), 1, 1, Result(tried=7))
    update_page(page, [row], "note")
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n\nnote\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "| s | a \\| b | 7 | 0 | 0 |" in text
    assert "old" not in text
    assert markdown([row]).endswith("| 0 | 0 |  |\n")


def test_processes_that_outlive_their_command_are_seen(tmp_path):
    script = ["sh", "-c", "sleep 60 & exec sleep 60"]
    process = subprocess.Popen(script, process_group=0)
    command = Command(process.pid, tmp_path / "log")
    while len(group_members(process.pid)) < 2:
        time.sleep(0.01)
    command.kill()
    process.returncode = command.code
    assert command.code == -signal.SIGKILL
    assert len(command.survivors(0.1)) == 1
    command.clear()
    assert command.survivors(5.0) == []


def test_what_is_lost_or_differs_is_seen(tmp_path):
    kept = {"a": "1", "b": "2"}
    work = works.Work("toy", (), lambda out: [], lambda out: dict(kept))
    batch = Batch(0, 1, 1.0, time.monotonic() + 10, tmp_path, tmp_path)
    moments = Moments(random.Random(0), 0.0, 1.0)
    tally = Tally()
    trial = Trial(batch, work, lambda words, log: Command(0, log), tally, moments)
    trial._nothing_lost("now")
    kept["b"] = "3"
    trial._nothing_lost("now")
    assert tally.findings == ["finished before, lost or changed now: ['b']"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": [1.0, None]}, {"a": [1.0 + 1e-9, None]}, True),
        ({"a": 1.0, "seconds": 1.0}, {"a": 1.0, "seconds": 2.0}, True),
        (float("nan"), float("nan"), True),
        ([1.0], [1.001], False),
        ([1.0], [1.0, 2.0], False),
        ({"a": 1}, {}, False),
        ("x", "y", False),
    ],
)
def test_results_are_compared_to_rounding(one, other, same):
    assert (works.differences(one, other) == "") is same


def fills(batch: Batch, free: int) -> Result:
    """Write more than there is space for, then again with space."""
    disk, tally = small_disk(batch.folder / "disk"), Tally()
    limit = disk.leave(free)
    if limit is not None:
        limit()
    try:
        (disk.folder / "file").write_bytes(b"x" * (free + 100_000))
        tally.fail("there was space")
    except OSError as error:
        tally.count(error.strerror or "")
    disk.release()
    tally.tried = 1
    return tally.result()


def test_a_full_disk_is_full(tmp_path):
    case = Case("toy", "fills", "toy", 1, 1, 30.0, partial(fills, free=50_000))
    ledger = Ledger(tmp_path / "results", 1.0)
    run_case(case, ledger, tmp_path / "work", lambda line: None)
    result = Row.of(case, ledger).result
    assert (result.tried, result.wrong) == (1, 0), result.findings
    assert re.fullmatch("No space left on device|File too large", *result.counts)
    assert not os.path.ismount(tmp_path / "work/toy/fills/batch-0/disk")
