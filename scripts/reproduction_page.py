"""Collect the results of `piste reproduce` into docs/reproduction.md.

    python scripts/reproduction_page.py RESULTS

RESULTS is the --out folder of the runs. Pictures go to docs/images/reproduction/.
"""

import argparse
import json
import shutil
from pathlib import Path

from piste.experiments import EXPERIMENTS
from piste.experiments.report import markdown
from piste.theory.report import Table

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "images" / "reproduction"
HEAD = """# The papers' tables and figures, made anew

`piste reproduce NAME --data FOLDER --out DIR` makes each of them by one command (`--list` names
them), ours beside the paper's, with settings, seed and plot. Paper A is *Attention Mechanisms
Don't Learn Additive Models* (arXiv 2405.13536), paper B *Attention Meets Post-hoc
Interpretability* (arXiv 2402.03485).

What follows was measured at `--scale small`: minutes on two cores, models of the real
`transformers` classes but few layers, few texts. So read directions, not digits. `--scale paper`
has the papers' sizes and starts from the hub's checkpoints; it was not run here. Intervals are 95
% bootstrap intervals over texts. In all comparisons there is one target (the predicted class), one
scale (log-odds), the special tokens are always there, and methods get equal numbers of samples:
the public code of paper A compared otherwise, and where that changes a conclusion the item says
so.

Seconds were taken while other work ran, and models are trained once and kept, so that the first
item that needs one pays for it. This page is made by `scripts/reproduction_page.py` from the
results of the commands.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    results = parser.parse_args().results
    PICTURES.mkdir(parents=True, exist_ok=True)
    parts = [HEAD, *(section(name, results / name) for name in EXPERIMENTS)]
    (DOCS / "reproduction.md").write_text("\n".join(parts), encoding="utf-8")


def section(name: str, folder: Path) -> str:
    """One experiment: command, tables, findings, pictures, settings."""
    found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    experiment = EXPERIMENTS[name]
    data = " --data FOLDER" if experiment.data else ""
    tables = [markdown(Table(t["title"], t["columns"], t["rows"])) for t in found["tables"]]
    pictures = [picture(name, path) for path in sorted(folder.glob("*.png"))]
    findings = "\n".join(f"* {sentence}" for sentence in found["findings"])
    settings = ", ".join(f"{key} {value}" for key, value in found["settings"].items())
    return "\n\n".join(
        [
            f"## {name}: {experiment.what}",
            f"Paper {experiment.source}. `piste reproduce {name}{data} --out DIR`,"
            f" {found['seconds']:.0f} s, seed {found['seed']}.",
            *tables,
            findings,
            *pictures,
            f"Settings: {settings}.",
            "",
        ]
    )


def picture(name: str, path: Path) -> str:
    kept = PICTURES / f"{name}-{path.name}"
    shutil.copyfile(path, kept)
    return f"![{name}, {path.stem}](images/reproduction/{kept.name})"


if __name__ == "__main__":
    main()
