"""Odd inputs by the hundred thousand: only errors that piste promises may come out.

Input number n of a kind comes from a random generator seeded with n and nothing else: a finding
names it, and `python -m tests.soak.fuzz KIND NUMBER` tries it again.
"""

from __future__ import annotations

import random
import sys
import time
from functools import partial

from tests.soak.cases import Batch, Case, Result, Tally

LONGEST = 5.0  # seconds for one input
BATCH = 25_000
KINDS = {
    "spans": ("texts into words and sentences", 400_000),
    "players": ("texts into players", 150_000),
    "tokenizers": ("texts through 5 kinds of tokenizers", 100_000),
    "explanations": ("damaged explanation files", 100_000),
    "data": ("damaged JSONL, CSV, TSV, gzip and Parquet files", 80_000),
    "requests": ("request bodies of the API", 80_000),
    "settings": ("settings of any type and value", 60_000),
    "lexicons": ("damaged lexicon files", 25_000),
    "pages": ("hostile texts into HTML, terminal and JSON", 5_000),
}


def fuzzed(batch: Batch, kind: str) -> Result:
    from tests.soak.odd_inputs import TARGETS  # they start torch, which the harness must not

    tally, target, slowest = Tally(), TARGETS[kind], 0.0
    for number in range(batch.number * BATCH, batch.number * BATCH + batch.count):
        if batch.is_late:
            break
        began = time.perf_counter()
        try:
            target(random.Random(number))
        except Exception as error:
            tally.fail(f"{kind} {number}: {type(error).__name__}: {str(error)[:200]}")
        took = time.perf_counter() - began
        tally.check(took < LONGEST, f"{kind} {number}: {took:.1f} s")
        slowest = max(slowest, took) if tally.tried else 0.0  # the first one loads things
        tally.tried += 1
    tally.peaks["slowest, ms"] = round(1000 * slowest)
    return tally.result()


def cases() -> list[Case]:
    return [
        Case(
            "fuzz", kind, title, count, BATCH, 300.0, partial(fuzzed, kind=kind), side_by_side=2
        )
        for kind, (title, count) in KINDS.items()
    ]  # fmt: skip


if __name__ == "__main__":
    from tests.soak.odd_inputs import TARGETS

    TARGETS[sys.argv[1]](random.Random(int(sys.argv[2])))
