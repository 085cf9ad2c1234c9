"""The benchmark against peers in one command: quality and cost of every explainer.

    python benchmarks/peers.py --data yelp_hat/hat.jsonl.gz --train yelp/train.jsonl.gz

Makes the peers' environment and the MiniLM when they are missing, runs each explainer in a process
of its own, judges all explanations alike, writes benchmarks/RESULTS.md and its plots. Under an
hour; with --quick a few minutes, and the page goes to the --out folder. A second run goes on
where the first one stopped, except that piste is always run anew.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import environments
import report
import schedule
import texts
from protocol import STEPS, Judge
from summary import Row, summarise

import piste

HERE = Path(__file__).resolve().parent
EMBEDDED_SHARE = 0.12  # of the minutes, for the small model
QUICK_MINUTES, QUICK_TEXTS, QUICK_STEPS = 2.0, 2, 15


@dataclass(frozen=True)
class Bench:
    """One model and the reviews to explain."""

    name: str
    title: str
    model: Path
    runs: Callable[[int, float], list[schedule.Run]]
    minutes: float
    out: Path
    pythons: dict[str, Path]
    steps: int


def main() -> None:
    options = _options()
    hat, train = _data(options)
    out = options.out / ("quick" if options.quick else "full")
    pythons = {"piste": Path(sys.executable), "peers": environments.peers_python()}
    minilm = environments.minilm(train)
    rows = texts.mixed(texts.read(hat), QUICK_TEXTS if options.quick else options.texts)
    sections = [section(bench, rows) for bench in _benches(options, minilm, out, pythons)]
    page = out / "RESULTS.md" if options.quick else HERE / "RESULTS.md"
    report.write(
        report.Report(
            command=_command(options),
            peers=environments.peer_versions(pythons["peers"]),
            steps=QUICK_STEPS if options.quick else STEPS,
            sections=sections,
            extras=_extras(minilm, hat, options.quick),
            note=options.note,
        ),
        page,
    )
    print(f"wrote {page}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two texts, few samples")
    parser.add_argument("--data", type=Path, help="hat.jsonl.gz, or the folder above yelp_hat")
    parser.add_argument("--train", type=Path, help="yelp/train.jsonl.gz, if there is no MiniLM yet")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="for what each run says")
    parser.add_argument("--minutes", type=float, default=28, help="for all explainers together")
    parser.add_argument("--note", default="", help="a remark on this run, for the page")
    parser.add_argument("--texts", type=int, default=30, help="the most reviews")
    return parser.parse_args()


def _data(options: argparse.Namespace) -> tuple[Path, Path | None]:
    """The reviews to explain and those to train on."""
    given = options.data or Path(os.environ.get("PISTE_DATA", "data"))
    hat, train = given, options.train
    if given.is_dir():
        hat = next((p for p in (given / "yelp_hat", given) if (p / "hat.jsonl.gz").exists()), given)
        hat = hat / "hat.jsonl.gz"
        beside = given / "yelp" / "train.jsonl.gz"
        train = train or (beside if beside.exists() else None)
    if not hat.exists():
        sys.exit(f"There is no {hat}: give --data with JSON lines of id and text (and subset).")
    return hat, train


def _benches(
    options: argparse.Namespace, minilm: Path, out: Path, pythons: dict[str, Path]
) -> list[Bench]:
    minutes = min(options.minutes, QUICK_MINUTES) if options.quick else options.minutes
    common = {"pythons": pythons, "steps": QUICK_STEPS if options.quick else STEPS}
    demo = Path(piste.__file__).parent / "models" / "demo"
    large = schedule.quick if options.quick else schedule.full
    small = schedule.quick_embedded if options.quick else schedule.full_embedded
    return [
        Bench(
            name="minilm",
            title="MiniLM: 6 layers, 384 wide, fine-tuned on Yelp",
            model=minilm,
            runs=large,
            minutes=minutes * (1 - EMBEDDED_SHARE),
            out=out / f"minilm-{texts.fingerprint(minilm)}",
            **common,
        ),
        Bench(
            name="embedded",
            title="The embedded model: 2 layers, 96 wide, trained on IMDB",
            model=demo,
            runs=small,
            minutes=minutes * EMBEDDED_SHARE,
            out=out / f"embedded-{texts.fingerprint(demo)}",
            **common,
        ),
    ]


def section(bench: Bench, rows: list[dict]) -> report.Section:
    """Run everybody on one model, judge, summarise."""
    bench.out.mkdir(parents=True, exist_ok=True)
    classifier = piste.load(bench.model)
    chosen = texts.with_targets(rows, classifier)
    (bench.out / "texts.json").write_text(json.dumps(chosen), encoding="utf-8")
    judges = {
        row["id"]: Judge(classifier, row["text"], row["target"], bench.steps) for row in chosen
    }
    _run(bench, schedule.FIRST, schedule.FIRST.seconds)
    budget = _equal_budget(_lines(bench, schedule.FIRST), judges)
    runs = bench.runs(budget, bench.minutes)
    for run, seconds in schedule.scaled(runs, bench.minutes):
        _run(bench, run, seconds)
    return _judged(bench, [schedule.FIRST, *runs], judges)


def _run(bench: Bench, run: schedule.Run, seconds: float) -> None:
    """One contender in its own process; what it prints goes to a file beside its results."""
    out = bench.out / f"{run.key}.jsonl"
    if run.contender.environment == "piste":
        out.unlink(missing_ok=True)  # the code under test may have changed
    command = [bench.pythons[run.contender.environment], HERE / "contender.py", run.name]
    command += ["--model", bench.model, "--texts", bench.out / "texts.json", "--out", out]
    started = time.monotonic()
    with (bench.out / f"{run.key}.log").open("w") as log:
        done = subprocess.run(
            [*map(str, command), "--seconds", f"{seconds:.0f}", *run.options],
            stdout=log,
            stderr=log,
            env=os.environ | {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"},
            check=False,
        )
    said = f"{len(_lines(bench, run))} texts" if done.returncode == 0 else f"failed, see {log.name}"
    print(f"{bench.name} {run.key}: {said}, {time.monotonic() - started:.0f} s", flush=True)


def _lines(bench: Bench, run: schedule.Run) -> list[dict]:
    path = bench.out / f"{run.key}.jsonl"
    return (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    )


def _equal_budget(lines: list[dict], judges: dict[str, Judge]) -> int:
    """What piste's defaults cost on these texts, in forward equivalents."""
    spent = [line["tokens"] / judges[line["id"]].length for line in lines if "error" not in line]
    if not spent:
        sys.exit("piste itself explained nothing: see its log in the --out folder.")
    return round(sum(spent) / len(spent))


def _judged(bench: Bench, runs: list[schedule.Run], judges: dict[str, Judge]) -> report.Section:
    started = time.monotonic()
    figures = {run.key: _figures(_lines(bench, run), judges) for run in runs}
    (bench.out / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    print(f"{bench.name}: judged in {time.monotonic() - started:.0f} s", flush=True)
    found: list[Row] = []
    problems = []
    for run in runs:
        errors = [line["error"] for line in _lines(bench, run) if "error" in line]
        row = summarise(run.title, figures[run.key], figures[schedule.FIRST.key], len(errors))
        found += [row] if row else []
        problems += [] if row else [f"{run.title}: no explanation. {_last_words(bench, run)}"]
        problems += [f"{run.title} failed: {error}" for error in sorted(set(errors))]
    return report.Section(bench.name, bench.title, found, problems)


def _last_words(bench: Bench, run: schedule.Run) -> str:
    printed = (bench.out / f"{run.key}.log").read_text("utf-8", errors="replace").split("\n")
    return next((line for line in reversed(printed) if "Error" in line), "")[:300]


def _figures(lines: list[dict], judges: dict[str, Judge]) -> dict[str, dict[str, float]]:
    """Of every text that was explained."""
    return {
        line["id"]: judges[line["id"]].figures(line)
        | {"seconds": line["seconds"], "sequences": line["sequences"]}
        for line in lines
        if "error" not in line and line["id"] in judges
    }


def _extras(minilm: Path, hat: Path, quick: bool) -> dict[str, str]:
    """What the other benchmarks print."""
    less = ["--repeat", "1"] if quick else []
    rows = ["--rows", "1000", "--players", "50"] if quick else []
    throughput = partial(_printed, "throughput.py", *less)
    agreement = partial(_printed, "agreement.py", "--data", str(hat))
    few = ["--texts", "2"] if quick else []
    return {
        "Agreement with the MiniLM": agreement("--model", str(minilm), *few),
        "Agreement with the embedded model": agreement(*few),
        "Tokens a second, MiniLM": throughput("--model", str(minilm)),
        "Tokens a second, embedded model": throughput(),
        "Seconds of a fit": _printed("fit.py", *less, *rows),
    }


def _printed(script: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, HERE / script, *options], capture_output=True, text=True, check=False
    )
    print(f"{script}: {'done' if done.returncode == 0 else done.stderr[-500:]}", flush=True)
    return done.stdout


def _command(options: argparse.Namespace) -> str:
    """As typed, with paths cut to their ends."""
    parts = ["python benchmarks/peers.py"]
    parts += ["--quick"] if options.quick else []
    for name in ("data", "train"):
        path = getattr(options, name)
        parts += [f"--{name} {_end(path)}"] if path else []
    return " ".join([*parts, f"--minutes {options.minutes:g} --texts {options.texts}"])


def _end(path: Path) -> str:
    return path.name if path.is_dir() else "/".join(path.parts[-2:])


if __name__ == "__main__":
    main()
