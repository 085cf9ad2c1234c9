"""One SLALOM over the words of a corpus, or over a model's whole vocabulary: the lexicon.

1. Read the texts once: which words there are, how often, and a few texts to keep as examples.
2. Ask the model for every word alone, for short sequences of words (frequent words come more
   often) and for parts of the example texts. Answers are kept on disk as they come.
3. Fit all of it at once, sparsely; the level and the scale by length from the parts of texts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from piste.arrays import FloatArray, IntArray, Ragged
from piste.design import portions
from piste.errors import InputError, SettingError, reason
from piste.lexicon import Key, Lexicon
from piste.methods.every_class import columns
from piste.models.fingerprint import fingerprint, word_samples
from piste.models.loading import as_classifier
from piste.models.protocol import Classifier, WithTokens
from piste.models.query import Query
from piste.options import BATCH_TOKENS, whole_number
from piste.runs.answer_store import AnswerStore
from piste.runs.store import FINGERPRINT
from piste.surrogates.slalom.large import Errors, fit_large
from piste.surrogates.slalom.model import LengthScale, SlalomModel, count_matrix
from piste.text.encoding import Encoding, Frame, check_text, truncated
from piste.text.players import Players, split

LENGTH = 3  # of the short sequences
EXAMPLES = 50  # texts that are kept to learn the scale of long sequences from
HELD = 5  # every fifth of them is not fitted: it says how far off the lexicon is on texts
KNOTS = (3, 12, 40, 120)  # words: where the level and the scale by length are told
TURNS = 3  # of fitting the scores, then the scale by length
CHUNK = 4096  # rows asked before their answers are written
RowsAnswered = Callable[[int, int], None]  # rows answered, rows in all


class TextsDigest:
    """A digest of texts in order, to tell corpora apart."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._digest = hashlib.blake2b(digest_size=16)
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self._digest.update(len(data).to_bytes(8, "big") + data)

    def __str__(self) -> str:
        return self._digest.hexdigest()


@dataclass
class Corpus:
    """The distinct words of many texts."""

    unit: str
    by_text: bool  # keys are the words themselves: ids of a function mean nothing elsewhere
    frame: Frame | None = None
    places: dict[Key, int] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    ids: list[tuple[int, ...]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    texts: int = 0
    read: TextsDigest = field(default_factory=lambda: TextsDigest())
    examples: list[IntArray] = field(default_factory=list)  # rows of words

    def add(self, encoding: Encoding, rng: np.random.Generator) -> None:
        """Count a text's words, and perhaps keep it as an example (each text equally likely)."""
        players = split(encoding, self.unit)
        self.frame = encoding.frame
        row = np.array([self._place(players, index) for index in range(len(players))])
        self.texts += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(row)
        elif (place := int(rng.integers(self.texts))) < EXAMPLES:
            self.examples[place] = row

    def _place(self, players: Players, index: int) -> int:
        player = players.items[index]
        return self.word(player.text, tuple(players.ids.row(index).tolist()), 1)

    def word(self, text: str, ids: tuple[int, ...], times: int) -> int:
        """The index of a word; a new word gets the next one."""
        key: Key = text if self.by_text else ids
        place = self.places.setdefault(key, len(self.words))
        if place == len(self.words):
            self.words.append(text)
            self.ids.append(ids)
            self.counts.append(0)
        self.counts[place] += times
        return place

    def digest(self) -> str:
        """A digest of the words and examples, which the rows depend on."""
        digest = hashlib.blake2b(digest_size=16)
        for key, count in zip(self.places, self.counts, strict=True):
            digest.update(f"{key} {count}\n".encode("utf-8", "surrogatepass"))
        for row in self.examples:
            digest.update(row.tobytes())
        return digest.hexdigest()


def lexicon_inputs(
    texts: TextsDigest, unit: str, effort: float, seed: int, whole_vocabulary: bool = False
) -> dict[str, Any]:
    """The settings a lexicon depends on, kept in its facts to detect a stale one."""
    return {
        "texts": str(texts),
        "unit": unit,
        "effort": effort,
        "seed": seed,
        "whole_vocabulary": whole_vocabulary,
    }


def build_lexicon(
    texts: Iterable[str],
    classifier: Classifier | str | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    unit: str = "word",
    effort: float = 1.0,
    seed: int = 0,
    whole_vocabulary: bool = False,
    batch_tokens: int = BATCH_TOKENS,
    watch: RowsAnswered | None = None,
) -> Lexicon:
    """Fit one SLALOM over the words of many texts (see `Lexicon`).

    out: a file to write it to; answers are kept beside it, and a build that was stopped goes on.
    effort: how many short sequences to ask, as a multiple of the usual: about four for a word
    that occurs often, one for a word that occurs once.
    whole_vocabulary: every token of the model's tokenizer too.
    """
    if not 0 < effort <= 100:
        raise SettingError(f"effort is {effort!r}.", "Give a number above 0, up to 100.")
    asked = as_classifier(classifier)
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    corpus = read_corpus(texts, asked, unit, rng)
    if whole_vocabulary:
        add_vocabulary(corpus, asked)
    rows, lengths_from = designed(corpus, effort, rng)
    query = Query(asked, corpus.frame or Frame(), batch_tokens=batch_tokens)
    query.verify_weights()
    inputs = lexicon_inputs(corpus.read, unit, effort, seed, whole_vocabulary)
    model = fingerprint(asked, word_samples(corpus.words))
    answers = AnswerStore.open(
        None if out is None else Path(f"{out}.answers"),
        {**inputs, "corpus": corpus.digest(), "rows": len(rows), FINGERPRINT: model},
    )
    parts = Ragged.of(corpus.ids)
    outputs = np.concatenate(
        [
            answers.get(start, len(chunk), partial(_ask, query, parts, chunk))
            for start, chunk in _chunks(rows, watch)
        ]
    )
    margins, scale = columns(outputs, asked)
    lexicon = fitted(corpus, asked, rows, margins, scale, lengths_from)
    lexicon.fingerprint.update(model)
    sequences, tokens = _cost(rows, parts, query.frame)
    lexicon.facts.update(inputs=inputs, texts=corpus.texts, sequences=sequences, tokens=tokens)
    if out is not None:
        lexicon.save(out)
        answers.remove()
    return lexicon


def _cost(rows: Ragged, parts: Ragged, frame: Frame) -> tuple[int, int]:
    """Forward passes and tokens of all rows, whichever process ran them."""
    sequences = tokens = 0
    for _, chunk in _chunks(rows, None):
        asked = chunk.expand(parts)
        distinct = {asked.row(index).tobytes(): index for index in range(len(asked))}
        sequences += len(distinct)
        tokens += int(asked.lengths[list(distinct.values())].sum()) + len(distinct) * frame.size
    return sequences, tokens


def _ask(query: Query, parts: Ragged, rows: Ragged) -> FloatArray:
    query.answers.clear()  # no row comes twice: nothing to remember
    return query.logits(rows.expand(parts))


def read_corpus(
    texts: Iterable[str], classifier: Classifier, unit: str, rng: np.random.Generator
) -> Corpus:
    """Count the words of all texts; unreadable texts are skipped."""
    corpus = Corpus(unit, by_text=not isinstance(classifier, WithTokens))
    problem: Exception | None = None
    for text in texts:
        corpus.read.add(text)
        try:
            encoding = truncated(classifier.encode(check_text(text)))
        except Exception as error:  # one text must not end the build, whatever is in it
            problem = error
            continue
        if encoding.ids:
            corpus.add(encoding, rng)
    if not corpus.words:
        why = f" ({reason(problem)})" if problem is not None else ""
        raise InputError(
            f"There are no words in these texts{why}.", "Check the file and its column."
        ) from problem
    return corpus


def add_vocabulary(corpus: Corpus, classifier: Classifier) -> None:
    """Add every token of the tokenizer that the texts did not contain as a word."""
    tokenizer = getattr(classifier, "tokenizer", None) or getattr(
        getattr(classifier, "origin", None), "tokenizer", None
    )
    if tokenizer is None:
        raise SettingError(
            f"{classifier.name!r} has no tokenizer whose vocabulary could be fitted.",
            "Leave whole_vocabulary out: the words of the texts are fitted.",
        )
    special = set(tokenizer.all_special_ids)
    for token, number in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
        if number not in special and (number,) not in corpus.places:
            shown = tokenizer.convert_tokens_to_string([token]).strip() or token
            corpus.word(shown, (number,), 0)


def designed(
    corpus: Corpus, effort: float, rng: np.random.Generator
) -> tuple[Ragged, tuple[int, int]]:
    """Rows of words to ask, and which of them are parts of example texts (from, to)."""
    count = len(corpus.words)
    counts = np.array(corpus.counts)
    alone = Ragged.table(np.arange(count)[:, None])
    times = np.floor(effort * 3 * np.minimum(4.0, 1 + np.log2(np.maximum(counts, 1)) / 2))
    few = _short(times.astype(np.int64), rng) if count > 1 else Ragged.of([])
    weights = Ragged.of(corpus.ids).lengths
    parts = [_parts_of(row, weights, rng) for row in corpus.examples]
    rows = Ragged.concat([alone, few, *parts])
    return rows, (len(alone) + len(few), len(rows))


def _short(times: IntArray, rng: np.random.Generator) -> Ragged:
    """Sequences of distinct words in which word i occurs about `times[i]` times."""
    pool = np.repeat(np.arange(len(times)), times)
    pool = rng.permutation(pool)
    length = min(LENGTH, len(times))
    rows = pool[: len(pool) // length * length].reshape(-1, length)
    ordered = np.sort(rows, axis=1)
    good = (np.diff(ordered, axis=1) > 0).all(axis=1)
    return Ragged.table(rows[good])


def _parts_of(row: IntArray, weights: IntArray, rng: np.random.Generator) -> Ragged:
    """A text, and two parts of it."""
    if len(row) < 4:
        return Ragged.of([row.tolist()])
    some = portions(rng, np.array([0.2, 0.5]), weights[row])
    kept = [row[some.row(index)].tolist() for index in range(len(some))]
    return Ragged.of([*kept, row.tolist()])


def _chunks(rows: Ragged, watch: RowsAnswered | None) -> Iterator[tuple[int, Ragged]]:
    for start in range(0, len(rows), CHUNK):
        yield start, rows.take(np.arange(start, min(start + CHUNK, len(rows))))
        if watch is not None:
            watch(min(start + CHUNK, len(rows)), len(rows))


def fitted(
    corpus: Corpus,
    classifier: Classifier,
    rows: Ragged,
    margins: FloatArray,
    scale: str,
    texts: tuple[int, int],
) -> Lexicon:
    """Fit the lexicon to all answers."""
    held = np.zeros(len(rows), dtype=bool)
    held[texts[0] : texts[1]] = np.arange(texts[1] - texts[0]) // 3 % HELD == 0
    size = len(corpus.words)
    counts = count_matrix(rows, np.arange(size), size)
    frame = (corpus.frame or Frame()).size > 0
    model, errors, lengths = _fit(counts[~held], margins[~held], rows.lengths[~held], frame)
    return Lexicon(
        model=classifier.name,
        fingerprint={},
        labels=classifier.labels or (),
        scale=scale,
        unit=corpus.unit,
        words=tuple(corpus.words),
        keys=tuple(corpus.places),
        counts=np.array(corpus.counts),
        values=model.values,
        value_errors=errors.values,
        importances=model.importances,
        importance_errors=errors.importances,
        frame=None if model.frame is None else model.frame.value,
        lengths=np.exp(lengths.knots),
        level=lengths.level,
        length_scale=lengths.scale,
        errors=_misses(model, lengths, counts, margins, rows.lengths, held),
    )


def _fit(
    counts: sparse.csr_array, margins: FloatArray, sizes: IntArray, frame: bool
) -> tuple[SlalomModel, Errors, LengthScale]:
    """Fit SLALOM and its scale by length, alternating."""
    knots = np.log([size for size in KNOTS if size <= max(KNOTS[0], sizes.max())])
    outputs = margins.shape[1]
    lengths = LengthScale(knots, np.zeros((len(knots), outputs)), np.ones(len(knots)))
    model: SlalomModel | None = None
    for _ in range(TURNS - 1):
        scores, weights = lengths.undo(sizes, margins)
        model, _, _ = fit_large(counts, scores, frame=frame, weights=weights, start=model, draws=0)
        lengths = lengths.refitted(sizes, model.predict(counts), margins)
    scores, weights = lengths.undo(sizes, margins)
    model, _, errors = fit_large(counts, scores, frame=frame, weights=weights, start=model)
    return model, errors, lengths.refitted(sizes, model.predict(counts), margins)


def _misses(
    model: SlalomModel,
    lengths: LengthScale,
    counts: sparse.csr_array,
    margins: FloatArray,
    sizes: IntArray,
    held: NDArray[np.bool_],
) -> dict[str, float]:
    """Root mean square errors: on the fitted short sequences, and on held-out texts."""
    off = lengths.apply(sizes, model.predict(counts)) - margins
    kinds = {"short": ~held & (sizes <= LENGTH), "texts": held}
    return {
        kind: float(np.sqrt(np.mean(off[rows] ** 2))) for kind, rows in kinds.items() if rows.any()
    }
