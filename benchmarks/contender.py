"""Run one explainer over texts, in whatever environment has it: one JSON line a text.

    python benchmarks/contender.py lime --model DIR --texts texts.json --out lime.jsonl

Texts that are in the output already are skipped, so a run that was stopped goes on. An explainer
that fails on a text leaves its error there.
"""

import argparse
import importlib
import json
import os
import random
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from contenders import CONTENDERS
from contenders.base import Answer, Explainer, Meter

WARM_UP = (
    "We came for the food, which was good, and stayed for the music, which was not. The waiter"
    " forgot us twice, then smiled and brought a dessert that nobody had ordered. It was lovely."
    " My sister found the place too loud and the prices too high; I would go again tomorrow, but"
    " rather at noon, when the terrace is open and the band is still asleep."
)
WARM_UP_SAMPLES = 64


def main() -> None:
    options = _options()
    _quiet()
    torch.set_num_threads(os.cpu_count() or 1)
    started = time.monotonic()
    todo = _todo(options.texts, options.out)[: options.limit]
    if not todo:
        return
    chosen = CONTENDERS[options.name]
    module = importlib.import_module(f"contenders.{chosen.module}")
    explainer, meter = module.make(options.model, **chosen.settings)
    _warm_up(explainer, meter, options.budget)
    longest = 0.0
    with options.out.open("a", encoding="utf-8") as out:
        for row in todo:
            before = time.monotonic()
            if longest and before - started + longest > options.seconds:  # one at least
                break
            out.write(json.dumps(_line(explainer, meter, row, options)) + "\n")
            out.flush()
            longest = max(longest, time.monotonic() - before)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=CONTENDERS)
    parser.add_argument("--model", required=True, help="a folder with weights and tokenizer")
    parser.add_argument("--texts", type=Path, required=True, help="JSON: id, text, target")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600, help="no new text after that")
    parser.add_argument("--limit", type=int, help="the most texts")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--samples", type=int, help="of the explainer, instead of its default")
    size.add_argument("--budget", type=float, help="tokens to spend / tokens of the text")
    return parser.parse_args()


def _quiet() -> None:
    """Progress bars and warnings of fifteen processes tell nobody anything."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    warnings.simplefilter("ignore")


def _todo(texts: Path, out: Path) -> list[dict]:
    done = set()
    if out.exists():
        done = {json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()}
    return [row for row in json.loads(texts.read_text("utf-8")) if row["id"] not in done]


def _warm_up(explainer: Explainer, meter: Meter | None, budget: float | None) -> None:
    """First calls load and compile things; the tokens they take give the price of a sample."""
    if meter is None:
        explainer.explain(WARM_UP, 1, None)
        return
    _calibrate(explainer, meter, WARM_UP_SAMPLES)
    if budget is not None:  # once more: the price depends on how the samples fill the batches
        _calibrate(explainer, meter, explainer.samples_for(WARM_UP, budget))


def _calibrate(explainer: Explainer, meter: Meter, samples: int) -> None:
    meter.tokens = 0
    explainer.explain(WARM_UP, 1, samples)
    explainer.calibrate(WARM_UP, samples, meter.tokens)


def _line(
    explainer: Explainer, meter: Meter | None, row: dict, options: argparse.Namespace
) -> dict:
    """What is kept of one text: the cost and the explanation, or the error."""
    try:
        samples = options.samples
        if options.budget is not None:
            samples = explainer.samples_for(row["text"], options.budget)
        _seed()
        if meter is not None:
            meter.tokens = meter.sequences = 0
        started = time.perf_counter()
        answer = explainer.explain(row["text"], row["target"], samples)
        seconds = time.perf_counter() - started
        _check(answer)
    except Exception as error:  # any failure of a peer is a result too
        return {"id": row["id"], "error": f"{type(error).__name__}: {error}"[:500]}
    line = {key: value for key, value in asdict(answer).items() if value is not None}
    if meter is not None:
        line |= {"tokens": meter.tokens, "sequences": meter.sequences}
    return {"id": row["id"], "seconds": seconds, "samples": samples} | line


def _check(answer: Answer) -> None:
    """A score that is no number cannot be ranked: the explainer has failed on this text."""
    if not np.isfinite([span[2] for span in answer.scores]).all():
        raise ValueError("some scores are not finite")


def _seed() -> None:
    """Not every peer takes a seed of its own."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)


if __name__ == "__main__":
    main()
