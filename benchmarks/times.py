"""How long explainers take, as ratios: all of them in turn on the same texts, again and again.

    python benchmarks/times.py --data FOLDER [--texts 4] [--rounds 3]

Run it on a machine that does nothing else. Every library stays loaded in its own process; text by
text they explain in turn (A B C A B C), so whatever slows the machine falls on all of them. Each
runs at its defaults, after one text that is not timed. piste compiles the model where that is
faster; the others run in eager torch. The seconds go to results/times, a file a task, from which
`peers.py --report` writes ratios into the page.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import environments
import numpy as np
from contenders import CONTENDERS, DELETE, ENVIRONMENTS, OURS
from tasks import TASKS, model_folder
from workers import Worker

HERE = Path(__file__).resolve().parent
KEPT = HERE / "results" / "times"  # a file a task
TIMED = (OURS, "quick", "slalom", "slalom-explanations", "lime", "shap-kernel", "shap-partition")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--task", choices=list(TASKS), default="yelp")
    parser.add_argument("--texts", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS), default=list(TIMED))
    parser.add_argument("--out", type=Path, default=KEPT)
    given = parser.parse_args()
    folder = str(model_folder(TASKS[given.task].model, given.data))
    rows = list(TASKS[given.task].rows(given.data, given.texts + 1))
    workers = {
        name: Worker(name, environments.python_of(ENVIRONMENTS[name]), given.out / "logs")
        for name in {CONTENDERS[one].library for one in given.only}
    }
    taken: dict[str, list[list[float]]] = {name: [] for name in given.only}  # [texts][rounds]
    for index, row in enumerate(rows):
        seconds = {
            name: [timed(workers, name, row, folder) for _ in range(1 if not index else 0)]
            for name in given.only
        }
        for _ in range(given.rounds if index else 0):
            for name in given.only:
                seconds[name].append(timed(workers, name, row, folder))
        if index:
            for name in given.only:
                taken[name].append(seconds[name])
            print(f"text {index} of {given.texts}", flush=True)
    for worker in workers.values():
        worker.close()
    given.out.mkdir(parents=True, exist_ok=True)
    kept = json.dumps({"task": given.task, "seconds": taken})
    (given.out / f"{given.task}.json").write_text(kept, encoding="utf-8")
    print(section(given.out))


def timed(workers: dict[str, Worker], name: str, row: dict[str, Any], folder: str) -> float:
    job = {"model": folder, "absence": DELETE, "row": row, "parts": [], "answers": ""}
    job["eager"] = True  # as their users have it
    run = {"contender": name, "passes": None}
    (line,) = workers[CONTENDERS[name].library].ask(job | {"runs": [run]})
    if "seconds" not in line:
        raise SystemExit(f"{name}: {line}")
    return float(line["seconds"])


def section(folder: Path = KEPT) -> str:
    """The tables of ratios; nothing where none were measured."""
    files = sorted(folder.glob("*.json"))
    tables = [_table(json.loads(file.read_text("utf-8"))) for file in files]
    return "\n\n".join(["### Time", *tables, "By `benchmarks/times.py`."]) if tables else ""


def _table(kept: dict[str, Any]) -> str:
    seconds = {name: np.array(rows) for name, rows in kept["seconds"].items()}
    own = seconds[OURS]
    lines = ["| at its defaults | times piste context | from | to |", "|---|---:|---:|---:|"]
    for name, own_seconds in seconds.items():
        ratios = own_seconds / own
        cells = (np.median(ratios), ratios.min(), ratios.max())
        shown = " | ".join(f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}" for ratio in cells)
        lines.append(f"| {CONTENDERS[name].title} | {shown} |")
    texts, rounds = own.shape
    turns = "one round" if rounds == 1 else f"{rounds} rounds"
    note = (
        f"Medians of ratios over {texts} {TASKS[kept['task']].title}; {turns}, in turn; the"
        " smallest and the largest beside."
    )
    return "\n".join(lines) + f"\n\n{note}"


if __name__ == "__main__":
    main()
