"""Where the time of `piste explain` goes, stage by stage, as a table and a picture.

    python benchmarks/stages.py [--models demo DIR] [--rounds 5] [--picture docs/images/stages.png]

Every round runs the command once for each model in a new interpreter, with a clock around the
functions of each stage; a stage within another is not counted twice. Imports come first, so that
no stage pays for them. The cache is filled before. Medians of the rounds, in seconds waited.
"""

import argparse
import contextlib
import functools
import importlib
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "stages.png"
START, REST = "start, import, end", "everything else"
FIT, CONTEXT = "piste.methods.context.fit", "piste.methods.context"
STAGES = {  # the functions of each stage, as module:attribute
    "load the model": ("piste.cli.explain:loaded",),
    "split into words": ("piste.models.backends.compiled:CompiledClassifier.encode",),
    "ask the model": ("piste.models.query:Query.logits",),
    "choose parts": (f"{CONTEXT}.asking:Plan.first", f"{CONTEXT}.asking:Plan.next"),
    "fit SLALOM": (f"{FIT}:fit_slalom", f"{FIT}:_means", f"{FIT}:_prior"),
    "fit the process": (f"{FIT}:fit_context", f"{FIT}:shortfall"),
    "effects, pairs, errors": (
        f"{CONTEXT}:all_scores",
        f"{CONTEXT}:_standing",
        "piste.result.explanation:Explanation.pairs",
    ),
    "search words that turn it": (f"{CONTEXT}:turning",),
    "show": ("piste.cli.explain:_show",),
}
HEAVY = ("piste", "numpy", "scipy", "openvino", "tokenizers", "typer", "pydantic", "rich")
Seconds = dict[str, float]


class Clock:
    """Seconds by stage. Only the innermost stage runs."""

    def __init__(self) -> None:
        self.seconds: Seconds = dict.fromkeys((*STAGES, REST), 0.0)
        self.stages = [REST]
        self.since = time.perf_counter()

    @contextlib.contextmanager
    def within(self, stage: str) -> Iterator[None]:
        self._count()
        self.stages.append(stage)
        try:
            yield
        finally:
            self._count()
            self.stages.pop()

    def _count(self) -> None:
        now = time.perf_counter()
        self.seconds[self.stages[-1]] += now - self.since
        self.since = now

    def put_around(self, place: str, stage: str) -> None:
        """Have a function run this stage's clock."""
        module, _, path = place.partition(":")
        *owners, name = path.split(".")
        owner = functools.reduce(getattr, owners, importlib.import_module(module))
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def timed(*arguments: Any, **settings: Any) -> Any:
            with self.within(stage):
                return function(*arguments, **settings)

        setattr(owner, name, timed)


def child(model: str, text: str, started: float, modules: list[str]) -> None:
    """One command, timed; prints the seconds and what it has imported."""
    for module in modules:
        importlib.import_module(module)
    from piste.cli import app

    clock = Clock()
    clock.seconds[START] = time.monotonic() - started  # the same clock in every process
    for stage, places in STAGES.items():
        for place in places:
            clock.put_around(place, stage)
    clock.since = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), clock.within(REST):
        app(["explain", text, "--model", model], standalone_mode=False)
    ended = time.monotonic()
    heavy = [name for name in sys.modules if name.split(".")[0] in HEAVY and "__" not in name]
    print(json.dumps({"seconds": clock.seconds, "modules": heavy, "ended": ended}))


def run(model: str, modules: list[str]) -> dict[str, Any]:
    """What a child has measured."""
    from backends import REVIEW

    asked = [model, " ".join(REVIEW.split()), str(time.monotonic()), json.dumps(modules)]
    command = [sys.executable, __file__, "--child", *asked]
    printed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    measured: dict[str, Any] = json.loads(printed.splitlines()[-1])
    measured["seconds"][START] += time.monotonic() - measured["ended"]
    return measured


def measure(models: list[str], rounds: int) -> dict[str, Seconds]:
    """Medians by model and stage, the models in turn."""
    import numpy as np

    for model in models:  # fills the cache
        run(model, [])
    modules = {model: run(model, [])["modules"] for model in models}
    taken: dict[str, list[Seconds]] = {model: [] for model in models}
    for _ in range(rounds):
        for model in models:
            taken[model].append(run(model, modules[model])["seconds"])
    return {
        model: {
            stage: float(np.median([one[stage] for one in all_rounds]))
            for stage in (START, *STAGES, REST)
        }
        for model, all_rounds in taken.items()
    }


def table(measured: dict[str, Seconds]) -> str:
    names = [named(model) for model in measured]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for stage in (START, *STAGES, REST):
        cells = [
            f"{one[stage]:.2f} s ({one[stage] / sum(one.values()):.0%})"
            for one in measured.values()
        ]
        lines.append(f"| {stage} | " + " | ".join(cells) + " |")
    totals = [f"{sum(one.values()):.2f} s" for one in measured.values()]
    return "\n".join([*lines, "| together | " + " | ".join(totals) + " |"])


def named(model: str) -> str:
    return "embedded model" if model == "demo" else "MiniLM"


def picture(measured: dict[str, Seconds], file: Path) -> None:
    """One stacked bar a model, as shares of its time."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.6 + 0.7 * len(measured)), layout="constrained")
    axes = figure.subplots()
    names = [f"{named(model)}\n{sum(one.values()):.1f} s" for model, one in measured.items()]
    colours = [*colormaps["tab10"].colors, "0.25"]  # type: ignore[attr-defined]
    left = [0.0] * len(names)
    for stage, colour in zip((START, *STAGES, REST), colours, strict=True):
        shares = [100 * one[stage] / sum(one.values()) for one in measured.values()]
        bars = axes.barh(names, shares, left=left, color=colour, label=stage, height=0.6)
        labels = [f"{share:.0f}" if share >= 3 else "" for share in shares]
        axes.bar_label(bars, labels, label_type="center", color="white", fontsize=8)
        left = [before + share for before, share in zip(left, shares, strict=True)]
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the time of piste explain on a review of 100 words")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(file, dpi=150)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        model, text, started, modules = sys.argv[2:]
        child(model, text, float(started), json.loads(modules))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--models", nargs="+", default=["demo"], help="demo, and a MiniLM's folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    given = parser.parse_args()
    measured = measure(given.models, given.rounds)
    print(table(measured))
    picture(measured, given.picture)


if __name__ == "__main__":
    main()
