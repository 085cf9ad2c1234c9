"""How much of what a model says is said by single words, and how much by words together.

    python benchmarks/interactions.py --data FOLDER [--texts 20] [--minutes 8]

The texts are those of `peers.py`. Any function of a text's words is a sum of one part for every set
of words (functional ANOVA); where every word is kept or removed with equal odds, these parts are
uncorrelated, and the variance of the answers is the sum of theirs. Texts of up to twelve words are
asked about every part, so the shares are exact. Of longer texts random parts are asked: the shares
of single words and of pairs are then unbiased estimates (U-statistics of the Walsh coefficients).

*near* is what the best sum of single words explains on parts that keep 30 to 100 % of the words
(R², adjusted for the number of words). Goes on where it was stopped; `--report` only writes the
table into docs/findings.md.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import report
from summary import estimate
from tasks import TASKS, model_folder

import piste
from piste.arrays import BoolArray, FloatArray, Ragged
from piste.decision import Decision
from piste.design.parts import parts_between
from piste.surrogates.shapley import all_coalitions

HERE = Path(__file__).resolve().parent
KEPT = HERE / "results" / "interactions.jsonl"
EXACT, HALVES, NEAR = 12, 1000, 600  # words; parts of a longer text
SHARES = ("single", "pairs", "more", "near")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no text after")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the table")
    given = parser.parse_args()
    if not given.report:
        measure(given)
    print(section(lines()))


def measure(given: argparse.Namespace) -> None:
    """Text by text, what is not known yet."""
    known = {(line["task"], line["text"]) for line in lines()}
    ends = time.monotonic() + 60 * given.minutes
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    for task in given.tasks:
        classifier = piste.load(str(model_folder(TASKS[task].model, given.data)))
        for row in TASKS[task].rows(given.data, given.texts):
            if (task, row["id"]) in known or time.monotonic() > ends:
                continue
            decision = Decision.on(row["first"], classifier, pair=row["second"])
            line = {"task": task, "text": row["id"], "words": len(row["words"])}
            with KEPT.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line | shares(decision)) + "\n")


def lines() -> list[dict[str, Any]]:
    written = KEPT.read_text("utf-8").splitlines() if KEPT.exists() else []
    return [json.loads(line) for line in written if line.endswith("}")]


def shares(decision: Decision) -> dict[str, float]:
    """Of the variance of the model's answers."""
    words, rng = len(decision.players), np.random.default_rng(0)
    near = parts_between(rng, words, NEAR, 0.3, 1.0)
    if words <= EXACT:
        found = spectrum(decision.margins(Ragged.masked(all_coalitions(words))))
    else:
        halves = rng.random((HALVES, words)) < 0.5
        found = estimated(halves, decision.margins(Ragged.masked(halves)))
    return by_order(found) | {"near": additive(near, decision.margins(Ragged.masked(near)))}


def by_order(found: FloatArray) -> dict[str, float]:
    """Shares of single words, pairs and larger sets, of variances by order [from 1]."""
    share = found / found.sum()
    return {"single": share[0], "pairs": share[1], "more": float(share[2:].sum())}


def spectrum(answers: FloatArray) -> FloatArray:
    """The variance of every order from 1, of answers to all 2^n parts, in order of bits."""
    coefficients, step = answers.copy(), 1
    while step < len(answers):  # the Walsh-Hadamard transform
        pairs = coefficients.reshape(-1, 2, step)
        coefficients = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        coefficients, step = coefficients.reshape(-1), 2 * step
    orders = all_coalitions(step.bit_length() - 1).sum(axis=1)
    return np.bincount(orders, (coefficients / len(answers)) ** 2)[1:]


def estimated(parts: BoolArray, answers: FloatArray) -> FloatArray:
    """The variance of single words, of pairs and of all larger sets, from random halves.

    A set's variance is the square of its coefficient, the mean of the answer times the product of
    its words' signs. Products of two different draws estimate that square without bias. What single
    words say in the other half of the draws is taken off before pairs are looked for: it has
    nothing to do with them, and makes the estimate less noisy.
    """
    signs = np.where(parts, 1.0, -1.0)
    single = squares(signs @ signs.T, answers - answers.mean())
    middle, pairs = len(answers) // 2, []
    for own, other in ((slice(middle), slice(middle, None)), (slice(middle, None), slice(middle))):
        rest = answers[own] - best_sum(parts[other], answers[other], parts[own])
        alike = signs[own] @ signs[own].T
        pairs.append(squares((alike**2 - parts.shape[1]) / 2, rest))
    both = float(np.mean(pairs))
    return np.array([single, both, answers.var(ddof=1) - single - both])


def squares(kernel: FloatArray, answers: FloatArray) -> float:
    """The mean of answer times answer times kernel over all pairs of different draws."""
    products = kernel * np.outer(answers, answers)
    np.fill_diagonal(products, 0.0)
    return float(products.sum() / (len(answers) * (len(answers) - 1)))


def best_sum(parts: BoolArray, answers: FloatArray, asked: BoolArray) -> FloatArray:
    """What the best sum over words, fitted to these parts, says of others."""
    design = np.column_stack([np.ones(len(parts)), parts])
    weights = np.linalg.lstsq(design, answers, rcond=None)[0]
    return np.asarray(np.column_stack([np.ones(len(asked)), asked]) @ weights)


def additive(parts: BoolArray, answers: FloatArray) -> float:
    """R² of the best sum over words, adjusted for their number."""
    rest = answers - best_sum(parts, answers, parts)
    free = len(parts) - np.linalg.matrix_rank(np.column_stack([np.ones(len(parts)), parts]))
    return float(1 - (rest @ rest / free) / answers.var(ddof=1))


def section(known: Sequence[dict[str, Any]]) -> str:
    """Means over texts with their 95 % intervals."""
    header = ("texts", "number", "words", "single words", "pairs", "three and more", "near")
    rows = []
    for task in TASKS:
        own = [line for line in known if line["task"] == task]
        if own:
            words = f"{np.mean([line['words'] for line in own]):.0f}"
            cells = (percent([line[name] for line in own]) for name in SHARES)
            rows.append([TASKS[task].title, str(len(own)), words, *cells])
    return report.table(header, rows)


def percent(values: Sequence[float]) -> str:
    found = estimate(values)
    assert found is not None
    value, low, high = (f"{100 * each:.0f}" for each in (found.value, found.low, found.high))
    return f"{value} % [{low}, {high}]".replace("-", "−")


if __name__ == "__main__":
    main()
