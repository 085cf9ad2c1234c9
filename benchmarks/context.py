"""How well the method `context` explains: all its goals in one run, as Markdown.

    python benchmarks/context.py --data FOLDER [--only trec yelp] [--texts 20] [--quick]

FOLDER holds trec/, yelp/, snli/, sst/, imdb/, rationales/ and yelp_hat/ (JSON lines); the models
are MiniLM fine-tuned on the first four, kept in the cache directory. Figures are kept text by text
in --out: a run that was stopped goes on, and figures of other code are measured again. Estimators
of shapiq are compared where it is installed.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import context_measures as measures
import context_rivals as rivals
from context_report import report
from context_texts import SOURCES, Subject, planted, sentences

import piste

HERE = Path(__file__).parent
CODE = ("surrogates", "methods", "design", "metrics", "text")  # rooms that figures depend on
FEW = 2  # texts of a section, with --quick
Texts = Callable[[Path, int | None], Iterator[Subject]]
Measure = Callable[[Subject], dict[str, Any]]
SECTIONS: dict[str, tuple[Texts, Measure]] = {
    **{
        name: (SOURCES[name].subjects, measures.quality) for name in ("trec", "yelp", "snli", "sst")
    },
    "imdb": (SOURCES["imdb"].subjects, measures.quality),
    "thorough": (SOURCES["imdb"].subjects, measures.thorough),
    "classes": (SOURCES["questions"].subjects, measures.other_class),
    "shapley": (SOURCES["short"].subjects, measures.shapley),
    "interactions": (sentences, measures.interactions),
    **{
        name: (SOURCES[name].subjects, measures.people)
        for name in ("people-sst", "people-dynasent", "people-yelp")
    },
    "planted": (planted, measures.recovered),
    "time": (SOURCES["hundred"].subjects, measures.overhead),
    **{name: (SOURCES[name].subjects, rivals.curve) for name in ("curve-trec", "curve-yelp")},
}


def main() -> None:
    options = _options()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    code = fingerprint(options.quick)
    known = _known(options.out, code)
    count = FEW if options.quick and options.texts is None else options.texts
    results: dict[str, list[dict[str, Any]]] = {}
    with options.out.open("a", encoding="utf-8") as out:
        for section in options.only:
            texts, measure = SECTIONS[section]
            if options.quick and measure is rivals.curve:
                measure = partial(rivals.curve, passes=rivals.PASSES[:4])
            results[section] = []
            for subject in texts(options.data, count):
                key = f"{section}/{subject.example.id}"
                if key not in known:
                    known[key] = json.loads(json.dumps(measure(subject)))
                    line = {"key": key, "code": code, "figures": known[key]}
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                results[section].append(known[key])
                print(f"{section} {len(results[section])}", end="  \r", file=sys.stderr)
    print(report(results, options.picture))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--texts", type=int, help="of every section, instead of its own number")
    parser.add_argument("--quick", action="store_true", help="two texts each, a shorter curve")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "context.jsonl")
    parser.add_argument("--picture", type=Path, default=HERE / "context-curve.png")
    return parser.parse_args()


def fingerprint(quick: bool) -> str:
    """Of the code that the figures depend on."""
    home = Path(piste.__file__).parent
    files = [path for room in CODE for path in sorted((home / room).rglob("*.py"))]
    files += [HERE / f"context_{name}.py" for name in ("texts", "measures", "rivals")]
    content = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(content + bytes([quick])).hexdigest()[:12]


def _known(path: Path, code: str) -> dict[str, dict[str, Any]]:
    """Figures that this code has measured before, by section and text."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]  # the last may be torn
    return {row["key"]: row["figures"] for row in rows if row["code"] == code}


if __name__ == "__main__":
    main()
