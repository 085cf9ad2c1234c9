"""The tables of docs/findings.md, from what `peers.py` and `interactions.py` have measured.

    python benchmarks/lessons.py

What people have written on the page stands outside of the markers and stays.
"""

from collections.abc import Sequence
from pathlib import Path

import interactions
import numpy as np
import peers
import plots
import report
from contenders import CONTENDERS, DELETE, OURS
from summary import EQUAL, MEASURES, Estimate, Point, Results
from tasks import TASKS

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "findings.md"
LAYERS = {"embedded": 2, "decoder": 4}  # of a task's model; all others have six
GOALS = (0.5, 0.7, 0.8, 0.9)  # R² on parts
CLIMBING = (OURS, "ridge", "ridge-pairs", "lime", "shap-kernel", "shapiq-proxyspex")
CHEAP = {  # contenders, and the passes of the table: 0 for their defaults
    "attention": 0,
    "gradients": 0,
    "captum-ig": 0,
    "occlusion": 0,
    "slalom": 0,
    "lime": EQUAL,
    "ridge": EQUAL,
    "ridge-pairs": EQUAL,
}
LITTLE = {"deletion": 0.02, "removals": 0.05}  # so much less is as good


def main() -> None:
    out = HERE / "results" / "peers"
    bench = peers.Bench(out, Path("data"), peers.SCALES["usual"], out / "logs")
    write(Results(bench.lines()))  # what this very code has measured


def write(results: Results) -> None:
    """All parts of the page that are measured."""
    parts = {
        "interactions": interactions.section(interactions.lines()),
        "passes": climb(results),
        "enough": "\n\n".join(enough(results, measure) for measure in LITTLE),
    }
    for name, content in parts.items():
        report.fill(PAGE, name, content, "lessons.py")
    print(f"wrote {PAGE}")


def climb(results: Results) -> str:
    """Forward passes until the median R² on parts reaches each goal."""
    header = ("texts", "explainer", *(f"R² {goal:g}" for goal in GOALS), "the most that was tried")
    rows = []
    for task in TASKS:
        for name in CLIMBING:
            line = plots.curve(results, task, DELETE, name, "r2")
            if len(line) > 1:
                passes = [spent for spent, _ in line]
                reached = [found.value for _, found in line]
                cells = (shown(first_at(passes, reached, goal)) for goal in GOALS)
                last = f"{report.number(reached[-1])} at {passes[-1]:.0f}"
                rows.append([TASKS[task].title, CONTENDERS[name].title, *cells, last])
    return report.table(header, rows)


def first_at(passes: Sequence[float], reached: Sequence[float], goal: float) -> float | None:
    """Where the curve first comes to the goal, between two points by the logarithm of passes."""
    for index, value in enumerate(reached):
        if value >= goal:
            if index == 0:
                return passes[0]
            share = (goal - reached[index - 1]) / (value - reached[index - 1])
            low, high = np.log(passes[index - 1]), np.log(passes[index])
            return float(np.exp(low + share * (high - low)))
    return None


def shown(passes: float | None) -> str:
    return "–" if passes is None else f"{passes:.0f}"


def enough(results: Results, measure: str) -> str:
    """How far each is behind context at equal cost, by model and length; bold where that is little.

    A figure is marked where the 95 % interval of the difference leaves out that more than LITTLE is
    lost.
    """
    header = ("texts", "layers", "words", "context", *(CONTENDERS[name].title for name in CHEAP))
    rows = []
    for task in TASKS:
        own = Point(task, DELETE, OURS, EQUAL)
        found = results.estimate(own, measure)
        if found is None:
            continue
        cells = [
            loss(results.difference(own, Point(task, DELETE, name, passes), measure), measure)
            for name, passes in CHEAP.items()
        ]
        facts = [TASKS[task].title, str(LAYERS.get(task, 6)), f"{words(results, own):.0f}"]
        rows.append([*facts, report.number(found.value), *cells])
    title = MEASURES[measure].arrow
    return f"**{title[0].upper()}{title[1:]}**\n\n{report.table(header, rows)}"


def words(results: Results, point: Point) -> float:
    return float(np.mean([line["words"] for line in results.figures[point].values()]))


def loss(lead: Estimate | None, measure: str) -> str:
    """The lead of context turned round: below 0 is worse than context."""
    if lead is None:
        return "–"
    value = report.number(-lead.value, "+")
    return f"**{value}**" if lead.high <= LITTLE[measure] else value


if __name__ == "__main__":
    main()
