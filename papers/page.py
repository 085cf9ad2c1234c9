"""Bring the results of `python -m papers run` into docs/reproduction.md.

    python -m papers.page RESULTS

RESULTS is the --out folder of the runs. Items that were run anew replace theirs on the page, the
others stay as they are. Pictures go to docs/images/reproduction/.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

from papers.experiments import EXPERIMENTS
from papers.experiments.files import Spent, markdown
from papers.tables import Table

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = Path("images") / "reproduction"  # in docs/
HEAD = """# The papers' tables and figures, reproduced

In a clone of piste, `python -m papers run NAME --data FOLDER --out DIR` makes each of them by one
command (`python -m papers list` names them), ours beside the paper's, with settings, seed and plot.
Paper A is *Attention Mechanisms Don't Learn Additive Models* (arXiv 2405.13536), paper B *Attention
Meets Post-hoc Interpretability* (arXiv 2402.03485).

What follows was measured at `--scale small`: minutes on two cores, models of the real
`transformers` classes but few layers, few texts. So read directions, not digits. `--scale paper`
has the papers' sizes and starts from the hub's checkpoints; it was not run here, but for paper B's
model, which is trained as the paper says at every scale above `tiny`. Intervals are 95 % bootstrap
intervals over texts. In all comparisons there is one target (the predicted class), one
scale (log-odds), the special tokens are always there, and methods get equal numbers of samples:
the public code of paper A compared otherwise, and where that changes a conclusion the item says
so.

Seconds were taken while other work ran, and models are trained once and kept, so that the first
item that needs one pays for it. This page is made by `python -m papers.page` from the results of
the commands. Items that name no processor time are of version 0.1.0 (multi-removal: 0.2.0).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    update(DOCS, parser.parse_args().results)


def update(docs: Path, results: Path) -> None:
    """Replace the items that have results; the page stays in the order of the experiments."""
    page = docs / "reproduction.md"
    items = read_items(page.read_text(encoding="utf-8")) if page.exists() else {}
    (docs / PICTURES).mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS:
        if (results / name / "result.json").exists():
            for old in re.findall(r"\]\((images/reproduction/[^)]+)\)", items.get(name, "")):
                (docs / old).unlink(missing_ok=True)
            items[name] = section(name, results / name, docs)
    parts = [HEAD, *(items[name] for name in EXPERIMENTS if name in items)]
    page.write_text("\n".join(parts), encoding="utf-8")


def read_items(page: str) -> dict[str, str]:
    """The items of a page by name, each as `section` made it."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {part[3:].partition(":")[0]: part.rstrip("\n") + "\n\n" for part in parts}


def section(name: str, folder: Path, docs: Path) -> str:
    """One experiment: command, tables, findings, pictures, settings."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    experiment = EXPERIMENTS[name]
    data = " --data FOLDER" if experiment.data else ""
    tables = [markdown(Table(t["title"], t["columns"], t["rows"])) for t in result["tables"]]
    pictures = [picture(name, path, docs) for path in sorted(folder.glob("*.png"))]
    findings = "\n".join(f"* {sentence}" for sentence in result["findings"])
    settings = ", ".join(f"{key} {value}" for key, value in result["settings"].items())
    return "\n\n".join(
        [
            f"## {name}: {experiment.what}",
            f"Paper {experiment.source}. `python -m papers run {name}{data} --out DIR`,"
            f" {Spent(result['seconds'], result['processor_seconds'])}, seed {result['seed']}.",
            *tables,
            findings,
            *pictures,
            f"Settings: {settings}.",
            "",
        ]
    )


def picture(name: str, path: Path, docs: Path) -> str:
    kept = PICTURES / f"{name}-{path.name}"
    shutil.copyfile(path, docs / kept)
    return f"![{name}, {path.stem}]({kept.as_posix()})"


if __name__ == "__main__":
    main()
