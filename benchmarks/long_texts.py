"""Long texts: seconds, where they go, memory, and windows against their parts.

    python benchmarks/long_texts.py [--data reviews.jsonl.gz] [--words 1000 2000] [--windows 5000]

Texts of distinct words, explained by the embedded model in windows, and by a function of texts at
once; each in a process of its own, after a short text that loads everything. Then a text in
windows against the same windows one by one, in turn.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import texts

import piste
from piste.text.encoding import windows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="JSON lines with texts; else made-up words")
    parser.add_argument("--words", type=int, nargs="*", default=[100, 300, 1000, 2000])
    parser.add_argument("--windows", type=int, default=5000)
    parser.add_argument("--one", help="(used by itself)")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.data, *given.one.split(":"))))
        return
    print("words  model     seconds  processor  asking  fitting  peak MB  passes")
    for words in given.words:
        for model in ("embedded", "function"):
            one = alone(given.data, f"{words}:{model}")
            print(
                f"{words:5d}  {model:8s} {one['seconds']:8.2f} {one['processor']:10.2f}"
                f" {one['asking']:7.2f} {one['fitting']:8.2f} {one['memory']:8.0f}"
                f" {one['passes']:7.0f}"
            )
    if given.windows:
        one = alone(given.data, f"{given.windows}:windows")
        print(
            f"{given.windows} words in {one['count']:.0f} windows: {one['ratio']:.2f} of the sum of"
            f" its parts ({one['seconds']:.2f} s; processor time {one['processor']:.2f}),"
            f" peak {one['memory']:.0f} MB"
        )


def alone(data: Path | None, one: str) -> dict[str, float]:
    more = [] if data is None else ["--data", str(data)]
    command = [sys.executable, __file__, "--one", one, *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def measured(data: Path | None, count: str, model: str) -> dict[str, float]:
    words = distinct_words(data, int(count))
    classifier = function(words) if model == "function" else piste.load()
    piste.explain(" ".join(words[:60]), classifier)
    if model == "windows":
        return against_parts(" ".join(words), classifier)
    started, processor = time.perf_counter(), time.process_time()
    found = piste.explain(" ".join(words), classifier, long="windows")
    return {
        "seconds": time.perf_counter() - started,
        "processor": time.process_time() - processor,
        "asking": found.cost.query_seconds,
        "fitting": found.cost.fit_seconds,
        "passes": found.cost.tokens / found.cost.full_tokens,
        "memory": memory(),
    }


def against_parts(text: str, classifier) -> dict[str, float]:
    """A text in windows, then its windows as texts of their own, twice; the better of each."""
    parts = [
        text[part.spans[0][0] : part.spans[-1][1]] for part in windows(classifier.encode(text))
    ]
    whole, single = [], []
    for _ in range(2):
        whole.append(timed(lambda: piste.explain(text, classifier, long="windows")))
        target = piste.explain(text, classifier, "slalom-ana", long="windows").target.label
        single.append(
            timed(lambda to=target: [piste.explain(part, classifier, target=to) for part in parts])
        )
    (seconds, _), (rest, _) = min(whole), min(single)
    ratio = min(one[1] for one in whole) / min(one[1] for one in single)
    return {
        "count": len(parts),
        "ratio": seconds / rest,
        "processor": ratio,
        "seconds": seconds,
        "memory": memory(),
    }


def timed(call) -> tuple[float, float]:
    started, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - started, time.process_time() - processor


def memory() -> float:
    """The most that this process has held, in MB (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def distinct_words(data: Path | None, count: int) -> list[str]:
    if data is None:
        rng = np.random.default_rng(0)
        made = ("".join(rng.choice(list("aeiolnrst"), 6)) for _ in range(3 * count))
        return list(dict.fromkeys(made))[:count]
    words: dict[str, None] = {}
    for row in texts.read(data):
        words |= dict.fromkeys(re.findall("[a-z]{3,}", row["text"].lower()))
        if len(words) >= count:
            return list(words)[:count]
    sys.exit(f"{data} has {len(words)} words.")


def function(words: list[str]):
    """Texts to probabilities: a mean of weights, as cheap as can be."""
    weights = dict(zip(words, np.random.default_rng(0).normal(size=len(words)), strict=True))

    def answer(given: list[str]) -> np.ndarray:
        sums = [sum(weights[w] for w in t.split()) / (3 + len(t.split()) ** 0.8) for t in given]
        positive = 1 / (1 + np.exp(-np.array(sums)))
        return np.stack([1 - positive, positive], axis=1)

    return piste.from_function(answer, labels=["no", "yes"], outputs="probabilities")


if __name__ == "__main__":
    main()
