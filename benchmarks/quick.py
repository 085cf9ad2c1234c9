"""A quick look against slalom-explanations and against the normal effort, on the same reviews.

    python benchmarks/quick.py --data yelp_hat/hat.jsonl.gz [--texts 20] [--peers PYTHON]

The three explain a few reviews of 100 words in turn, so that whatever else the machine does falls
on all of them. Deletion is judged by one model for all; figures are medians of the texts' ratios
to slalom-explanations, and means of deletion with the standard error of the difference.
"""

import argparse
from pathlib import Path
from typing import Any

import environments
import numpy as np
import texts
from contenders import CONTENDERS, DELETE, ENVIRONMENTS
from tasks import described
from workers import Worker

import piste
from piste.data import Example
from piste.decision import Decision
from piste.metrics.deletion import deletion

HERE = Path(__file__).resolve().parent
PEER = "slalom-explanations"
NAMES = (PEER, "quick", "context")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--peers", type=Path, help="an interpreter with slalom-explanations")
    parser.add_argument("--model", type=Path, help="the MiniLM; else the one in the cache")
    given = parser.parse_args()
    model = given.model or environments.minilm(None)
    classifier = piste.load(model)
    reviews = [row for row in texts.read(given.data) if row.get("subset") == "100"]
    chosen = texts.mixed(reviews, given.texts * 2)[: given.texts]
    decisions = [Decision.on(row["text"], classifier) for row in chosen]
    rows = [
        described(Example(row["id"], row["text"]), decision)
        for row, decision in zip(chosen, decisions, strict=True)
    ]
    workers = {name: worker(name, given.peers) for name in NAMES}
    for name in NAMES:
        explained(workers, name, rows[0], model)  # the first one warms up
    figures: dict[str, list[tuple[float, ...]]] = {name: [] for name in NAMES}
    for row, decision in zip(rows, decisions, strict=True):
        for name in NAMES:
            line = explained(workers, name, row, model)
            fall = deletion(decision, np.array(line["scores"])) or 0.0
            figures[name].append((line["seconds"], line["spent"], fall))
    for one in workers.values():
        one.close()
    report({name: np.array(found) for name, found in figures.items()})


def worker(name: str, peers: Path | None) -> Worker:
    library = CONTENDERS[name].library
    environment = ENVIRONMENTS[library]
    python = peers if peers and environment == "peers" else environments.python_of(environment)
    return Worker(library, python, HERE / "results" / "logs")


def explained(workers: dict[str, Worker], name: str, row: Any, model: Path) -> dict[str, Any]:
    job = {"model": str(model), "absence": DELETE, "row": row, "parts": [], "answers": ""}
    (line,) = workers[name].ask(job | {"runs": [{"contender": name, "passes": None}]})
    if "scores" not in line:
        raise SystemExit(f"failed: {line}")
    return line


def report(figures: dict[str, np.ndarray]) -> None:
    """Of arrays [texts, (seconds, passes, deletion)]."""
    peer = figures[PEER]
    print(f"{len(peer)} reviews; of {PEER}: seconds, tokens; deletion, difference")
    for name, own in figures.items():
        seconds, tokens = np.median(own[:, :2] / peer[:, :2], axis=0)
        gap = own[:, 2] - peer[:, 2]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        print(
            f"{name:20s} {np.median(own[:, 0]):6.2f} s ({seconds:.2f})"
            f"  {np.median(own[:, 1]):5.1f} passes ({tokens:.2f})"
            f"  {own[:, 2].mean():.3f}  {gap.mean():+.4f} +- {error:.4f}"
        )


if __name__ == "__main__":
    main()
