"""Explanations in memory in the forms of a run: its tables, its folder, its summary."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from piste.data import DEFAULT as COLUMNS
from piste.errors import FileError, SettingError, few
from piste.extras import versions
from piste.files import as_path, encodable, make_folder, write_atomic
from piste.many import Failure, Pairing
from piste.result.comparable import outputs_of
from piste.result.explanation import Explanation
from piste.result.exports import columns, score_names
from piste.runs import shards
from piste.runs.commits import TEXTS, Destination, begin
from piste.runs.manifest import ENDED, MANIFEST
from piste.runs.run import SHARD
from piste.runs.run_summary import RunFacts, Table, is_chosen, summed_up
from piste.runs.shards import Shard
from piste.runs.store import ANOTHER, FINGERPRINT, FORMAT
from piste.runs.word_summary import Summary

IN_MEMORY = "texts in memory"
EVERY = (  # columns that a table of players has, whatever the method
    *("index", "id", "position", "target"),
    *("word", "start", "end", "group", "segment", "score", "score_error"),
)


def texts_table(pairings: Sequence[Pairing]) -> Table:
    """A run's table of texts, by columns."""
    texts = _shard(list(enumerate(pairings))).texts
    return {name: cells for name, cells in texts.items() if name != "stamp"}


def players_table(pairings: Sequence[Pairing]) -> Table:
    """The columns of all players of all texts."""
    results = [result for _, result in pairings if isinstance(result, Explanation)]
    names = score_names(results)
    table: Table = {name: [] for name in EVERY}  # also where all failed
    for index, (example, result) in enumerate(pairings):
        if not isinstance(result, Explanation):
            continue
        count = len(result.players)
        own: dict[str, list[Any]] = {
            "index": [index] * count,
            "id": [example.id] * count,
            "position": list(range(count)),
            "target": [result.target.label] * count,
        }
        for name, cells in (own | columns(result, names)).items():
            table.setdefault(name, []).extend(cells)
    return table


def summarised(pairings: Sequence[Pairing]) -> Summary:
    """The summary that `piste summary` gives of a run with these texts."""
    facts, shard = _facts(pairings), _shard(list(enumerate(pairings)))

    def read(kind: str, columns: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Table]:
        table = shard.texts if kind == TEXTS else shard.players
        lacking = [name for name in columns if name not in table]
        if lacking:
            raise SettingError(f"The explanations have no {', '.join(lacking)}.", shards.BY_WORDS)
        wanted = [name for name in (*columns, *optional) if name in table]
        yield {name: _safe(table[name]) for name in wanted}

    return summed_up(IN_MEMORY, facts, read)


def write(pairings: Sequence[Pairing], folder: str | os.PathLike[str]) -> None:
    """Write the folder that `piste run` would have written."""
    shards.check_library()
    path = as_path(folder)
    if not pairings:
        raise SettingError("There is no text to write.", "Explain some texts first.")
    _facts(pairings)  # refuses what is no run
    if shards.holds_results(path):
        raise FileError(f"{path} holds results of a run already.", ANOTHER)
    make_folder(path)
    begin(path)
    destination = Destination(os.path.abspath(path))
    numbered = enumerate(pairings)
    for number, part in enumerate(iter(lambda: list(islice(numbered, SHARD)), [])):
        destination.commit(shards.stage(destination, number, _shard(part, pairings)))
    destination.clear()
    write_atomic(path / MANIFEST, json.dumps(_manifest(pairings), indent=1, default=str) + "\n")


def _manifest(pairings: Sequence[Pairing]) -> dict[str, Any]:
    """What the explanations were made with, as a run says it."""
    facts, first = _facts(pairings), _explained(pairings)[0]
    options = {} if first.record is None else first.record.options
    known = {} if first.record is None else dict(first.record.fingerprint)
    return {
        "format": FORMAT,
        "data": IN_MEMORY,
        "split": "train",
        "columns": asdict(COLUMNS),
        "model": facts.model,
        FINGERPRINT: {"outputs": facts.outputs} | known,
        "labels": facts.labels,
        "method": first.method,
        "settings": first.settings,
        "seed": first.seed,
        **options,
        "lexicon": options.get("lexicon") or False,
        "refine": options.get("refine"),
        "shard": SHARD,
        "versions": versions(),
        "backend": first.backend,
        ENDED: len(pairings),
    }


def _explained(pairings: Sequence[Pairing]) -> list[Explanation]:
    if not pairings:
        raise SettingError(
            "There is no text to sum up.", "Explain some texts, or take another part of the list."
        )
    explanations = [result for _, result in pairings if isinstance(result, Explanation)]
    if not explanations:
        failed = [result.reason for _, result in pairings if isinstance(result, Failure)]
        some = f"None of {len(pairings):,} texts was" if len(pairings) > 1 else "No text was"
        raise SettingError(
            f"{some} explained: {few(failed, 1).rstrip('.')}.",
            "Look at their reasons: `failures`.",
        )
    return explanations


def _facts(pairings: Sequence[Pairing]) -> RunFacts:
    """What all have in common; several models or kinds of scores have no summary."""
    explanations = _explained(pairings)
    for what in ("model", "method"):
        several = sorted({getattr(one, what) for one in explanations})
        if len(several) > 1:
            raise SettingError(
                f"These explanations are of more than one {what}: {few(several, 4)}.",
                f"Take those of one {what} together.",
            )
    _check_one_model(explanations)
    first = explanations[0]
    asked = None if first.record is None else first.record.options.get("target")
    labels = tuple(encodable(name) for name in first.target.labels)
    return RunFacts(
        first.model, labels, ended=True, chosen=is_chosen(asked, labels), outputs=outputs_of(first)
    )


def _check_one_model(explanations: Sequence[Explanation]) -> None:
    """Refuse models that only share a name: every lambda is called "<lambda>"."""
    model = few([explanations[0].model])
    labels = list(dict.fromkeys(few(one.target.labels, 4) for one in explanations))
    kinds = {outputs_of(one) for one in explanations} - {None}
    if len({one.target.labels for one in explanations}) > 1 or len(kinds) > 1:
        told = " and ".join(labels) if len(labels) > 1 else few(sorted(map(str, kinds)))
        raise SettingError(
            f"These explanations are of more than one model called {model}: {told}.",
            "Take those of one model together; from_function(..., name=...) tells functions apart.",
        )


def _shard(
    numbered: Sequence[tuple[int, Pairing]], all_of_them: Sequence[Pairing] | None = None
) -> Shard:
    """The rows of these texts, with the scores that any of them has."""
    known = [one for _, one in numbered] if all_of_them is None else all_of_them
    results = [result for _, result in known if isinstance(result, Explanation)]
    shard = Shard.of(list(dict.fromkeys(name for one in results for name in one.scores)))
    for index, (example, result) in numbered:
        shard.add(index, example, result.reason if isinstance(result, Failure) else result)
    return shard


def _safe(cells: Sequence[Any]) -> list[Any]:
    """As they come back from a file: without lone surrogates."""
    return [encodable(cell) if isinstance(cell, str) else cell for cell in cells]
