"""Two runs of the same texts side by side: which words, pairs and decisions are others.

Effects are compared place by place, so what differs between texts cancels out. Of a word, the mean
change over its texts counts, or the changes in single texts, where they go either way. All tests
are one family (Benjamini and Hochberg): of models that did not change, a share of `alpha` is
reported at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from piste.arrays import FloatArray
from piste.result.facts import LOW
from piste.runs import shards
from piste.runs.model_change import FEW, FidelityChange, Flip, Limits, ModelChange, Shift
from piste.runs.run_summary import (
    RunFacts,
    by_text,
    named_label,
    predicted_label,
    read_manifest,
    side,
)
from piste.runs.shards import MOST_PAIRS
from piste.runs.shifts import Key, Tally, beyond_chance, moved, needed
from piste.runs.word_summary import summarise

TEXT = (
    "index",
    "id",
    "label",
    "target",
    "target_index",
    "against",
    "score",
    "r2",
    "error",
    "stamp",
)
PLACES = ("index", "word", "start", "segment", "effect", "effect_error")
OPENING = 60  # characters of a text that a report shows
LEAST = 0.1  # of the strongest effect in a text, the median over texts: a smaller change is small
FALL = 0.05  # of R²: a smaller fall does not count
ROUNDING = 1e-4  # of a text's strongest effect: another machine may change as much
TURNED = 1e-3  # a score that moved by less may have turned by rounding
Row = Mapping[str, Any]
Table = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class RunTables:
    """A run as the comparison reads it."""

    folder: Path
    manifest: RunFacts
    texts: Mapping[int, Row]
    other: Mapping[int, shards.Shard] = field(default_factory=dict)  # of texts explained once more

    @classmethod
    def of(cls, folder: Path) -> RunTables:
        rows = {
            row["index"]: row
            for table in shards.read(folder, shards.TEXTS, TEXT, ["pairs"])
            for row in _rows(table)
        }
        return cls(folder, read_manifest(folder), rows)

    def explained(self, index: int) -> Row:
        """The row of a text as its explanation is compared."""
        again = self.other.get(index)
        return self.texts[index] if again is None else next(_rows(again.texts))

    def places(self) -> Iterator[tuple[int, Table]]:
        """The words of every text, in the order of the texts."""
        for table in by_text(partial(shards.read, self.folder), PLACES, ()):
            index = table["index"][0]
            yield index, self.other[index].players if index in self.other else table


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    names = list(table)
    for cells in zip(*table.values(), strict=True):
        yield dict(zip(names, cells, strict=True))


@dataclass(frozen=True)
class Matched:
    """What became of the texts of a baseline in the data."""

    known: list[int]  # rows that are the same, and were explained in the baseline
    unexplained: int  # the same, but they failed in the baseline
    edited: int  # or moved to another row
    missing: int


def matched(before: Mapping[int, Row], now: Mapping[int, Row]) -> Matched:
    """Rows of the baseline beside those of the data, by number, stamp and id."""
    same = [i for i, row in before.items() if i in now and now[i]["stamp"] == row["stamp"]]
    known = [index for index in same if before[index]["error"] is None]
    missing = _missing(before, now)
    edited = len(before) - len(same) - missing
    return Matched(known, len(same) - len(known), edited, missing)


def _missing(before: Mapping[int, Row], now: Mapping[int, Row]) -> int:
    """How many ids are gone; of data whose ids are all new, how many rows there are too few."""
    there = {row["id"] for row in now.values()}
    gone = sum(row["id"] not in there for row in before.values())
    return gone if gone < len(before) else sum(index not in now for index in before)


def compared(
    before: RunTables, after: RunTables, alpha: float, least: float | None, flips: int
) -> ModelChange:
    """What changed from one run to the other; least=None: by the size of the baseline's effects."""
    found = matched(before.texts, after.texts)
    known = found.known
    both = {index for index in known if after.texts[index]["error"] is None}
    told = {index for index in both if _tells(before, after, index)}
    tallies, openings, typical = _tallied(before, after, told)
    texts = {i: {**row, "opening": openings.get(i, "")} for i, row in before.texts.items()}
    limits = Limits(alpha, LEAST * typical if least is None else least, flips)
    shifts = [
        tally.shift(key, texts, limits.least) for key, tally in tallies.items() if tally.texts
    ]
    fidelity = _fidelity(before, after, sorted(both))
    changed = beyond_chance([*(shift.chance for shift in shifts), fidelity.chance], alpha)
    sure = [shift for shift, is_sure in zip(shifts, changed, strict=False) if is_sure]
    sure.sort(key=lambda shift: -abs(shift.change))
    named = {(shift.words, shift.label) for shift in sure}
    below = [one for one in moved(shifts, alpha) if (one.words, one.label) not in named]
    words = [shift for shift in shifts if len(shift.words) == 1]
    return ModelChange(
        baseline=str(before.folder),
        models=(before.manifest.model, after.manifest.model),
        limits=limits,
        texts=len(both),
        other=found.edited,
        failed=len(known) - len(both),
        unreliable=len(both) - len(told),
        tested=len(changed),
        words=_with_spurious([one for one in sure if len(one.words) == 1], before, after),
        pairs=tuple(one for one in sure if len(one.words) == 2),
        flips=tuple(_flips(replace(before, texts=texts), after, sorted(both))),
        fidelity=replace(fidelity, fell=bool(changed[-1])),
        below=tuple(below),
        compared=len(words),
        rare=sum(shift.texts < FEW for shift in words),
        needed=needed(len(changed), alpha),
        missing=found.missing,
        baseline_texts=len(before.texts),
    )


def same_target(before: Row, after: Row) -> bool:
    return all(before[name] == after[name] for name in ("target_index", "against"))


def _tells(before: RunTables, after: RunTables, index: int) -> bool:
    """Whether both explanations of a text can be relied on, and speak of the same number."""
    rows = before.explained(index), after.explained(index)
    reliable = all(row["r2"] is None or row["r2"] >= LOW for row in rows)
    return reliable and (before.manifest.mirrored or same_target(*rows))


def _side(row: Row, manifest: RunFacts) -> tuple[str, float]:
    """The label (or contrast) towards which effects are told, and the sign that they get by it."""
    told = side(row["target"], row["against"], manifest)
    return told.name, told.sign


def _tallied(
    before: RunTables, after: RunTables, told: set[int]
) -> tuple[dict[Key, Tally], dict[int, str], float]:
    """The tallies of all words and pairs, how every text begins, and how strong a text's strongest
    effect usually is.
    """
    tallies: dict[Key, Tally] = {}
    openings, strongest = {}, []
    for index, was, now in _together(before.places(), after.places()):
        openings[index] = _opening(was)
        rows = before.explained(index), after.explained(index)
        if index not in told:
            continue
        label, sign = _side(rows[0], before.manifest)
        signs = sign, _side(rows[1], before.manifest)[1]
        strongest.append(max(np.abs(_numbers(was, "effect")), default=0.0))
        own = (ROUNDING * strongest[-1]) ** 2
        _add_words(tallies, index, label, (was, now), signs, own)
        _add_pairs(tallies, index, label, (rows[0].get("pairs"), rows[1].get("pairs")), signs, own)
    return tallies, openings, float(np.median(strongest)) if strongest else 0.0


def _opening(table: Table) -> str:
    """How a text begins, from its words: a run does not keep the text itself."""
    said, end = "", 0
    for word, start, segment in zip(*(table[n] for n in ("word", "start", "segment")), strict=True):
        if segment or len(said) > OPENING:
            break
        said += (" " if said and start > end else "") + word
        end = start + len(word)
    return said if len(said) <= OPENING else said[: OPENING - 1].rstrip() + "…"


def _together(
    before: Iterator[tuple[int, Table]], after: Iterator[tuple[int, Table]]
) -> Iterator[tuple[int, Table, Table]]:
    """The texts that are in both; each run has them in order."""
    now = next(after, None)
    for index, was in before:
        while now is not None and now[0] < index:
            now = next(after, None)
        if now is not None and now[0] == index:
            yield index, was, now[1]


def _numbers(table: Table, name: str) -> FloatArray:
    return np.array([number or 0.0 for number in table[name]], dtype=np.float64)


def _add_words(
    tallies: dict[Key, Tally],
    index: int,
    label: str,
    tables: tuple[Table, Table],
    signs: tuple[float, float],
    rounding: float,
) -> None:
    """Every word of a text that stands at the same place in both. rounding: a variance."""
    places = [
        {
            (start, word): at
            for at, (start, word) in enumerate(zip(t["start"], t["word"], strict=True))
        }
        for t in tables
    ]
    effects = [sign * _numbers(table, "effect") for sign, table in zip(signs, tables, strict=True)]
    errors = [_numbers(table, "effect_error") for table in tables]
    chosen: dict[str, list[tuple[int, int]]] = {}
    for (start, word), at in places[0].items():
        if (start, word) in places[1]:
            chosen.setdefault(word, []).append((at, places[1][start, word]))
    for word, ats in chosen.items():
        was, now = (list(one) for one in zip(*ats, strict=True))
        variance = float(np.sum(errors[0][was] ** 2) + np.sum(errors[1][now] ** 2))
        tally = tallies.setdefault(((word,), label), Tally())
        tally.add(index, effects[0][was], effects[1][now], variance + rounding)


def _add_pairs(
    tallies: dict[Key, Tally],
    index: int,
    label: str,
    listed: tuple[Sequence[Row] | None, Sequence[Row] | None],
    signs: tuple[float, float],
    rounding: float,
) -> None:
    """Every pair that is recorded for a text in one of the runs.

    A run records the strongest few. Of the others it is known that they are weaker than these: such
    a pair is taken to be as near to its effect in the other run as that allows.
    """
    if listed[0] is None or listed[1] is None:
        return
    known = [
        _by_place(pairs, sign)
        for pairs, sign in zip(listed, signs, strict=True)
        if pairs is not None
    ]
    weakest = [_weakest(pairs) for pairs in listed if pairs is not None]
    sums: dict[tuple[str, ...], FloatArray] = {}  # words that meet at several places count once
    for place in dict.fromkeys([*known[0], *known[1]]):
        told = [pairs.get(place) for pairs in known]
        was, now = (
            mine if mine is not None else _nearest(theirs, limit)
            for mine, theirs, limit in zip(told, told[::-1], weakest, strict=True)
        )
        sums[place[2:]] = sums.get(place[2:], 0.0) + np.array([was[0], now[0], was[1] + now[1]])
    for words, (was, now, variance) in sums.items():
        tally = tallies.setdefault((words, label), Tally())
        tally.add(index, np.array([was]), np.array([now]), variance + rounding)


def _by_place(
    pairs: Sequence[Row], sign: float
) -> dict[tuple[int, int, str, str], tuple[float, float]]:
    """Effect and variance of each pair, by its positions and words."""
    return {
        (pair["first"], pair["second"], pair["first_word"], pair["second_word"]): (
            sign * pair["effect"],
            pair["error"] ** 2,
        )
        for pair in pairs
    }


def _weakest(pairs: Sequence[Row]) -> float:
    """What a pair that is not recorded has at most; with fewer pairs than usual, none is left."""
    return 0.0 if len(pairs) < MOST_PAIRS else min(abs(pair["effect"]) for pair in pairs)


def _nearest(other: tuple[float, float] | None, limit: float) -> tuple[float, float]:
    effect, variance = other or (0.0, 0.0)
    return float(np.clip(effect, -limit, limit)), variance


def _fidelity(before: RunTables, after: RunTables, both: Sequence[int]) -> FidelityChange:
    """Whether R² fell by more than `FALL`, by Wilcoxon's test over texts."""
    pairs = [(before.explained(index)["r2"], after.explained(index)["r2"]) for index in both]
    known = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
    if not len(known):
        return FidelityChange(0, None, None, 1.0, False)
    was, now = known.T
    chance = float(wilcoxon(was - now - FALL, alternative="greater").pvalue)
    return FidelityChange(len(known), float(np.median(was)), float(np.median(now)), chance, False)


def _flips(before: RunTables, after: RunTables, both: Sequence[int]) -> Iterator[Flip]:
    for index in both:
        was, now = before.texts[index], after.texts[index]
        told = before.explained(index), after.explained(index)  # of the same label
        # Of labels that do not exclude each other, another may come first with no decision turned.
        rows = told if before.manifest.outputs == "labels" else (was, now)
        decided = [predicted_label(r["target"], r["score"], before.manifest) for r in rows]
        scores = [_side(row, before.manifest)[1] * row["score"] for row in told]
        moved = abs(scores[0] - scores[1])
        if None not in decided and decided[0] != decided[1] and moved >= TURNED:
            label = named_label(was["label"], before.manifest.labels)
            yield Flip(str(was["id"]), str(decided[0]), str(decided[1]), label, was["opening"])


def _with_spurious(
    words: Sequence[Shift], before: RunTables, after: RunTables
) -> tuple[Shift, ...]:
    """The words, with a mark at those that became candidates for spurious ones."""
    if not words:
        return ()
    was, now = (_spurious(run.folder) for run in (before, after))
    return tuple(replace(w, spurious=(w.words[0], w.label) in now - was) for w in words)


def _spurious(folder: Path) -> set[tuple[str, str]]:
    return {(word.word, word.label) for word in summarise(folder).spurious()}
