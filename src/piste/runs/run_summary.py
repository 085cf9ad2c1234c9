"""Sum a run up in two passes over its rows: scores first, then texts.

The first pass adds up what each word does and picks the texts that show it. The second, when it is
known which words and pairs are listed, counts the texts of pairs and cuts the excerpts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from piste.data import label_number
from piste.decision import RANKS
from piste.errors import FileError
from piste.files import encodable
from piste.options import ALL
from piste.result.basics import mirrored, title
from piste.runs import shards
from piste.runs.class_summary import (
    ReadText,
    Side,
    class_places,
    counted,
    mistake_places,
    mistaken,
)
from piste.runs.excerpts import Excerpt, Piece, Place, pieces
from piste.runs.manifest import ENDED, MANIFEST
from piste.runs.pair_summary import PairTally
from piste.runs.store import FINGERPRINT
from piste.runs.word_summary import LISTED_PAIRS, Summary
from piste.runs.word_tally import WordTally, numbers_of

COLUMNS = ("index", "word", "value", "importance", "lin", "value_error", "importance_error")
IN_CONTEXT = ("effect", "effect_error")  # of a run with context
WHERE = ("index", "word", "start", "end")
TEXT_COLUMNS = ("index", "id", "target", "against", "label", "score", "probability", "error")
Rows = dict[str, list[Any]]
Table = dict[str, list[Any]]
Read = Callable[..., Iterator[Table]]  # of (kind, columns, optional): the tables of a run, in order
_Slots = dict[int, Excerpt]  # by rank


@dataclass(frozen=True)
class RunFacts:
    """What holds for all texts of a run."""

    model: str
    labels: tuple[str, ...]
    ended: bool
    chosen: bool  # the explained class was chosen, and need not be the predicted one
    outputs: str | None = None  # what the model's outputs are; None where nothing tells
    raw: dict[str, Any] = field(default_factory=dict)  # everything that it was made with

    @property
    def mirrored(self) -> bool:
        """Whether what speaks against one label speaks for the other."""
        return mirrored(self.labels, self.outputs)


@dataclass
class _Tallies:
    """What the passes gather."""

    texts: dict[int, ReadText] = field(default_factory=dict)
    failed: int = 0
    pairs: PairTally = field(default_factory=PairTally)
    words: dict[tuple[str, str], WordTally] = field(default_factory=dict)
    deciding: dict[int, str] = field(default_factory=dict)  # the strongest word of a mistake


def summarise_run(folder: Path) -> Summary:
    """The words, pairs and classes of a run, with example texts."""
    return summed_up(str(folder), read_manifest(folder), partial(shards.read, folder))


def summed_up(source: str, facts: RunFacts, read: Read) -> Summary:
    """The same of tables that `read` gives."""
    tallies = _Tallies()
    _read_texts(read, facts, tallies)
    for rows in by_text(read, COLUMNS, IN_CONTEXT):
        text = tallies.texts.get(rows["index"][0])
        if text is not None:
            _tally(rows, text, tallies)
    _count_pairs(read, tallies)
    summary = _summed(source, facts, tallies)
    _add_examples(read, summary, tallies)
    return summary


def _summed(source: str, manifest: RunFacts, tallies: _Tallies) -> Summary:
    labels, texts = manifest.labels, list(tallies.texts.values())
    known = [text for text in texts if text.label is not None]
    checked = [text for text in known if text.right is not None]
    shares = {name: sum(t.label == name for t in known) / len(known) for name in labels if known}
    told = {text.side.name: text.side.label for text in texts}
    strange = {text.given for text in texts if text.given is not None and text.label is None}
    return Summary(
        source=source,
        model=manifest.model,
        labels=labels,
        texts=len(texts) + tallies.failed,
        failed=tallies.failed,
        right=sum(bool(text.right) for text in checked) / len(checked) if checked else None,
        strange=tuple(sorted(strange)),
        ended=manifest.ended,
        words=[tally.word(*key, shares.get(told[key[1]])) for key, tally in tallies.words.items()],
        pairs=tallies.pairs.pairs(),
        joiners=tallies.pairs.joiners(),
        classes=counted(texts, labels),
        mistakes=mistaken(texts, tallies.deciding),
        outputs=manifest.outputs,
        sides=told,
    )


def is_chosen(target: object, labels: Sequence[str]) -> bool:
    """Whether a label was asked for, whatever is predicted; a label's own name comes first."""
    named = str(target).casefold() in (label.casefold() for label in labels)
    return target is not None and (named or target not in (RANKS[0], ALL))


def read_manifest(folder: Path) -> RunFacts:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        labels = tuple(encodable(str(name)) for name in manifest["labels"])  # as in the tables
        return RunFacts(
            str(manifest["model"]),
            labels,
            ENDED in manifest,
            is_chosen(manifest.get("target"), labels),
            (manifest.get(FINGERPRINT) or {}).get("outputs"),
            manifest,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"There is no run in {folder}.", "Give a folder that `piste run` wrote."
        ) from error


def _read_texts(read: Read, manifest: RunFacts, tallies: _Tallies) -> None:
    """The texts by number, how many failed, and the pairs of words of all."""
    labels, several = manifest.labels, manifest.outputs == "labels"
    numbers = len(labels) < 2 or manifest.outputs == "raw"  # neither right nor wrong
    for table in read(shards.TEXTS, TEXT_COLUMNS, ["pairs"]):
        pairs = table.get("pairs", [None] * len(table["index"]))
        cells = zip(*(table[column] for column in TEXT_COLUMNS), pairs, strict=True)
        for index, name, target, against, given, score, probability, error, of_text in cells:
            if error is not None:
                tallies.failed += 1
                continue
            predicted = predicted_label(target, score, manifest)
            given = None if numbers else given
            tallies.texts[index] = ReadText(
                index=index,
                id=name,
                target=target,
                predicted=predicted,
                label=(label := named_label(given, labels)),
                given=given,
                score=score,
                probability=probability,
                tells_pairs=of_text is not None,
                side=(told := side(target, against, manifest)),
                # A chosen label that others do not exclude says nothing of those.
                checkable=not (several and manifest.chosen) or label == target,
            )
            tallies.pairs.add(of_text or (), index, told.name, told.sign)


def predicted_label(target: str, score: float, manifest: RunFacts) -> str | None:
    """The predicted label, as far as a row tells it: a chosen class may not be the predicted.

    Of a label that others do not exclude, whether the model says it: "toxic", "not toxic". Numbers
    predict no label.
    """
    labels = manifest.labels
    if manifest.outputs == "raw" and len(labels) > 1:
        return None
    if manifest.outputs == "labels":
        return target if score > 0 else f"not {target}"
    if not manifest.chosen:
        return target
    if not manifest.mirrored or target not in labels:
        return None
    return target if score > 0 else labels[1 - labels.index(target)]


def side(target: str, against: str | None, manifest: RunFacts) -> Side:
    """Towards what scores are told: the last of two labels that exclude each other, or the target.

    Contrasts with different labels are different numbers, and are told apart.
    """
    if not manifest.mirrored:
        return Side(title(target, against), target, 1.0)
    last = manifest.labels[-1]
    return Side(last, last, 1.0 if target == last else -1.0)


def named_label(label: str | None, labels: tuple[str, ...]) -> str | None:
    """The model's name for a label of the data, which may be a name or a number."""
    if label is None or label in labels:
        return label
    number = label_number(label)
    return labels[number] if number is not None and number < len(labels) else None


def by_text(read: Read, columns: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[Rows]:
    """The players' rows, grouped by text."""
    for table in read(shards.PLAYERS, columns, optional):
        indices = np.array(table["index"], dtype=np.int64)
        cuts = [0, *(np.flatnonzero(np.diff(indices)) + 1).tolist(), len(indices)]
        for first, end in pairwise(cuts):
            if end > first:
                yield {name: cells[first:end] for name, cells in table.items()}


def _tally(rows: Rows, text: ReadText, tallies: _Tallies) -> None:
    label, sign = text.side.name, text.side.sign
    scores = _scores(rows)
    numbers, in_context = numbers_of(rows, len(scores), sign), "effect" in rows
    squares = numbers**2
    decisive = -1
    if text.right is False and len(scores):
        towards = 1.0 if text.predicted == text.target else -1.0
        decisive = int(np.argmax(towards * np.array(scores)))
        tallies.deciding[text.index] = rows["word"][decisive]
    seen: set[str] = set()
    for place, word in enumerate(rows["word"]):
        tally = tallies.words.get((word, label))
        if tally is None:
            tally = tallies.words[word, label] = WordTally()
        tally.add(numbers[place], squares[place], in_context=in_context)
        tally.wrong += place == decisive
        tally.picks.add(sign * scores[place], text.index, place, place == decisive)
        if word not in seen:
            seen.add(word)
            tally.texts += 1
            tally.labelled += text.label is not None
            tally.of_label += text.label == text.side.label


def _scores(rows: Rows) -> list[float]:
    """The scores that rank words; a score that is missing counts as 0."""
    return [score or 0.0 for score in rows["effect" if "effect" in rows else "lin"]]


def _count_pairs(read: Read, tallies: _Tallies) -> None:
    """Count the texts that hold both words of a pair, wherever pairs are known."""
    if not tallies.pairs.listed:
        return
    for rows in by_text(read, ("index", "word"), ()):
        text = tallies.texts.get(rows["index"][0])
        if text is not None and text.tells_pairs:
            tallies.pairs.meet(rows["word"], text.side.name)


def _add_examples(read: Read, summary: Summary, tallies: _Tallies) -> None:
    """Give every listed row its excerpts, in the order in which they were chosen."""
    wanted: dict[int, list[tuple[Place, int, _Slots]]] = defaultdict(list)
    shown: list[tuple[list[Excerpt], _Slots]] = []
    for examples, places in _owners(summary, tallies):
        slots: _Slots = {}
        shown.append((examples, slots))
        for rank, place in enumerate(places):
            wanted[place.text].append((place, rank, slots))
    for rows in by_text(read, WHERE, (*IN_CONTEXT[:1], "lin", "segment")):
        index = rows["index"][0]
        if index in wanted:
            text = tallies.texts[index]
            scores = [text.side.sign * score for score in _scores(rows)]
            for place, rank, slots in wanted[index]:
                slots[rank] = _excerpt(text, pieces(rows, scores, place.positions))
    for examples, slots in shown:
        examples += [slots[rank] for rank in sorted(slots)]


def _owners(summary: Summary, tallies: _Tallies) -> Iterator[tuple[list[Excerpt], list[Place]]]:
    """The examples of everything that is listed, empty yet, and the places to show there."""
    for word in summary.listed():
        yield word.examples, tallies.words[word.word, word.label].picks.places(word.strength)
    # Those of texts enough first: others of them may do more, and are not in the tables.
    pairs = sorted(summary.together(1), key=lambda pair: pair.listed < summary.least_listed)
    for pair in pairs[:LISTED_PAIRS]:
        yield pair.examples, tallies.pairs.places(pair)
    texts = list(tallies.texts.values())
    for counts in summary.classes:
        yield counts.examples, class_places(texts, counts.label)
    for mistakes in summary.mistakes:
        yield mistakes.examples, mistake_places(texts, mistakes)


def _excerpt(text: ReadText, shown: tuple[Piece, ...]) -> Excerpt:
    told, sure = text.predicted or text.target, text.probability
    if text.side.name != text.side.label:
        sure = None  # a contrast has the share between two labels alone
    if sure is not None and told != text.target:
        sure = 1 - sure  # the row's is that of its target
    decided, wrong = text.predicted is not None, text.right is False
    return Excerpt(text.id, told, text.label, sure, shown, decided, wrong)
