"""Tokens a second of torch, OpenVINO and OpenVINO in bfloat16 on what one explanation sends.

python benchmarks/backends.py [--model DIR] [--repeat 9]

The batches are those that `piste.explain` sends for a review of 100 words. The backends take turns
with whole passes over them; the batch after each switch is not timed, because the threads of the
one before may still hold the cores.
"""

import argparse
import time
from unittest import mock

import numpy as np

import piste
from piste.arrays import IntArray
from piste.errors import ModelError
from piste.models.protocol import Classifier

REVIEW = """We went there on a rainy Tuesday with two hungry children, and I expected very little
after the reviews of last year. The waiter found us a table by the window, brought crayons before
anybody asked, and knew every dish by heart. My soup was cold at first; they apologised, heated it
and left it off the bill. The fish was the best that I have eaten in this town, crisp outside and
tender inside, though the chips were limp and far too salty. Prices are fair, parking is dreadful,
and dessert was worth the wait. We will certainly come back next month."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="demo", help="a name or folder; the embedded model")
    parser.add_argument("--repeat", type=int, default=9, help="passes of each backend")
    options = parser.parse_args()
    backends = _backends(options.model)
    batches = _sent(backends["openvino"])
    tokens = sum(batch.size for batch in batches)
    print(
        f"{backends['torch'].name}: {len(batches)} batches,"
        f" {sum(map(len, batches))} sequences, {tokens} tokens"
    )
    seconds = _passes(backends, batches, options.repeat)
    for name, taken in seconds.items():
        ratio = seconds["torch"].min() / taken.min()  # other programs only slow a pass
        ratios = seconds["torch"] / taken  # far apart: the machine was busy, measure again
        print(
            f"{name:14s} {tokens / taken.min():9,.0f} tokens/s  {ratio:5.2f} times torch"
            f" (single passes {ratios.min():.2f} to {ratios.max():.2f})"
        )


def _backends(model: str) -> dict[str, Classifier]:
    backends: dict[str, Classifier] = {
        name: piste.load(model, backend=name) for name in ("torch", "openvino")
    }
    try:
        backends["openvino bf16"] = piste.load(model, precision="bf16")
    except ModelError as error:
        print(f"Without bf16: {error}")
    return backends


def _sent(classifier: Classifier) -> list[IntArray]:
    """What an explanation with the default settings asks, batch by batch."""
    batches: list[IntArray] = []
    answer = classifier.logits

    def record(ids: IntArray) -> object:
        batches.append(ids.copy())
        return answer(ids)

    with mock.patch.object(classifier, "logits", record):
        piste.explain(REVIEW, classifier)
    return batches


def _passes(
    backends: dict[str, Classifier], batches: list[IntArray], repeat: int
) -> dict[str, np.ndarray]:
    """Seconds of each pass, after one that makes kernels and fills caches."""
    seconds: dict[str, list[float]] = {name: [] for name in backends}
    for _ in range(1 + repeat):
        for name, classifier in backends.items():
            classifier.logits(batches[0])
            started = time.perf_counter()
            for batch in batches:
                classifier.logits(batch)
            seconds[name].append(time.perf_counter() - started)
    return {name: np.array(taken[1:]) for name, taken in seconds.items()}


if __name__ == "__main__":
    main()
