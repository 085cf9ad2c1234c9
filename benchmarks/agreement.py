"""How well piste's surrogates predict the model: by length of sequence, and for small removals.

    python benchmarks/agreement.py --data yelp_hat/hat.jsonl.gz [--model DIR] [--texts 20]

Medians over reviews of about 100 words. Every sequence is fresh, but for the words alone: all of
them are asked by the fit, so their figure tells how well it holds what it was told (context
gives back the answer itself).
"""

import argparse
import time
from pathlib import Path

import numpy as np
import texts

import piste
from piste.arrays import Ragged
from piste.decision import margins
from piste.design import deletions, singles, subsets
from piste.models.query import Query
from piste.text.players import Players, split

ROWS = 60  # fresh sequences of each kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--texts", type=int, default=20)
    options = parser.parse_args()
    classifier = piste.load(options.model)
    reviews = [row for row in texts.read(options.data) if row.get("subset") == "100"]
    piste.explain(reviews[0]["text"], classifier)  # the first one warms up
    for method, unit in (("slalom", "word"), ("slalom", "token"), ("context", "word")):
        found = [figures(row["text"], classifier, method, unit) for row in reviews[: options.texts]]
        medians = {name: np.median([each[name] for each in found]) for name in found[0]}
        said = "  ".join(f"{name} {value:.2f}" for name, value in medians.items())
        print(f"{method:7s} by {unit:5s}  {said}")


def figures(text: str, classifier, method: str, unit: str) -> dict[str, float]:
    started = time.perf_counter()
    explanation = piste.explain(text, classifier, method, unit=unit)
    seconds = time.perf_counter() - started
    encoding = classifier.encode(text)
    players = split(encoding, unit, "shared")
    query = Query(classifier, encoding.frame)

    def ask(rows: Ragged) -> np.ndarray:
        logits = query.logits(rows.expand(players.ids))
        return margins(logits, classifier, explanation.target.index)

    found = {}
    for name, rows in _fresh(players).items():
        predicted = [explanation.predict(rows.row(i)).score for i in range(len(rows))]
        true = ask(rows)
        found[f"R2 of {name}"] = 1 - np.mean((predicted - true) ** 2) / np.var(true)
    found["removal error"] = _removal_error(explanation, players, ask)
    length = len(encoding.ids) + encoding.frame.size
    found["passes"] = explanation.cost.tokens / length
    found["seconds"] = seconds
    found["share of the model"] = explanation.cost.query_seconds / seconds
    return found


def _fresh(players: Players) -> dict[str, Ragged]:
    rng, count = np.random.default_rng(99), len(players)
    distinct = len(players.first)
    return {
        "1": players.of_groups(singles(distinct)),
        "3": subsets(rng, np.full(ROWS, 3), count),
        "20": subsets(rng, np.full(ROWS, min(20, count - 1)), count),
        "half": subsets(rng, np.full(ROWS, count // 2), count),
    }


def _removal_error(explanation, players: Players, ask) -> float:
    """Of 1 to 5 random removals, relative to predicting no change."""
    rows = deletions(np.random.default_rng(98), len(players), ROWS, 1, 5)
    everybody = np.arange(len(players))
    gone = [np.setdiff1d(everybody, rows.row(i)).tolist() for i in range(len(rows))]
    predicted = np.array([explanation.change(removed) for removed in gone])
    true = explanation.target.score - ask(rows)
    return float(np.sqrt(np.mean((predicted - true) ** 2) / np.mean(true**2)))


if __name__ == "__main__":
    main()
