"""A quick look against slalom-explanations and against the normal effort, on the same reviews.

    python benchmarks/quick.py --data yelp_hat/hat.jsonl.gz [--texts 20] [--peers PYTHON]

The three explain a few reviews of 100 words in turn, so that whatever else the machine does falls
on all of them. Deletion is judged by one model for all; figures are medians of the texts' ratios
to slalom-explanations, and means of deletion with the standard error of the difference.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import environments
import numpy as np
import texts
from protocol import Judge

import piste

HERE = Path(__file__).resolve().parent
NAMES = ("slalom", "piste-quick", "piste-context")
EACH = 5  # texts of a turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--peers", type=Path, help="an interpreter with slalom-explanations")
    parser.add_argument("--model", type=Path, help="the MiniLM; else the one in the cache")
    given = parser.parse_args()
    model = given.model or environments.minilm(None)
    pythons = dict.fromkeys(NAMES, Path(sys.executable))
    pythons["slalom"] = given.peers or environments.peers_python()
    classifier = piste.load(model)
    reviews = [row for row in texts.read(given.data) if row.get("subset") == "100"]
    rows = texts.with_targets(texts.mixed(reviews, given.texts * 2)[: given.texts], classifier)
    with tempfile.TemporaryDirectory() as folder:
        lines = explained(Path(folder), pythons, model, rows)
    report(lines, [Judge(classifier, row["text"], row["target"]) for row in rows])


def explained(folder: Path, pythons: dict[str, Path], model: Path, rows: list) -> dict[str, list]:
    """What each of them wrote of every text, in the order of the texts."""
    chosen = folder / "texts.json"
    chosen.write_text(json.dumps(rows), encoding="utf-8")
    for _ in range(0, len(rows), EACH):
        for name, python in pythons.items():
            command = [python, HERE / "contender.py", name, "--model", model, "--texts", chosen]
            command += ["--out", folder / f"{name}.jsonl", "--limit", str(EACH)]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # progress bars
    files = {name: (folder / f"{name}.jsonl").read_text("utf-8") for name in pythons}
    return {name: [json.loads(line) for line in text.splitlines()] for name, text in files.items()}


def report(lines: dict[str, list], judges: list[Judge]) -> None:
    figures = {
        name: np.array([_figures(line, judge) for line, judge in zip(rows, judges, strict=True)])
        for name, rows in lines.items()
    }  # [texts, (seconds, passes, deletion)]
    peer = figures["slalom"]
    print(f"{len(judges)} reviews; of slalom-explanations: seconds, tokens; deletion, difference")
    for name, own in figures.items():
        seconds, tokens = np.median(own[:, :2] / peer[:, :2], axis=0)
        gap = own[:, 2] - peer[:, 2]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        print(
            f"{name:14s} {np.median(own[:, 0]):6.2f} s ({seconds:.2f})"
            f"  {np.median(own[:, 1]):5.1f} passes ({tokens:.2f})"
            f"  {own[:, 2].mean():.3f}  {gap.mean():+.4f} +- {error:.4f}"
        )


def _figures(line: dict, judge: Judge) -> tuple[float, float, float]:
    if "error" in line:
        raise SystemExit(f"failed: {line['error']}")
    figures = judge.figures(line)
    return line["seconds"], figures["fe"], figures["deletion"]


if __name__ == "__main__":
    main()
