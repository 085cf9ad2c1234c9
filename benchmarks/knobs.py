"""What each setting of an explanation costs and gives, against the default.

    python benchmarks/knobs.py --data reviews.jsonl.gz [--model DIR] [--texts 10]

Reviews of about 100 words. Every review is explained with all settings in turn, after one
explanation with each that is not timed, so whatever else the machine does falls on all of them.
Medians over the reviews: forward passes of the full text, seconds as a multiple of the default's,
and R² on 50 random parts of the text (30 to 100 % of its words) that no explanation has asked.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import texts

import piste
from piste.decision import Decision
from piste.metrics.part_fidelity import part_r2
from piste.models.protocol import Classifier
from piste.options import Options

DEFAULT: dict[str, Any] = {}
SETTINGS: dict[str, dict[str, Any]] = {
    "the default": DEFAULT,
    'effort="quick"': {"effort": "quick"},
    'effort="thorough"': {"effort": "thorough"},
    "budget=60": {"budget": 60},
    "budget=200": {"budget": 200},
    "budget=400": {"budget": 400},
    "tolerance=0.1": {"tolerance": 0.1},
    "tolerance=0.05": {"tolerance": 0.05},
    'unit="token"': {"unit": "token"},
    'unit="sentence"': {"unit": "sentence"},
    'method="slalom"': {"method": "slalom"},
    'method="slalom-ana"': {"method": "slalom-ana"},
    'method="occlusion"': {"method": "occlusion"},
    'method="lime"': {"method": "lime"},
    'method="kernel-shap"': {"method": "kernel-shap"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--only", nargs="+", help="parts of the settings' names; the default is in")
    given = parser.parse_args()
    classifier = piste.load(given.model)
    reviews = [row for row in texts.read(given.data) if row.get("subset") == "100"]
    chosen = [row["text"] for row in texts.mixed(reviews, given.texts * 2)[: given.texts]]
    settings = {
        name: options
        for name, options in SETTINGS.items()
        if not given.only or options is DEFAULT or any(part in name for part in given.only)
    }
    for options in settings.values():
        figures(chosen[0], classifier, options)
    measured = np.array(
        [[figures(text, classifier, options) for options in settings.values()] for text in chosen]
    )  # [texts, settings, (passes, seconds, R²)]
    measured[..., 1] /= measured[:, :1, 1]
    for name, of_setting in zip(settings, measured.swapaxes(0, 1), strict=True):
        passes, seconds = np.median(of_setting[:, :2], axis=0)
        print(f"| `{name}` | {passes:.1f} | {seconds:.2f} | {_median(of_setting[:, 2])} |")


def _median(r2: np.ndarray) -> str:
    """Of the texts that have one: where all parts were asked, nothing is left to predict."""
    known = r2[~np.isnan(r2)]
    if not len(known):
        return "–"
    some = "" if len(known) == len(r2) else f" ({len(known)} texts)"
    return f"{np.median(known):.3f}{some}"


def figures(text: str, classifier: Classifier, options: dict[str, Any]) -> tuple[float, ...]:
    """Forward passes, seconds and R² of one explanation."""
    started = time.perf_counter()
    explanation = piste.explain(text, classifier, **options)
    seconds = time.perf_counter() - started
    plain = {name: given for name, given in options.items() if name != "method"}
    r2 = part_r2(Decision.on(text, classifier, Options.of(**plain)), explanation)
    return explanation.cost.passes or np.nan, seconds, np.nan if r2 is None else r2


if __name__ == "__main__":
    main()
