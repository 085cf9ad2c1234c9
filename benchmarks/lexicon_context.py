"""Context with a lexicon as prior against context by itself, text by text: cost and held-out R².

    python benchmarks/lexicon_context.py --data FOLDER [--texts 20] [--known 500] [--only trec]

FOLDER holds trec/ and yelp/ (JSON lines); the models are MiniLM fine-tuned on them, kept in the
cache directory. The lexicon is built over the first texts of the test set, as `piste run` would.
R² is on 150 random parts of 30 to 100 % of the words that neither has asked, on the scale of each.
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from context_measures import held_out, predictions, r2
from context_texts import Source, Subject, model

import piste
from piste.arrays import Ragged
from piste.data import read_examples
from piste.lexicon import Lexicon
from piste.methods.slalom.from_lexicon import TextByLexicon
from piste.runs.run_lexicon import EFFORT

SOURCES = {
    "trec": Source("trec", "trec/test.jsonl.gz", 0),
    "yelp": Source("yelp", "yelp/test.jsonl.gz", 0, (40, 160)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--texts", type=int, default=20, help="that are explained both ways")
    parser.add_argument("--known", type=int, default=500, help="texts that the lexicon is of")
    given = parser.parse_args()
    print("model  texts  words  passes: alone  with  R² on parts: alone  with  gap ± its error")
    for name in given.only:
        lexicon = built(SOURCES[name], given.data, given.known)
        subjects = SOURCES[name].subjects(given.data, given.texts)
        print(line(name, np.array(list(figures(subjects, lexicon)))), flush=True)


def built(source: Source, data: Path, texts: int) -> Lexicon:
    """The lexicon of so many texts, with what it took."""
    examples = islice(read_examples(data / source.file), texts)
    known = piste.build_lexicon(
        (one.text for one in examples), model(source.model, data), effort=EFFORT
    )
    each = known.facts["tokens"] / texts
    print(f"{source.model}: {len(known):,} words of {texts} texts, {each:.0f} tokens a text")
    return known


def figures(subjects: Iterator[Subject], lexicon: Lexicon) -> Iterator[list[float]]:
    """Words, passes and R² of every text: by itself, and with the lexicon."""
    for subject in subjects:
        alone, with_words = subject.explain(), subject.explain(lexicon=lexicon)
        measured = [agreement(subject, one, lexicon) for one in (alone, with_words)]
        if None in measured:  # a few words, of which every part was asked
            continue
        costs = [subject.passes(one) for one in (alone, with_words)]
        yield [subject.players, *costs, *(one for one in measured if one is not None)]


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


def line(name: str, table: np.ndarray) -> str:
    words, alone, with_words, r2_alone, r2_with = table.mean(axis=0)
    gaps = table[:, 4] - table[:, 3]
    error = gaps.std() / len(gaps) ** 0.5
    return (
        f"{name:<6} {len(table):>4} {words:>6.0f} {alone:>13.1f} {with_words:>5.1f}"
        f" {r2_alone:>18.3f} {r2_with:>5.3f} {gaps.mean():>+6.3f} ± {error:.3f}"
        f"   (largest cost {table[:, 2].max():.1f} passes)"
    )


if __name__ == "__main__":
    main()
