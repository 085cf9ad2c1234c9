"""Summarise a run or a lexicon by words: mean scores, changes of sign, wrong predictions, and
which words act together.

Values are told towards one label, the last of two; of more labels every word is told for each
label that it was explained towards.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.data import label_number
from piste.errors import FileError
from piste.files import also_written, encodable
from piste.lexicon import Lexicon
from piste.result.exports import data_frame
from piste.runs import shards
from piste.runs.pair_summary import PairTally, WordPair
from piste.runs.run import ENDED, MANIFEST
from piste.runs.word_tally import ONE_SIDED, Word, WordTally

if TYPE_CHECKING:
    import pandas

FEW_TEXTS = 5  # of fewer a word's place in the data says nothing
UNRELATED = 0.2  # of the labels' share: a word that surely lifts it by less is unrelated
HEAVY = 0.5  # importance above the average
COLUMNS = ("index", "word", "value", "importance", "lin", "value_error", "importance_error")
IN_CONTEXT = ("effect", "effect_error")  # of a run with context


@dataclass(frozen=True)
class Summary:
    """The words of a run or a lexicon, strongest first."""

    source: str
    model: str
    labels: tuple[str, ...]
    texts: int
    failed: int
    right: float | None  # share of the labelled texts that the model predicts as labelled
    strange: tuple[str, ...]  # labels of the data that the model does not know
    ended: bool  # False: the run was stopped, and there will be more texts
    words: list[Word] = field(repr=False)
    pairs: list[WordPair] = field(default_factory=list, repr=False)

    def strongest(self, label: str | None = None, least: int = 1) -> list[Word]:
        """Words in at least so many texts, by the size of their mean effect (or lin)."""
        chosen = [w for w in self.words if w.texts >= least and label in (None, w.label)]
        return sorted(chosen, key=lambda word: -abs(word.strength))

    def together(self, least: int = 1) -> list[WordPair]:
        """Pairs of words that surely act together, in at least so many texts."""
        return [pair for pair in self.pairs if pair.texts >= least and pair.is_sure]

    def turning(self) -> list[Word]:
        """Words whose scores change sign between texts, the most even first."""
        several = [w for w in self.words if w.texts >= FEW_TEXTS and w.flips > 0]
        return sorted(several, key=lambda word: (-word.flips, -word.texts))

    def spoiling(self) -> list[Word]:
        """Words that decided wrong predictions, most frequent first."""
        return sorted(
            (w for w in self.words if w.wrong), key=lambda w: (-w.wrong, -abs(w.strength))
        )

    def spurious(self) -> list[Word]:
        """Important words on one side whose texts' labels show no such effect."""
        spurious = [w for w in self.words if _is_spurious(w)]
        return sorted(spurious, key=lambda word: -abs(word.strength))

    def to_pandas(self) -> pandas.DataFrame:
        """One row a word, strongest first."""
        rows = [vars(word) for word in self.strongest()]
        return data_frame({name: [row[name] for row in rows] for name in Word.__annotations__})

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {name: [vars(one) for one in plain[name]] for name in ("words", "pairs")}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The summary as JSON text, also written to `path` when given."""
        return also_written(json.dumps(self.to_dict()), path, "\n")

    # As with an Explanation, text and pictures are loaded only when asked for.
    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained HTML page, also written to `path` when given."""
        from piste.render.corpus import page

        return also_written(page(self), path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure, also written to `path` (.png, .svg or .pdf) when given."""
        from piste.render.corpus import draw

        return draw(self, path)

    def __str__(self) -> str:
        from piste.render.corpus import as_text

        return as_text(self)


def _is_spurious(word: Word) -> bool:
    if word.lift is None or word.lift_error is None or word.importance < HEAVY:
        return False
    most = float(np.sign(word.value)) * word.lift + ONE_SIDED * word.lift_error
    return abs(word.value) > 2 * word.value_error and most < UNRELATED


def summarise(source: str | os.PathLike[str]) -> Summary:
    """The words of a run or of a lexicon: what each is worth, where it turns, what it spoils.

    source: a folder of `run`, or a lexicon's file.
    """
    path = Path(source)
    if not path.exists():
        raise FileError(
            f"There is no {str(source)[:200]}.",
            "Give a folder of `piste run`, or a lexicon's file.",
        )
    return _of_run(path) if path.is_dir() else _of_lexicon(Lexicon.load(path), str(source))


def _of_lexicon(lexicon: Lexicon, source: str) -> Summary:
    labels = lexicon.labels
    told = [labels[-1]] if lexicon.values.shape[1] == 1 and labels else list(labels)
    weights = np.exp(lexicon.importances)[:, None]
    alone, share = lexicon.values, np.ones_like(weights)
    if lexicon.frame is not None:  # what the model would say of the word alone
        alone = (weights * lexicon.values + lexicon.frame) / (weights + 1)
        share = weights / (weights + 1)
    level = lexicon.importances - lexicon.importances.mean()
    words = [
        Word(
            word=lexicon.words[index],
            label=label,
            occurrences=int(lexicon.counts[index]),
            texts=int(lexicon.counts[index]),
            value=float(alone[index, column]),
            importance=float(level[index]),
            lin=float(alone[index, column] * np.exp(level[index])),
            value_error=float(share[index, 0] * lexicon.value_errors[index, column]),
            importance_error=float(lexicon.importance_errors[index]),
        )
        for column, label in enumerate(told)
        for index in range(len(lexicon))
    ]
    texts = int(lexicon.facts.get("texts", 0))
    return Summary(source, lexicon.model, labels, texts, 0, None, (), True, words)


@dataclass(frozen=True)
class _TextRow:
    """The columns of a text's row that a summary uses."""

    target: str
    index: int
    label: str | None  # of the data, by the model's name for it
    given: str | None  # of the data, as it is written there

    @property
    def right(self) -> bool | None:
        return None if self.label is None else self.label == self.target


def _of_run(folder: Path) -> Summary:
    manifest = _manifest(folder)
    labels = tuple(manifest["labels"])
    texts, failed, pairs = _texts(folder, labels)
    tallies: dict[tuple[str, str], WordTally] = {}
    for rows in _by_text(folder):
        text = texts.get(rows["index"][0])
        if text is not None:
            _tally(rows, text, labels, tallies)
    known = [text for text in texts.values() if text.label is not None]
    right = sum(bool(text.right) for text in known) / len(known) if known else None
    shares = {name: np.mean([t.label == name for t in known]) for name in labels} if known else {}
    words = [tally.word(*key, shares.get(key[1])) for key, tally in tallies.items()]
    strange = {t.given for t in texts.values() if t.given is not None and t.label is None}
    return Summary(
        source=str(folder),
        model=manifest["model"],
        labels=labels,
        texts=len(texts) + failed,
        failed=failed,
        right=right,
        strange=tuple(sorted(strange)),
        ended=manifest["ended"],
        words=words,
        pairs=pairs.pairs(),
    )


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {
            "model": str(manifest["model"]),
            "labels": [
                encodable(str(name)) for name in manifest["labels"]
            ],  # as the tables have them
            "ended": ENDED in manifest,
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"There is no run in {folder}.", "Give a folder that `piste run` wrote."
        ) from error


def _texts(folder: Path, labels: tuple[str, ...]) -> tuple[dict[int, _TextRow], int, PairTally]:
    """The texts by number, how many failed, and the pairs of words of all."""
    texts, failed, tally = {}, 0, PairTally()
    columns = ["index", "target", "target_index", "label", "error"]
    for table in shards.read(folder, shards.TEXTS, columns, ["pairs"]):
        pairs = table.get("pairs", [None] * len(table["index"]))
        cells = zip(*(table[column] for column in columns), pairs, strict=True)
        for index, target, place, label, error, of_text in cells:
            if error is not None:
                failed += 1
                continue
            texts[index] = _TextRow(target, place, _named(label, labels), label)
            tally.add(of_text or (), *_side(target, labels))
    return texts, failed, tally


def _side(target: str, labels: tuple[str, ...]) -> tuple[str, float]:
    """The label towards which scores are told, and the sign that they get by it."""
    if len(labels) != 2:
        return target, 1.0
    return labels[-1], 1.0 if target == labels[-1] else -1.0


def _named(label: str | None, labels: tuple[str, ...]) -> str | None:
    """The model's name for a label of the data, which may be a name or a number."""
    if label is None or label in labels:
        return label
    number = label_number(label)
    return labels[number] if number is not None and number < len(labels) else None


def _by_text(folder: Path) -> Iterator[dict[str, list[Any]]]:
    """The players' rows, grouped by text."""
    for table in shards.read(folder, shards.PLAYERS, COLUMNS, IN_CONTEXT):
        indices = np.array(table["index"], dtype=np.int64)
        cuts = np.flatnonzero(np.diff(indices)) + 1
        for rows in np.split(np.arange(len(indices)), cuts):
            if len(rows):
                yield {name: [cells[i] for i in rows] for name, cells in table.items()}


def _tally(
    rows: dict[str, list[Any]],
    text: _TextRow,
    labels: tuple[str, ...],
    tallies: dict[tuple[str, str], WordTally],
) -> None:
    label, sign = _side(text.target, labels)
    named = [name for name in (*COLUMNS[2:], *IN_CONTEXT) if name in rows]
    scores = np.array(rows["effect" if "effect" in rows else "lin"], dtype=np.float64)
    decisive = int(np.argmax(scores)) if text.right is False and len(scores) else -1
    seen: set[str] = set()
    for place, word in enumerate(rows["word"]):
        tally = tallies.setdefault((word, label), WordTally())
        tally.add({name: rows[name][place] for name in named}, sign)
        tally.wrong += place == decisive
        if word not in seen:
            seen.add(word)
            tally.texts += 1
            tally.labelled += text.label is not None
            tally.of_label += text.label == label
