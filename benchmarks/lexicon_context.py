"""What `piste run` may ask of a text, and a lexicon as prior: cost and held-out R², text by text.

    python benchmarks/lexicon_context.py --data FOLDER [--texts 20] [--known 500] [--only trec]

FOLDER holds trec/ and yelp/ (JSON lines); the models are MiniLM fine-tuned on them, kept in the
cache directory. The lexicon is built over the first texts of the test set, as `piste run` would.
R² is on 150 random parts of 30 to 100 % of the words that none has asked, on the scale of each.
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from context_measures import held_out, predictions, r2
from context_texts import Source, Subject, model

import piste
from piste.arrays import Ragged
from piste.data import read_examples
from piste.lexicon import Lexicon
from piste.methods.slalom.from_lexicon import TextByLexicon
from piste.options import EFFORTS
from piste.runs.run_lexicon import LEXICON_EFFORT

SOURCES = {
    "trec": Source("trec", "trec/test.jsonl.gz", 0),
    "yelp": Source("yelp", "yelp/test.jsonl.gz", 0, (40, 160)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--texts", type=int, default=20, help="that are explained every way")
    parser.add_argument("--known", type=int, default=500, help="texts that the lexicon is of")
    given = parser.parse_args()
    for name in given.only:
        lexicon = built(SOURCES[name], given.data, given.known)
        ways: dict[str, dict[str, Any]] = {effort: {"effort": effort} for effort in EFFORTS[:3]}
        ways["with the lexicon"] = {"lexicon": lexicon}
        subjects = SOURCES[name].subjects(given.data, given.texts)
        table = np.array(list(figures(subjects, lexicon, ways)))
        print(f"{name}: {len(table)} texts, {table[:, 0, 0].mean():.0f} words")
        print("way                 passes  R² on parts: median   mean  worst  seconds a text")
        for row, way in enumerate(ways):
            print(line(way, table[:, row]), flush=True)


def built(source: Source, data: Path, texts: int) -> Lexicon:
    """The lexicon of so many texts, with what it took."""
    examples = islice(read_examples(data / source.file), texts)
    known = piste.build_lexicon(
        (one.text for one in examples), model(source.model, data), effort=LEXICON_EFFORT
    )
    each = known.facts["tokens"] / texts
    print(f"{source.model}: {len(known):,} words of {texts} texts, {each:.0f} tokens a text")
    return known


def figures(
    subjects: Iterator[Subject], lexicon: Lexicon, ways: dict[str, dict[str, Any]]
) -> Iterator[list[list[float]]]:
    """Words, passes, R² and seconds of every text, each way."""
    for subject in subjects:
        explained = [subject.explain(**options) for options in ways.values()]
        measured = [agreement(subject, one, lexicon) for one in explained]
        if None in measured:  # a few words, of which every part was asked
            continue
        yield [
            [
                subject.players,
                subject.passes(one),
                r2,
                one.cost.query_seconds + one.cost.fit_seconds,
            ]
            for one, r2 in zip(explained, measured, strict=True)
            if r2 is not None
        ]


def agreement(subject: Subject, explanation: piste.Explanation, lexicon: Lexicon) -> float | None:
    """R² on parts that were not asked, on the explanation's own scale."""
    parts = held_out(subject.players)
    predicted, errors = predictions(explanation, parts)
    if explanation.target.scale == subject.decision.target.scale:
        true = subject.answers(parts)
    else:
        true = TextByLexicon.of(lexicon, subject.decision).answers(Ragged.masked(parts))
    fresh = errors > 0
    return r2(predicted[fresh], true[fresh])


def line(way: str, table: np.ndarray) -> str:
    passes, r2, taken = table[:, 1], table[:, 2], table[:, 3]
    return (
        f"{way:<18} {passes.mean():>7.1f} {np.median(r2):>20.3f} {r2.mean():>6.3f}"
        f" {r2.min():>6.2f} {taken.mean():>15.2f}"
    )


if __name__ == "__main__":
    main()
