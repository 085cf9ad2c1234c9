"""Collect the results of `python -m papers run` into docs/reproduction.md.

    python -m papers.page RESULTS

RESULTS is the --out folder of the runs. Pictures go to docs/images/reproduction/.
"""

import argparse
import json
import shutil
from pathlib import Path

from papers.experiments import EXPERIMENTS
from papers.experiments.files import markdown
from papers.tables import Table

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "images" / "reproduction"
HEAD = """# The papers' tables and figures, reproduced

In a clone of piste, `python -m papers run NAME --data FOLDER --out DIR` makes each of them by one
command (`python -m papers list` names them), ours beside the paper's, with settings, seed and plot.
Paper A is *Attention Mechanisms Don't Learn Additive Models* (arXiv 2405.13536), paper B *Attention
Meets Post-hoc Interpretability* (arXiv 2402.03485).

What follows was measured at `--scale small`: minutes on two cores, models of the real
`transformers` classes but few layers, few texts. So read directions, not digits. `--scale paper`
has the papers' sizes and starts from the hub's checkpoints; it was not run here. Intervals are 95
% bootstrap intervals over texts. In all comparisons there is one target (the predicted class), one
scale (log-odds), the special tokens are always there, and methods get equal numbers of samples:
the public code of paper A compared otherwise, and where that changes a conclusion the item says
so.

Seconds were taken while other work ran, and models are trained once and kept, so that the first
item that needs one pays for it. This page is made by `python -m papers.page` from the results of
the commands.
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
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    experiment = EXPERIMENTS[name]
    data = " --data FOLDER" if experiment.data else ""
    tables = [markdown(Table(t["title"], t["columns"], t["rows"])) for t in result["tables"]]
    pictures = [picture(name, path) for path in sorted(folder.glob("*.png"))]
    findings = "\n".join(f"* {sentence}" for sentence in result["findings"])
    settings = ", ".join(f"{key} {value}" for key, value in result["settings"].items())
    return "\n\n".join(
        [
            f"## {name}: {experiment.what}",
            f"Paper {experiment.source}. `python -m papers run {name}{data} --out DIR`,"
            f" {result['seconds']:.0f} s, seed {result['seed']}.",
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
