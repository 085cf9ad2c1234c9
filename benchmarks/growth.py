"""How cost grows with words and with texts: tokens, processor seconds, memory, and their exponents.

    python benchmarks/growth.py --data reviews.jsonl.gz [more.jsonl.gz ...] [--quick] [--again]

Texts of 10 to 5,000 words are made of the reviews' own words and explained one by one; beyond
what the model reads, in windows. Data sets are explained by `piste run` up to --most texts; larger
ones are extrapolated from the last two points. With --lexicon one is built over all texts, and of
more than --most texts a sample is explained with it. Every point is a process of its own, kept in
--out: a run that was stopped goes on. Afterwards a hundred million texts on a cluster are
calculated from these rates (`benchmarks/cluster.py`).
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
WORDS, QUICK_WORDS = (10, 30, 100, 300, 1000, 2000, 5000), (10, 30, 100, 300)
TEXTS, QUICK_TEXTS = (10, 100, 1000, 10_000, 100_000), (10, 30)
SAMPLE, SHARD = 100, 64
FIGURES = {"tokens": "tokens", "seconds": "processor seconds", "memory": "megabytes at most"}
Point = dict[str, Any]


def main() -> None:
    given = _options()
    if given.point:
        print(json.dumps(measured(given, *given.point)))
        return
    words, texts = (QUICK_WORDS, QUICK_TEXTS) if given.quick else (WORDS, TEXTS)
    points = {
        "words": [point(given, "words", size) for size in words],
        "texts": with_extrapolation(given, texts),
    }
    for axis, rows in points.items():
        print(table(axis, rows))
    picture(points, given.picture)
    cluster(given, points["texts"])


def _options() -> Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--quick", action="store_true", help="the small ends only")
    parser.add_argument("--most", type=int, default=1000, help="texts that are all explained")
    parser.add_argument("--lexicon", action="store_true", help="share words between texts")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "growth")
    parser.add_argument("--picture", type=Path, default=HERE / "growth.png")
    parser.add_argument("--actors", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.again:
        shutil.rmtree(given.out, ignore_errors=True)
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def point(given: Namespace, axis: str, size: int) -> Point:
    """A point that was measured before, or a new one, by a process of its own."""
    file = given.out / f"{axis}-{size}.json"
    if not file.exists():
        print(f"{size:,} {axis} ...", file=sys.stderr)
        result = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--point", axis, str(size)],
            stdout=subprocess.PIPE,
            check=True,
        )
        file.write_bytes(result.stdout.splitlines()[-1])
    known: Point = json.loads(file.read_text())
    return known


def measured(given: Namespace, axis: str, size: str) -> Point:
    """One point, in this process: what it takes beyond loading the model."""
    import piste

    classifier = piste.load(given.model)
    piste.explain("A good film, all in all.", classifier)  # everything is loaded
    wall, busy = time.perf_counter(), time.process_time()
    work = of_words if axis == "words" else of_texts
    tokens, left_out = work(given, classifier, int(size))
    return {
        "size": int(size),
        "tokens": tokens,
        "seconds": time.process_time() - busy + left_out,
        "wall": time.perf_counter() - wall + left_out,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "kind": "from a sample" if left_out else "measured",
    }


def reviews(given: Namespace, count: int | None = None) -> list[str]:
    from piste.data import read_examples

    rows = chain.from_iterable(read_examples(path) for path in given.data)
    return [row.text for row in islice(rows, count)]


def of_words(given: Namespace, classifier: Any, size: int) -> tuple[float, float]:
    """Explain one text of so many words; its tokens, and the seconds of what was left out."""
    import piste

    words = " ".join(reviews(given, 10 + size // 50)).split()[:size]
    explanation = piste.explain(" ".join(words), classifier, long="windows")
    return explanation.cost.tokens, 0.0


def of_texts(given: Namespace, classifier: Any, size: int) -> tuple[float, float]:
    """Explain so many texts, or with a lexicon a sample of them; tokens and seconds likewise."""
    import piste
    from piste.runs import shards
    from piste.runs.run import EFFORT

    texts = reviews(given, size)
    if size <= given.most:
        out, data = given.out / f"run-{size}" / "whole", given.out / f"texts-{size}.jsonl"
        shutil.rmtree(out, ignore_errors=True)
        data.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        piste.run(data, classifier, out, shard=SHARD, lexicon=given.lexicon)
        own = sum(sum(one["tokens"]) for one in shards.read(out, shards.TEXTS, ["tokens"]))
        words = out / "lexicon.json.gz"
        shared = piste.Lexicon.load(words).facts["tokens"] if words.exists() else 0
        return own + shared, 0.0
    lexicon = piste.build_lexicon(texts, classifier, effort=EFFORT)
    before = time.process_time()
    some = [piste.explain(text, classifier, lexicon=lexicon) for text in texts[:: size // SAMPLE]]
    each = float(np.mean([one.cost.tokens for one in some]))
    seconds = time.process_time() - before
    return lexicon.facts["tokens"] + each * size, seconds * (size / len(some) - 1)


def with_extrapolation(given: Namespace, sizes: tuple[int, ...]) -> list[Point]:
    """Points for as many texts as can be measured; beyond, the exponents of the last two."""
    held = len(reviews(given, max(sizes)))
    held = held if given.lexicon else min(held, given.most)
    rows = [point(given, "texts", size) for size in sizes if size <= held]
    for size in (size for size in sizes if size > held):
        grown = {
            name: rows[-1][name] * (size / rows[-1]["size"]) ** e
            for name, e in exponents(rows[-2:]).items()
        }
        rows.append({"size": size, "wall": float("nan"), "kind": "extrapolated", **grown})
    return rows


def exponents(rows: list[Point]) -> dict[str, float]:
    """Of every figure: the slope of its logarithm over that of the size."""
    sizes = np.log([row["size"] for row in rows])
    return {
        name: float(np.polyfit(sizes, np.log([row[name] for row in rows]), 1)[0])
        for name in FIGURES
    }


def table(axis: str, rows: list[Point]) -> str:
    """The figures as Markdown, with the exponents of all points and of the last two measured."""
    lines = [f"| {axis} | tokens | processor s | wall s | MB at most | |", "|" + "---|" * 6]
    lines += [
        f"| {row['size']:,} | {row['tokens']:,.0f} | {row['seconds']:,.1f} | {row['wall']:,.1f} |"
        f" {row['memory']:,.0f} | {row['kind']} |"
        for row in rows
    ]
    known = [row for row in rows if row["kind"] != "extrapolated"]
    for name, some in (("all", known), ("the last two", known[-2:])):
        told = ", ".join(f"{FIGURES[key]} {power:.2f}" for key, power in exponents(some).items())
        lines.append(f"\nexponents, {name}: {told}")
    return "\n".join(lines) + "\n"


def picture(points: dict[str, list[Point]], path: Path) -> None:
    """Both axes, every figure, on logarithmic scales."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (axis, rows) in zip(figure.subplots(1, 2), points.items(), strict=True):
        known = [row for row in rows if row["kind"] != "extrapolated"]
        powers = exponents(known)
        for (name, label), colour in zip(FIGURES.items(), ("C0", "C1", "C2"), strict=True):
            sizes, figures = zip(*((row["size"], row[name]) for row in rows), strict=True)
            axes.loglog(sizes, figures, "--", color=colour)
            axes.loglog(
                sizes[: len(known)],
                figures[: len(known)],
                "o-",
                color=colour,
                label=f"{label}: exponent {powers[name]:.2f}",
            )
        axes.set_xlabel(axis if len(known) == len(rows) else f"{axis} (dashed: extrapolated)")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    print(f"Wrote {path}")


def cluster(given: Namespace, rows: list[Point]) -> None:
    """A hundred million texts, from the seconds of a text of the largest run."""
    from scale import calculation

    row = [row for row in rows if row["kind"] == "measured"][-1]
    settings = Namespace(data=given.data[0], actors=given.actors)
    folder = given.out / f"run-{row['size']}"
    shutil.rmtree(folder / "committed", ignore_errors=True)
    calculation(settings, folder, row["seconds"] / row["size"])


if __name__ == "__main__":
    main()
