"""docs/benchmarks.md, its plots and the README's table, written from what was measured.

What people have written stands outside of the markers and stays.
"""

import os
import platform
import re
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import environments
import plots
import times
from contenders import BOTH, CONTENDERS, DELETE, OURS
from summary import EQUAL, MEASURES, Estimate, Point, Results
from tasks import TASKS

OURS_TOO = ("quick", "slalom", "slalom-ana")  # piste's other methods
VERSIONS = ("piste", "numpy", "scipy", "torch", "transformers", "openvino")
HEADLINES = (  # the first ROWS of them that were measured
    ("what the model says of parts of a question (R² ↑)", "trec", "r2"),
    ("Shapley values of a question (relative error ↓)", "trec", "shapley"),
    ("what the model says of parts of a review (R² ↑)", "yelp", "r2"),
    ("the words of a review that decide, two layers (deletion ↑)", "embedded", "deletion"),
    ("the words of a sentence that people marked (AUROC ↑)", "people", "people"),
    ("interactions in a question (correlation ↑)", "trec", "interactions"),
    ("what the model says of parts of a review, two layers (R² ↑)", "embedded", "r2"),
    ("Shapley values of a review (relative error ↓)", "embedded", "shapley"),
    ("what a few words removed change in a review (error ↓)", "embedded", "removals"),
    ("what the model says of parts of a sentence (R² ↑)", "people", "r2"),
)
ROWS = 6
USUAL = 300  # forward passes: what more of them buy has a table of its own
PAGE, PICTURES, FRONT = "docs/benchmarks.md", "docs/images", "benchmark.png"
SECTIONS = (
    "facts",
    "headlines",
    *(f"{task}, {absence}" for task in TASKS for absence in BOTH),
    "times",
)
SHOWN = ("r2", "shapley", "interactions", "deletion", "insertion", "people")


def write(lines: Sequence[dict[str, Any]], root: Path, readme: bool) -> None:
    """The page and its pictures under `root`, and the README's part.

    Sections of what these lines do not tell of stay as they are.
    """
    results = Results(lines)
    pictures, page = root / PICTURES, root / PAGE
    pictures.mkdir(parents=True, exist_ok=True)
    if not page.exists():
        page.write_text(blank(), encoding="utf-8")
    if measured_times := times.section():
        fill(page, "times", measured_times)
    if not results.figures:
        print("no quality was measured yet")
        return
    fill(page, "facts", _facts())
    for task, absence in results.games():
        fill(page, f"{task}, {absence}", _game(results, task, absence, pictures))
    if not readme or {task for _, task, _ in HEADLINES[:ROWS]} <= results.tasks():
        _front(results, pictures / FRONT)
        fill(page, "headlines", _headlines(results, "images/"))
        if readme:
            fill(root / "README.md", "benchmark", _headlines(results, f"{PICTURES}/"))
    else:
        print("the headlines stay: not all of their tasks were measured here")
    print(f"wrote {page}")


def blank() -> str:
    """A page with nothing between its markers."""
    return "\n\n".join(between(name, "") for name in SECTIONS) + "\n"


def fill(page: Path, name: str, content: str, writer: str = "peers.py") -> None:
    """Replace what stands between a page's markers."""
    text = page.read_text("utf-8")
    begin, end = markers(name, writer)
    if begin not in text or end not in text:
        raise SystemExit(f"{page} has no markers {begin} and {end}.")
    before, after = text.split(begin)[0], text.split(end, 1)[1]
    page.write_text(before + between(name, content, writer) + after, encoding="utf-8")


def markers(name: str, writer: str = "peers.py") -> tuple[str, str]:
    return f"<!-- {name}: written by benchmarks/{writer} -->", f"<!-- end of {name} -->"


def between(name: str, content: str, writer: str = "peers.py") -> str:
    begin, end = markers(name, writer)
    return f"{begin}\n\n{content.strip()}\n\n{end}"


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    name = found[1] if found else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}"


def _facts() -> str:
    ours = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    peers = environments.peer_versions(environments.peers_python())
    theirs = ", ".join(f"{name} {number}" for name, number in peers.items())
    return (
        f"* piste's environment: Python {platform.python_version()}, {ours}.\n"
        f"* The peers' environment: {theirs}."
    )


def _headlines(results: Results, folder: str) -> str:
    """One plot and six rows, at equal cost; whoever is best of the others is named."""
    header = ("at 70 forward passes", "texts", "piste", "shap Kernel", "lime", "best of the others")
    rows = [row for title, *what in HEADLINES if (row := _headline(results, title, *what))][:ROWS]
    if not rows:
        return "Not measured yet: `make bench`."
    plot = f"![Quality against forward passes, piste context and its peers]({folder}{FRONT})"
    note = (
        "Medians over texts (interactions, deletion and AUROC: means). The lead is piste's on the"
        " same texts, with its 95 % interval, bold where that leaves out 0. Below 0 the other is"
        " better."
    )
    return f"{plot}\n\n{table((*header, 'lead over it'), rows)}\n\n{note}"


def _headline(results: Results, title: str, task: str, measure: str) -> list[str] | None:
    points = {point.contender: point for point in results.at_equal_cost(task, DELETE)}
    if OURS not in points or results.estimate(points[OURS], measure) is None:
        return None
    own = points[OURS]
    rivals = [p for name, p in points.items() if name not in (OURS, *OURS_TOO)]
    leads = {
        point: lead
        for point in rivals
        if (lead := results.difference(own, point, measure)) is not None
        and 2 * lead.texts > len(results.values(own, measure))
    }
    if not leads:
        return None
    best = min(leads, key=lambda point: leads[point].value)
    common = set(results.values(own, measure)) & set(results.values(best, measure))
    kept = [line for line in results.lines if line["text"] in common and line["task"] == task]
    results = Results(kept)  # everybody on the same texts
    cells = [title, str(leads[best].texts), _plain(results, own, measure)]
    cells += [_plain(results, points.get(name), measure) for name in ("shap-kernel", "lime")]
    shown = f"{CONTENDERS[best.contender].title} {_plain(results, best, measure)}"
    return [*cells, shown, difference(leads[best])]


def _plain(results: Results, point: Point | None, measure: str) -> str:
    found = None if point is None else results.estimate(point, measure)
    return "–" if found is None else number(found.value)


def _front(results: Results, path: Path) -> None:
    wanted = (
        ("trec", "r2", "questions, 6 layers"),
        ("yelp", "r2", "reviews, 6 layers"),
        ("trec", "shapley", "questions, 6 layers"),
        ("embedded", "shapley", "reviews, 2 layers"),
        ("embedded", "deletion", "reviews, 2 layers"),
    )
    panels = [
        (task, DELETE, measure, f"{title}, {results.texts(task, DELETE)} texts")
        for task, measure, title in wanted
        if plots.curve(results, task, DELETE, OURS, measure)
    ]
    if panels:
        plots.curves(results, panels[:3], path, plots.FRONT)


def _game(results: Results, task: str, absence: str, pictures: Path) -> str:
    """Everything of one task under one absence."""
    gone = "absent words deleted" if absence == DELETE else "absent words masked"
    count = results.texts(task, absence)
    title = f"{TASKS[task].title}: {gone}"
    panels = [
        (task, absence, measure, MEASURES[measure].title)
        for measure in SHOWN
        if plots.curve(results, task, absence, OURS, measure)
    ]
    measured_on = f"written on {date.today().isoformat()}; {machine()}"
    blocks = [f"### {title[0].upper()}{title[1:]}", f"{count} texts; {measured_on}."]
    if panels:
        name = f"benchmark-{task}-{absence}.png"
        plots.curves(results, panels, pictures / name)
        blocks.append(f"![{title}: every measure against forward passes](images/{name})")
    equal = results.at_equal_cost(task, absence)
    own = next((point for point in equal if point.contender == OURS), None)
    if own is not None:
        at_equal = f"At {EQUAL} forward passes, or at a default that is no dearer:"
        blocks += [at_equal, figures(results, equal)]
        lead = "How far piste context is ahead of each there, on the same texts"
        blocks.append(folded(lead, leads(results, own, equal)))
    defaults = [point for point in results.points(task, absence) if not point.passes]
    blocks.append(folded("Everybody at their defaults", figures(results, defaults)))
    dear = max((point.passes for point in results.points(task, absence)), default=0)
    if dear > USUAL:
        many = [point for point in results.points(task, absence) if point.passes == dear]
        blocks.append(folded(f"At {dear:,} forward passes", figures(results, many)))
    blocks.append(_problems(results, task, absence))
    return "\n\n".join(block for block in blocks if block)


def folded(title: str, content: str) -> str:
    """To be opened by a click, on GitHub and on the site."""
    opening = f'<details markdown="1"><summary>{title}</summary>'
    return f"{opening}\n\n{content}\n\n</details>" if content else ""


def measured(results: Results, points: Sequence[Point]) -> list[str]:
    """The measures that any of the points has."""
    return [name for name in MEASURES if any(results.values(point, name) for point in points)]


def figures(results: Results, points: Sequence[Point]) -> str:
    names = measured(results, points)
    header = ("explainer", "texts", "passes", *(MEASURES[name].arrow for name in names))
    rows = [
        [
            CONTENDERS[point.contender].title,
            str(len(results.figures[point])),
            number(results.spent(point)),
            *(interval(results.estimate(point, name)) for name in names),
        ]
        for point in points
    ]
    return table(header, rows) if rows else ""


def leads(results: Results, own: Point, points: Sequence[Point]) -> str:
    names = measured(results, points)
    header = ("piste context against", *(MEASURES[name].title for name in names))
    rows = [
        [
            CONTENDERS[point.contender].title,
            *(difference(results.difference(own, point, name)) for name in names),
        ]
        for point in points
        if point != own
    ]
    return table(header, rows) if rows else ""


def _problems(results: Results, task: str, absence: str) -> str:
    problems = results.problems(task, absence)
    listed = "\n".join(f"* {problem}" for problem in sorted(problems))
    return f"Missing, and why:\n\n{listed}" if problems else ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def interval(found: Estimate | None) -> str:
    if found is None:
        return "–"
    if found.texts < 2:
        return f"{number(found.value)} (one text)"
    return f"{number(found.value)} [{number(found.low)}, {number(found.high)}]"


def difference(found: Estimate | None) -> str:
    if found is None:
        return "–"
    signed = [number(value, "+") for value in (found.value, found.low, found.high)]
    shown = f"{signed[0]} [{signed[1]}, {signed[2]}]"
    return f"**{shown}**" if found.is_sure else shown


def number(value: float, sign: str = "") -> str:
    """Three decimals, fewer of large numbers; with a true minus."""
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    digits = 3 if abs(value) < 1 else digits
    return f"{value:{sign},.{digits}f}".replace("-", "−")
