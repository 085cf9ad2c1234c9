"""A process that holds one library and answers jobs: JSON lines in, JSON lines out.

    python benchmarks/contender.py lime

Started by `peers.py`, in the environment that has the library. A job is one text in front of one
model; the contenders of the library explain it with every budget. One that fails leaves its error.
"""

import argparse
import importlib
import json
import os
import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from contenders import CONTENDERS
from contenders.base import (
    Answer,
    Game,
    Library,
    TooLittle,
    TorchModel,
    Unfit,
    read_answers,
    write_answers,
)

ENOUGH, MORE = 0.9, 4  # of the forward passes wanted; times the samples that should cost so many


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    library = parser.parse_args().library
    out = _own_output()
    warnings.simplefilter("ignore")
    torch.set_num_threads(_cores())
    module = importlib.import_module(f"contenders.with_{library}")
    made: dict[str, tuple[TorchModel, Library]] = {}
    for line in sys.stdin:
        job = json.loads(line)
        if job["model"] not in made:
            model = TorchModel(job["model"], is_compiled=not job.get("eager"))
            made[job["model"]] = model, module.make(model)
        json.dump(answers(job, *made[job["model"]]), out)
        out.write("\n")
        out.flush()


def _cores() -> int:
    """Those that this process may use: `taskset` leaves some to others."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _own_output() -> TextIO:
    """The pipe to `peers.py`; whatever else is printed goes to the log."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def answers(job: dict[str, Any], model: TorchModel, library: Library) -> list[dict[str, Any]]:
    """What every run of the job says."""
    path = Path(job["answers"]) if job["answers"] else None  # None: nothing is shared
    game = Game(job["row"], model, job["absence"], read_answers(path) if path else {})
    known = len(game.answers)
    parts = np.array(job["parts"], dtype=bool).reshape(-1, game.words)
    lines = [line(run, game, library, parts) for run in job["runs"]]
    if path and len(game.answers) > known:
        write_answers(path, game.answers)
    return lines


def line(run: dict[str, Any], game: Game, library: Library, parts: np.ndarray) -> dict[str, Any]:
    """One explanation, and what it says of parts of the text; or why there is none."""
    try:
        answer, seconds = near(run, game, library)
        if not np.isfinite(answer.scores).all():
            raise ValueError("some scores are not finite")
        predicted = None if answer.predict is None else answer.predict(parts).tolist()
    except TooLittle:
        return run | {"left out": "too few passes"}
    except Unfit as reason:
        return run | {"left out": str(reason)}
    except Exception as error:  # any failure of a peer is a result too
        return run | {"error": f"{type(error).__name__}: {error}"[:300]}
    asked = answer.asked or game.was_asked
    return run | {
        "scores": answer.scores.tolist(),
        "predicted": predicted,
        "asked": asked(parts).tolist(),
        "is_shapley": answer.is_shapley,
        "pairs": None if answer.pairs is None else answer.pairs.tolist(),
        "near": answer.near,
        "spent": spent(answer, game),
        "seconds": seconds,
    }


def near(run: dict[str, Any], game: Game, library: Library) -> tuple[Answer, float]:
    """An explanation for about so many forward passes, and the seconds that it took.

    Libraries that draw the same parts again and again pay for them once, so they are given more
    samples until they have spent what all others have; at most MORE times as many.
    """
    name, passes = run["contender"], run["passes"]
    contender = CONTENDERS[name]
    wanted, before = passes, 0.0
    while True:
        game.begin()
        _seed()
        started = time.perf_counter()
        answer = library.explain(game, contender.settings, wanted)
        seconds, cost = time.perf_counter() - started, spent(answer, game)
        if passes is None or contender.library == "piste":  # which asks nothing twice
            return answer, seconds
        if cost >= ENOUGH * passes or cost <= before or wanted >= MORE * passes:
            return answer, seconds
        wanted, before = min(wanted * passes / cost, MORE * passes), cost


def spent(answer: Answer, game: Game) -> float:
    """Forward passes of the whole text."""
    return game.passes if answer.passes is None else answer.passes


def _seed() -> None:
    """Not every peer takes a seed of its own."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)


if __name__ == "__main__":
    main()
