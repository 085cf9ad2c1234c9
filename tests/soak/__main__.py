"""`python -m tests.soak`: try everything, store every batch, print one table.

Interrupted, it goes on where it stopped. Loopback only; every case is bounded by count and time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from tests.soak.harness import run_case
from tests.soak.ledger import Ledger
from tests.soak.processes import forked, preload
from tests.soak.stages import CASES, STAGES
from tests.soak.table import Row, caption, markdown, update_page

COMPILING = 180.0  # seconds


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    names = f"only this: {', '.join(STAGES)}, or a case such as kills/run; repeatable"
    parser.add_argument("--stage", action="append", default=[], metavar="NAME", help=names)
    parser.add_argument("--scale", type=float, default=1.0, help="0.01 for a quick try")
    parser.add_argument("--fresh", action="store_true", help="forget what was stored")
    parser.add_argument("--folder", type=Path, default=Path(".soak"), help="for results")
    parser.add_argument("--page", type=Path, help="put the table there (at scale 1 only)")
    given = parser.parse_args()
    known = {*STAGES, *(case.key for case in CASES)}
    if unknown := [name for name in given.stage if name not in known]:
        parser.error(f"there is no stage {unknown[0]}: {', '.join(sorted(known))}")
    if not 0 < given.scale <= 1:
        parser.error("--scale is above 0 and at most 1")
    return given


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def isolate(folder: Path) -> None:
    """Nothing outside the folder is written to, and no hub is asked."""
    os.environ["PISTE_CACHE"] = str(folder / "cache")
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.pop("OPENAI_API_KEY", None)


def compile_model(folder: Path) -> None:
    """Convert the embedded model once, so that no trial is spent on it."""
    command = forked(["explain", "A warm-up."], folder / "warm-up.log")
    if command.wait(COMPILING) != 0:
        command.clear()
        raise SystemExit(f"piste cannot explain a text here: {command.output[-500:]}")


def main() -> int:
    if not sys.platform.startswith("linux"):
        raise SystemExit("The soak counts processes by /proc: it needs Linux.")
    given = arguments()
    folder = given.folder.resolve()
    if given.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    isolate(folder)
    chosen = [c for c in CASES if not given.stage or {c.stage, c.key} & set(given.stage)]
    ledger = Ledger(folder / "results", given.scale)
    preload()
    compile_model(folder)
    say("Seeds: input n of a fuzz case has seed n, batch n of the others seed 1000003 (n + 1).")
    for case in chosen:
        run_case(case, ledger, folder / "work", say)
    rows = [Row.of(case, ledger) for case in CASES if case in chosen or not given.stage]
    table = markdown(rows)
    (folder / "table.md").write_text(f"{caption()}\n\n{table}", encoding="utf-8")
    say(f"\n{caption()}\n\n{table}")
    if given.page is not None and given.scale == 1:
        update_page(given.page, [Row.of(case, ledger) for case in CASES], caption())
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
