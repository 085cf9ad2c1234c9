"""The benchmark against peers: quality by forward passes of every explainer, with intervals.

    python benchmarks/peers.py --data FOLDER                 # 20 texts of every task
    python benchmarks/peers.py --data FOLDER --scale full    # every budget everywhere: hours
    python benchmarks/peers.py --data FOLDER --scale short   # 20 texts of each headline
    python benchmarks/peers.py --data FOLDER --quick         # every library once, five minutes
    python benchmarks/peers.py --report                      # the pages, from what there is

FOLDER holds trec/, yelp/, snli/, sst/ and rationales/ (JSON lines). Every library runs in a process
of its own; text by text all of them explain the same words, log-odds and target, and one judge
tries the explanations. Results are kept text by text in --out, and whatever is there is not
measured again (of piste only what this very code has measured). Stop it whenever you like.
Writes docs/benchmarks.md with its plots, and the README's table; with --quick only a page in --out.
"""

import argparse
import ast
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import environments
import report
from contenders import BOTH, CONTENDERS, DELETE, ENVIRONMENTS, OPTIONAL
from contenders.base import Game, TorchModel, read_answers, write_answers
from judge import Judge
from tasks import TASKS, model_folder
from workers import Worker

import piste

HERE = Path(__file__).resolve().parent
CODE = ("surrogates", "methods", "design", "text")  # rooms that piste's own figures depend on


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    texts: int  # of every task
    tasks: dict[str, tuple[int, ...]]  # the forward passes that are tried, beside the defaults
    masked: tuple[str, ...] = ()  # tasks where absent words are masked too, besides deleted
    sampled: tuple[str, ...] = ()  # tasks of long texts whose Shapley values are estimated
    costly: tuple[str, ...] = ()  # tasks with defaults too that ask for thousands of parts

    def games(self, task: str) -> tuple[str, ...]:
        return BOTH if task in self.masked else (DELETE,)


EVERY, SAMPLES = tuple(TASKS), 20_000  # parts that Shapley values of long texts are estimated from
LADDER = (10, 20, 40, 70, 150, 300, 1000, 3000)
SCALES = {
    "full": Scale(24, dict.fromkeys(TASKS, LADDER), EVERY, EVERY, EVERY),
    "usual": Scale(
        20,
        {
            "trec": (10, 20, 40, 70, 150, 300),
            "yelp": (20, 70, 300),
            "people": (20, 70),
            "sst": (20, 70, 300),
            "snli": (20, 70, 300),
            "embedded": (10, 20, 70, 300, 1000, 3000),
            "decoder": (20, 70, 300),
        },
        masked=("trec", "sst"),
        sampled=("embedded",),
        costly=("embedded",),
    ),
    "short": Scale(
        20,
        {"trec": (20, 70, 300), "embedded": (20, 70, 300), "people": (70,)},
        sampled=("embedded",),
    ),
    "quick": Scale(2, {"trec": (20, 70), "people": (70,)}),
}


@dataclass(frozen=True)
class Job:
    """One text in one game, and what is still to be run on it."""

    task: str
    absence: str
    row: dict[str, Any]
    runs: tuple[tuple[str, int | None], ...]  # contender, passes (None: its default)


@dataclass
class Bench:
    """The state of one benchmark: what is known, and who can find out more."""

    out: Path
    data: Path
    scale: Scale
    logs: Path
    codes: dict[str, str] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    models: dict[str, TorchModel] = field(default_factory=dict)

    def do(self, job: Job) -> None:
        """Have all contenders explain one text, and judge what they say."""
        folder = str(model_folder(TASKS[job.task].model, self.data))
        if folder not in self.models:
            self.models[folder] = TorchModel(folder)
        path = self.out / "answers" / job.task / file_of(job.row, job.absence)
        game = Game(job.row, self.models[folder], job.absence, read_answers(path))
        judge = Judge(game, SAMPLES if job.task in self.scale.sampled else 0)
        plain = {"model": folder, "absence": job.absence, "row": job.row, "answers": str(path)}
        plain["parts"] = judge.parts.astype(int).tolist()
        if judge.samples or TASKS[job.task].exact:
            _ = judge.shapley  # answered before anybody asks
        write_answers(path, game.answers)
        for library, runs in by_library(job.runs).items():
            wanted = [{"contender": name, "passes": passes} for name, passes in runs]
            lines = self._worker(library).ask(plain | {"runs": wanted})
            game.answers.update(read_answers(path))
            self._keep(job, [self._judged(line, judge) for line in lines])
            write_answers(path, game.answers)

    def _worker(self, library: str) -> Worker:
        if library not in self.workers:
            python = environments.python_of(ENVIRONMENTS[library])
            self.workers[library] = Worker(library, python, self.logs)
        return self.workers[library]

    @staticmethod
    def _judged(line: dict[str, Any], judge: Judge) -> dict[str, Any]:
        if "scores" not in line:
            return line
        kept = {name: line[name] for name in ("contender", "passes", "spent", "seconds")}
        return kept | {"figures": judge.figures(line)}

    def _keep(self, job: Job, lines: list[dict[str, Any]]) -> None:
        known = {"task": job.task, "absence": job.absence, "text": job.row["id"]}
        known["words"] = len(job.row["words"])
        rows = [known | {"code": self.code(line["contender"])} | line for line in lines]
        written = "".join(json.dumps(row) + "\n" for row in rows)
        with (self.out / "results.jsonl").open("ab", buffering=0) as out:
            out.write(written.encode())  # at once: another run may write there too

    def code(self, contender: str) -> str:
        """Of what a figure depends on beside the text: for piste, its own code."""
        library = CONTENDERS[contender].library
        if library not in self.codes:
            files = [HERE / "judge.py", HERE / "contender.py"]
            files += [HERE / "contenders" / name for name in ("base.py", f"with_{library}.py")]
            if library == "piste":
                home = Path(piste.__file__).parent
                files += [file for room in CODE for file in sorted((home / room).rglob("*.py"))]
            self.codes[library] = digest("".join(essence(file) for file in files))
        return self.codes[library]

    def lines(self) -> list[dict[str, Any]]:
        """What this code has measured; a last line that was cut off is none."""
        path = self.out / "results.jsonl"
        written = path.read_text("utf-8").splitlines() if path.exists() else []
        rows = [json.loads(line) for line in written if line.endswith("}")]
        return [row for row in rows if row["code"] == self.code(row["contender"])]

    def close(self) -> None:
        for worker in self.workers.values():
            worker.close()


def main() -> None:
    options = _options()
    scale = chosen_scale(options)
    out = options.out / "quick" if options.quick else options.out
    out.mkdir(parents=True, exist_ok=True)
    bench = Bench(out, options.data, scale, out / "logs")
    if not options.report:
        try:
            measure(bench, options)
        except KeyboardInterrupt:
            print("\nstopped; the next run goes on from here", file=sys.stderr)
        finally:
            bench.close()
    root = out if options.quick or options.texts else HERE.parent
    report.write(bench.lines(), root, readme=root == HERE.parent)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--scale", choices=list(SCALES), default="usual")
    parser.add_argument("--quick", action="store_true", help="two texts: does all of it work?")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the pages")
    parser.add_argument("--texts", type=int, help="fewer texts; the page then goes to --out")
    parser.add_argument("--passes", type=int, nargs="+", help="these points of the curves")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no text after")
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS), help="these contenders")
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), help="these texts and models")
    parser.add_argument("--absences", nargs="*", choices=BOTH, default=BOTH)
    parser.add_argument("--with", nargs="*", dest="also", choices=OPTIONAL, default=[])
    parser.add_argument("--out", type=Path, default=HERE / "results" / "peers")
    return parser.parse_args()


def chosen_scale(options: argparse.Namespace) -> Scale:
    scale = SCALES["quick" if options.quick else options.scale]
    if not options.passes:
        return scale
    return replace(scale, tasks=dict.fromkeys(scale.tasks, tuple(options.passes)))


def measure(bench: Bench, options: argparse.Namespace) -> None:
    """All jobs, the first text of every task first, so that a run can end at any time."""
    lines = bench.lines()
    jobs = list(planned(bench, options, lines))
    left = estimate(jobs, lines)
    print(f"{len(jobs)} games of a text to play, about {left / 60:.0f} minutes", flush=True)
    started = time.monotonic()
    for done, job in enumerate(jobs, start=1):
        if time.monotonic() - started > 60 * options.minutes:
            print(f"{options.minutes:g} minutes are over")
            return
        bench.do(job)
        minutes = (time.monotonic() - started) / 60
        print(
            f"{done}/{len(jobs)} {job.task} {job.absence}: {minutes:.1f} minutes, about"
            f" {minutes / done * (len(jobs) - done):.0f} to go",
            flush=True,
        )


def planned(
    bench: Bench, options: argparse.Namespace, lines: list[dict[str, Any]]
) -> Iterator[Job]:
    """What is not known yet."""
    scale = bench.scale
    known = {
        (line["task"], line["absence"], line["text"], line["contender"], line["passes"])
        for line in lines
    }
    count = options.texts or scale.texts
    wanted = [name for name in scale.tasks if not options.tasks or name in options.tasks]
    rows = {name: list(TASKS[name].rows(options.data, count)) for name in wanted}
    for index in range(count):
        for task, texts in rows.items():
            for absence in scale.games(task):
                if index < len(texts) and absence in options.absences:
                    key = (task, absence, texts[index]["id"])
                    every = runs(scale, task, absence, options.only, options.also)
                    left = tuple(run for run in every if (*key, *run) not in known)
                    if left:
                        yield Job(task, absence, texts[index], left)


def runs(
    scale: Scale, task: str, absence: str, only: list[str] | None, also: list[str]
) -> Iterator[tuple[str, int | None]]:
    """Contenders with the budgets that each takes, the defaults first."""
    for name, contender in CONTENDERS.items():
        chosen = name in only if only else name not in OPTIONAL or name in also
        if not chosen or absence not in contender.absences:
            continue
        if contender.default and (task in scale.costly or not contender.is_costly):
            yield name, None
        for passes in scale.tasks[task]:
            if passes <= contender.most and passes in (contender.points or (passes,)):
                yield name, passes


def by_library(
    wanted: tuple[tuple[str, int | None], ...],
) -> dict[str, list[tuple[str, int | None]]]:
    found: dict[str, list[tuple[str, int | None]]] = {}
    for name, passes in wanted:
        found.setdefault(CONTENDERS[name].library, []).append((name, passes))
    return found


GUESS = 0.012  # seconds of a forward pass of a hundred tokens, where nothing was measured yet
JUDGED = 50  # forward passes that judging one explanation takes, about
DEFAULT_PASSES = 500


def estimate(jobs: list[Job], lines: list[dict[str, Any]]) -> float:
    """Seconds: by what the same took before, else by forward passes."""
    taken: dict[tuple[str, str, int | None], list[float]] = {}
    for line in lines:
        if "seconds" in line:
            key = (line["task"], line["contender"], line["passes"])
            taken.setdefault(key, []).append(line["seconds"])
    total = 0.0
    for job in jobs:
        each = GUESS * (len(job.row["words"]) + 3) / 80
        for name, passes in job.runs:
            seen = taken.get((job.task, name, passes))
            guess = each * (DEFAULT_PASSES if passes is None else passes)
            total += (sum(seen) / len(seen) if seen else guess) + each * JUDGED
    return total


def essence(file: Path) -> str:
    """A program without comments and docstrings: other words in them measure nothing anew."""
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        owner = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if owner and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def file_of(row: dict[str, Any], absence: str) -> str:
    """Where a game's answers are kept."""
    return f"{absence}-{digest(row['text'])}.npz"


def digest(content: str | bytes) -> str:
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:12]


if __name__ == "__main__":
    main()
