"""Tokens a second through `Query`, against a bare loop over the same backend on ready batches.

python benchmarks/throughput.py [--model DIR] [--words 100]
"""

import argparse
import time

import numpy as np

import piste
from piste.arrays import Ragged
from piste.design import mixed_shares, portions, short, singles
from piste.models.query import BATCH_TOKENS, Query
from piste.text.encoding import Frame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    for backend in ("torch", "openvino"):
        classifier = piste.load(options.model, backend=backend)
        rows, frame = _requests(classifier, options.words)
        bare, through = [], []
        for _ in range(options.repeat):  # in turn, so that a busy machine slows both
            bare.append(_bare(classifier, rows, frame))
            through.append(_through(classifier, rows, frame))
        tokens = int(rows.lengths.sum()) + frame.size * len(rows)
        share = min(bare) / min(through)
        print(
            f"{classifier.backend:55s} bare {tokens / min(bare):9.0f} tokens/s"
            f"  query {tokens / min(through):9.0f} tokens/s  ({share:.0%})"
        )


def _requests(classifier, words: int) -> tuple[Ragged, Frame]:
    """What a default explanation asks of a text of so many distinct tokens."""
    rng = np.random.default_rng(0)
    encoded = classifier.encode("a film")
    known = rng.permutation(np.arange(1000, 5000))[:words]
    design = Ragged.concat(
        [
            singles(words),
            short(rng, words, 3 * words),
            portions(rng, mixed_shares(40), np.ones(words, dtype=np.int64)),
        ]
    )
    return Ragged(known[design.values], design.starts), encoded.frame


def _through(classifier, rows: Ragged, frame: Frame) -> float:
    started = time.perf_counter()
    Query(classifier, frame).logits(rows)
    return time.perf_counter() - started


def _bare(classifier, rows: Ragged, frame: Frame) -> float:
    """The same sequences in the same batches, made beforehand: only the backend is timed."""
    batches = []
    for length in np.unique(rows.lengths):
        equal = rows.take(np.flatnonzero(rows.lengths == length))
        matrix = np.unique(Query(classifier, frame)._framed(equal, int(length)), axis=0)
        size = max(1, BATCH_TOKENS // matrix.shape[1])
        batches += [matrix[start : start + size] for start in range(0, len(matrix), size)]
    started = time.perf_counter()
    for batch in batches:
        classifier.logits(batch)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
