"""Whether several infer requests in parallel answer the batches of a run sooner than one.

    python benchmarks/streams.py [--model my-minilm] [--data reviews.jsonl.gz] [--texts 16]

The batches are those of a `piste run` over so many texts. One request
with all cores is compared with as many streams as there are cores, each with one of its own, fed
by as many threads; in turn, the fastest of three.
"""

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import piste
from piste.models.backends import openvino_runtime
from piste.models.backends.compiled import Copy

TURNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--texts", type=int, default=16)
    given = parser.parse_args()
    batches = asked(given)
    tokens = sum(batch.size for batch in batches)
    print(f"{given.model}: {len(batches)} batches, {tokens / len(batches):.0f} tokens each")
    cores = len(os.sched_getaffinity(0))
    ways = {1: copy(given.model, {}), cores: copy(given.model, {"NUM_STREAMS": str(cores)})}
    best = dict.fromkeys(ways, np.inf)
    for _ in range(TURNS + 1):  # the first fills the caches of shapes
        for streams, one in ways.items():
            best[streams] = min(best[streams], seconds(one, batches, streams))
    for streams, least in best.items():
        print(f"{streams} at once: {tokens / least:,.0f} tokens/s")


def asked(given: argparse.Namespace) -> list[Any]:
    """The batches of a run."""
    classifier, batches = piste.load(given.model, backend="openvino"), []
    answer = type(classifier).logits

    def recorded(self: Any, ids: Any) -> Any:
        batches.append(ids)
        return answer(self, ids)

    type(classifier).logits = recorded  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            piste.run(given.data, classifier, Path(folder) / "run", limit=given.texts)
    finally:
        type(classifier).logits = answer  # type: ignore[method-assign]
    return batches


def copy(model: str, more: dict[str, str]) -> Copy:
    """The compiled model with other settings."""
    usual = openvino_runtime.SETTINGS
    openvino_runtime.SETTINGS = usual | more
    try:
        compiled = piste.load(model, backend="openvino").copy
    finally:
        openvino_runtime.SETTINGS = usual
    assert compiled is not None
    return compiled


def seconds(compiled: Copy, batches: list[Any], threads: int) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(compiled.logits, batches))
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
