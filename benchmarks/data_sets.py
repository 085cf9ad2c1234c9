"""What a data set costs: a loop of explain(), `piste run` without a lexicon, and with one.

    python benchmarks/data_sets.py --data reviews.jsonl.gz [--texts 1000] [--grow 10 100 1000 10000]
    python benchmarks/data_sets.py --data reviews.jsonl.gz --only share --model my-minilm --texts 32

Prints tokens and seconds a text, how alike the scores are, and the mean fall of the probability
while the strongest words are deleted (AOPC) on a sample of the texts, side by side in one run.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import piste
from piste.data import read_examples
from piste.metrics.deletion import deletion
from piste.runs import shards
from piste.runs.run import EFFORT
from piste.runs.run_lexicon import LEXICON_EFFORT


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--texts", type=int, default=1000, help="with the lexicon")
    parser.add_argument("--sample", type=int, default=40, help="texts explained by the loop too")
    parser.add_argument("--turns", type=int, default=3, help="of loop and run")
    parser.add_argument("--grow", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--only", choices=["share", "loop"], help="one section")
    given = parser.parse_args()
    texts = [one.text for one in read_examples(given.data, limit=given.texts)]
    if given.only != "loop":
        share(given, texts[: given.sample])
    if given.only == "share":
        return
    classifier = piste.load(given.model)
    sample = list(range(0, len(texts), max(1, len(texts) // given.sample)))
    loop = looped(classifier, [texts[index] for index in sample])
    print(f"loop of explain(): {loop['tokens']:.0f} tokens, {loop['seconds']:.2f} s a text")
    print(f"  deletion AOPC {np.mean(loop['aopc']):.4f} on {len(sample)} texts")
    without(given, sample, loop)
    if given.only == "loop":
        return
    lexicon(given, classifier, texts, sample, loop)
    grow(given, classifier)


def looped(classifier: Any, texts: list[str]) -> dict[str, Any]:
    explained(texts[:1], classifier)  # warm
    started = time.perf_counter()
    found = explained(texts, classifier)
    seconds = (time.perf_counter() - started) / len(texts)
    return {
        "found": found,
        "seconds": seconds,
        "tokens": np.mean([one.cost.tokens for one in found]),
        "aopc": [worth(classifier, one) for one in found],
    }


def explained(texts: list[str], classifier: Any) -> list[piste.Explanation]:
    """The loop: with as many forward passes of each text as a run asks for."""
    return [piste.explain(text, classifier, effort=EFFORT) for text in texts]


def worth(classifier: Any, found: piste.Explanation) -> float:
    options = piste.Options(target=found.target.index)
    decision = piste.Decision.on(found.text, classifier, options)
    return float(deletion(decision, found.scores[found.primary]) or 0.0)


def without(given: argparse.Namespace, sample: list[int], loop: dict[str, Any]) -> None:
    """The same texts by a loop and by `piste run` without a lexicon, in turn, several times."""
    classifier, texts = piste.load(given.model), [one.text for one in loop["found"]]
    ratios: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "sample.jsonl"
        data.write_text("\n".join(_line(text) for text in texts))
        for turn in range(given.turns):
            wall, busy = timed(lambda: explained(texts, classifier))
            for workers, known in ratios.items():
                out = Path(folder) / f"run-{workers}-{turn}"
                seconds = timed(partial(unshared, data, given.model, out, workers, len(texts)))
                known.append((wall / seconds[0], busy / seconds[1]))
                print(
                    f"  turn {turn}: loop {wall:.1f} s, of the processor {busy:.1f}; {workers}"
                    f" workers {seconds[0]:.1f} s, {seconds[1]:.1f}, models loaded anew"
                )
        for workers, known in ratios.items():
            apart = difference(Path(folder) / f"run-{workers}-0", loop["found"])
            wall, busy = np.median(np.array(known), axis=0)
            print(
                f"piste run --workers {workers}: {wall:.2f} times as fast as the loop,"
                f" {busy:.2f} times as little processor time (medians of {given.turns}); effects"
                f" differ by at most {apart:.1e} of the largest"
            )


def unshared(data: Path, model: str, out: Path, workers: int, texts: int) -> None:
    """Run without a lexicon, in shards that keep all workers busy to the end."""
    piste.run(data, model, out, workers=workers, shard=max(1, texts // 4))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and those of the processor, of this process and the workers that it ended."""
    before, wall = processor(), time.perf_counter()
    work()
    return time.perf_counter() - wall, processor() - before


def processor() -> float:
    own, ended = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def share(given: argparse.Namespace, texts: list[str]) -> None:
    """How much of a run's time is not the model's own, in one process without a lexicon."""
    classifier = piste.load(given.model)
    spent = [0.0, 0.0]
    asked = type(classifier).logits

    def answered(self: Any, ids: Any) -> Any:
        before, wall = time.process_time(), time.perf_counter()
        answers = asked(self, ids)
        spent[0] += time.perf_counter() - wall
        spent[1] += time.process_time() - before
        return answers

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "sample.jsonl"
        data.write_text("\n".join(map(_line, texts)))
        type(classifier).logits = answered  # type: ignore[method-assign]
        try:
            wall, busy = timed(lambda: piste.run(data, classifier, Path(folder) / "run"))
        finally:
            type(classifier).logits = asked  # type: ignore[method-assign]
    print(
        f"{given.model}: all but the model takes {1 - spent[0] / wall:.1%} of the time of a run"
        f" without a lexicon, {1 - spent[1] / busy:.1%} of the processor's ({len(texts)} texts,"
        f" {wall / len(texts):.2f} s a text)"
    )


def difference(folder: Path, found: list[piste.Explanation]) -> float:
    rows: dict[int, list[float]] = {}
    for table in shards.read(folder, shards.PLAYERS, ["index", "effect"]):
        for index, effect in zip(table["index"], table["effect"], strict=True):
            rows.setdefault(index, []).append(effect)
    gaps = [
        np.abs(np.array(rows[index]) - one.scores["effect"]).max()
        / np.abs(one.scores["effect"]).max()
        for index, one in enumerate(found)
    ]
    return float(np.max(gaps))


def lexicon(
    given: argparse.Namespace,
    classifier: Any,
    texts: list[str],
    sample: list[int],
    loop: dict[str, Any],
) -> None:
    started = time.perf_counter()
    known = piste.build_lexicon(texts, classifier, effort=LEXICON_EFFORT)
    built = time.perf_counter() - started
    started = time.perf_counter()
    found = [piste.explain(texts[index], classifier, lexicon=known) for index in sample]
    each = (time.perf_counter() - started) / len(sample)
    own = np.mean([one.cost.tokens for one in found])
    total = known.facts["tokens"] / len(texts) + own
    gaps = np.array([worth(classifier, one) for one in found]) - np.array(loop["aopc"])
    refined = sum(one.cost.forwards > 1 for one in found)
    print(
        f"with a lexicon of {len(known):,} words over {len(texts):,} texts: {total:.0f} tokens a"
        f" text, {loop['tokens'] / total:.1f} times fewer; built in {built:.0f} s, {each:.3f} s a"
        f" text after it, {loop['seconds'] / (each + built / len(texts)):.1f} times as fast"
    )
    print(
        f"  deletion AOPC {gaps.mean():+.4f} ± {gaps.std() / len(gaps) ** 0.5:.4f} against the"
        f" loop; {refined} of {len(sample)} texts refined"
    )


def grow(given: argparse.Namespace, classifier: Any) -> None:
    print("texts  words  tokens a text (lexicon + own)  seconds to build")
    for count in given.grow:
        texts = [one.text for one in read_examples(given.data, limit=count)]
        started = time.perf_counter()
        known = piste.build_lexicon(texts, classifier, effort=LEXICON_EFFORT)
        seconds = time.perf_counter() - started
        own = np.mean([len(classifier.encode(text).ids) + 2 for text in texts[:200]])
        build = known.facts["tokens"] / len(texts)
        limit = min(own, 512)
        print(f"{len(texts):>6,} {len(known):>7,} {build:>8.0f} + {limit:.0f} {seconds:>8.0f}")


def _line(text: str) -> str:
    return json.dumps({"text": text})


if __name__ == "__main__":
    main()
