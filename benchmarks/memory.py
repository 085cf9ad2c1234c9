"""What a compiled model keeps in memory as it is asked in more and more shapes.

    python benchmarks/memory.py [--model demo] [--shapes 540] [--kept 1000] [--exact]

Every text of a data set brings sequences of lengths of its own. Random texts of 40 to 770 tokens
are asked as explanations ask them: many short sequences, then parts of any length. Prints the
memory that the process holds and the seconds of the processor; --kept is how many pieces of code
OpenVINO keeps, 5,000 if it is left to itself; --exact asks the shapes as they are, where piste pads
and cuts them to fewer.
"""

import argparse
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import piste
from piste.models.backends import openvino_runtime

LONGEST, EVERY = 512, 180


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="demo")
    parser.add_argument("--shapes", type=int, default=540)
    parser.add_argument("--kept", default=openvino_runtime.MOST_KEPT["CPU_RUNTIME_CACHE_CAPACITY"])
    parser.add_argument("--exact", action="store_true", help="no padding, rows uncut")
    given = parser.parse_args()
    openvino_runtime.MOST_KEPT = {"CPU_RUNTIME_CACHE_CAPACITY": given.kept}
    classifier = piste.load(given.model, backend="openvino")
    if given.exact:
        classifier.copy = replace(classifier.copy, limit=0)
    known = np.array(classifier.encode("a good film " * 200).ids)
    rng, tokens, before = np.random.default_rng(0), 0, time.process_time()
    print(f"{given.model}, {given.kept} kept: {resident()} MB before the first question")
    for number, shape in enumerate(shapes(given.shapes), 1):
        classifier.logits(rng.choice(known, shape))
        tokens += shape[0] * shape[1]
        if number % EVERY == 0:
            spent = time.process_time() - before
            print(f"{number:>6} questions {resident():>6} MB {spent:>7.1f} s {tokens:>9,} tokens")


def shapes(count: int) -> Iterator[tuple[int, int]]:
    """Rows and tokens of so many questions."""
    draw, asked = random.Random(0), 0
    while asked < count:
        whole = int(draw.triangular(40, 770, 220))
        short = [(draw.randint(3, 150), length) for length in range(3, 7)]
        threes = [(draw.randint(3, 40), length) for length in range(7, 13)]
        parts = [(draw.choice((1, 1, 1, 2, 3)), draw.randint(whole // 4, whole)) for _ in range(35)]
        for rows, length in [*short, *threes, *parts][: count - asked]:
            asked += 1
            yield rows, min(length, LONGEST)


def resident() -> int:
    """Megabytes of this process, without files that it maps (Linux)."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+)", status)
    return int(found[1]) // 1024 if found else 0


if __name__ == "__main__":
    main()
