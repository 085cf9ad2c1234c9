"""Worker processes that are killed, or whose parent is."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

import piste
from piste.errors import ModelError, PisteError
from piste.runs import shards
from tests.conftest import tiny_bert
from tests.runs.test_resumed import TEXTS, part, written
from tests.runs.test_run import ROUNDING, assert_same_rows
from tests.systems import posix_only

PATIENCE = 120  # seconds, of which a fraction is needed

RUN = """
import json, multiprocessing, sys, threading, time, piste

def tell():
    while True:
        children = multiprocessing.active_children()  # libraries have some of their own
        workers = [child.pid for child in children if child.name.startswith("SpawnProcess")]
        if len(workers) == 2:
            print(json.dumps(workers), flush=True)
            return
        time.sleep(0.05)

if __name__ == "__main__":
    threading.Thread(target=tell, daemon=True).start()
    piste.run(sys.argv[1], "demo", sys.argv[2], shard=3, workers=2)
"""


def lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


@pytest.fixture
def running(tmp_path):
    """A run by two workers in a process of its own: it, its workers, its folder."""
    data = written(tmp_path / "data.jsonl", TEXTS * 6)
    (tmp_path / "script.py").write_text(RUN)
    command = [sys.executable, str(tmp_path / "script.py"), str(data), str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = json.loads(process.stdout.readline())
    yield process, workers, tmp_path / "out"
    process.kill()
    process.wait()
    process.stdout.close()
    for pid in workers:
        if lives(pid):
            os.kill(pid, signal.SIGKILL)


@posix_only
@pytest.mark.parametrize("early", [True, False], ids=["while they start", "while they work"])
def test_workers_end_when_their_parent_is_killed(running, early):
    process, workers, out = running
    if not early:
        until(lambda: len(shards.numbers(out)) >= 2)
    assert all(map(lives, workers))
    process.kill()
    process.wait()
    until(lambda: not any(map(lives, workers)))


@posix_only
def test_a_killed_worker_loses_no_row(tmp_path, running):
    process, workers, out = running
    until(lambda: len(shards.numbers(out)) >= 2)
    assert len(shards.numbers(out)) < 16  # it is still at work
    os.kill(workers[0], signal.SIGKILL)
    assert process.wait(timeout=PATIENCE) == 0
    data = tmp_path / "data.jsonl"
    piste.run(data, "demo", tmp_path / "one", shard=3)
    assert_same_rows(out, tmp_path / "one", ROUNDING)


def test_a_worker_that_is_always_killed_is_an_error_that_says_so(tmp_path):
    data, out = written(tmp_path / "data.jsonl"), tmp_path / "out"
    options = {"method": "occlusion", "shard": 3}
    piste.run(data, "demo", out, limit=3, **options)
    before = part(out, "texts").read_bytes()
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.05):
            for process in multiprocessing.active_children():
                process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(PisteError, match=r"3 attempts at part 1.*memory.*fewer workers"):
            piste.run(data, "demo", out, workers=2, **options)
    finally:
        over.set()
        killer.join()
    assert part(out, "texts").read_bytes() == before
    assert piste.run(data, "demo", out, **options).texts == len(TEXTS)


def test_a_worker_that_cannot_load_the_model_says_why(tmp_path, monkeypatch):
    from piste.runs import job

    data, known = written(tmp_path / "data.jsonl"), job.load
    # This process has the model; the workers, which start afresh, look for it in vain.
    monkeypatch.setattr(job, "load", lambda name, **options: known("demo", **options))
    with pytest.raises(ModelError, match="no directory"):
        piste.run(data, "./nowhere", tmp_path / "out", method="occlusion", workers=2)


def test_workers_refuse_a_model_that_changed_since_the_run_began(tmp_path, wordpiece, monkeypatch):
    """The folder is overwritten after this process has read it, before the workers do."""
    from piste.runs import run

    data, name = written(tmp_path / "data.jsonl"), tmp_path / "model"
    model, known = tiny_bert(len(wordpiece)), run.digests
    model.save_pretrained(name)
    wordpiece.save_pretrained(name)

    def overwritten(classifier):
        found = known(classifier)
        with torch.no_grad():
            model.classifier.weight += 1
        model.save_pretrained(name)
        return found

    monkeypatch.setattr(run, "digests", overwritten)
    with pytest.raises(ModelError, match="has changed since the run began: weights"):
        piste.run(data, str(name), tmp_path / "out", method="occlusion", workers=2)
    assert not shards.numbers(tmp_path / "out")
