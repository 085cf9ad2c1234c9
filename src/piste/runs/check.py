"""Whether a model still decides for the same reasons: its texts explained again, and compared.

The texts of a baseline are run through the new model with the settings that the baseline records,
then both runs are compared (`runs.run_comparison`).
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from piste.data import Columns, Texts, held
from piste.errors import FileError, InputError, SettingError, few
from piste.explain import explain
from piste.lexicon import Lexicon
from piste.methods import remade
from piste.models.loading import as_classifier, load
from piste.models.protocol import Classifier
from piste.options import LEAST_COMPARED, Options, share, whole_number
from piste.runs.job import Source
from piste.runs.model_change import ModelChange
from piste.runs.run import RunSettings, run
from piste.runs.run_comparison import (
    Matched,
    RunTables,
    compared,
    matched,
    same_target,
)
from piste.runs.run_lexicon import LEXICON, StageProgress
from piste.runs.run_summary import RunFacts, read_manifest
from piste.runs.shards import Shard
from piste.runs.store import stamp

ALPHA = 0.01  # one check in a hundred of an unchanged model reports something
SHARED = ("engine", "workers", "device", "trust_remote_code")  # settings of how, not of what
Raw = dict[str, Any]


def check(
    data: Texts,
    classifier: Classifier | str | None = None,
    baseline: str | os.PathLike[str] = "run",
    out: str | os.PathLike[str] | None = None,
    *,
    alpha: float = ALPHA,
    least: float | None = None,
    flips: int = 0,
    least_compared: float = LEAST_COMPARED,
    watch: StageProgress | None = None,
    **more: Any,
) -> ModelChange:
    """Explain the texts of a run with another model, and tell what changed beyond chance.

    data: what the baseline was made of, in any form that `run` takes; texts that were edited since
    are left out.
    classifier: the model to check. baseline: the folder that `piste.run` wrote with the old one.
    out: a folder for the new run, which is the next baseline; None: it is not kept.
    alpha: how often a model that did not change may be reported as changed, over all tests.
    least: changes of an effect up to this do not count, on the scale of the scores; None: a tenth
    of a text's strongest effect in the baseline, the median over texts.
    flips: how many decisions may turn.
    least_compared: the share of the baseline's texts that must be in the data as they were, and
    explained now; those that failed in the baseline do not count.
    more: engine, workers, device and trust_remote_code, as for `run`, and seed.
    """
    limits = _alpha(alpha), _least(least), whole_number("flips", flips, 0)
    wanted = share("least_compared", least_compared)
    before = _baseline(Path(baseline))
    _check_out(out, before.folder)
    settings = _settings(before.manifest.raw, more)
    how = RunSettings(**{name: settings[name] for name in SHARED if name in settings})
    asked = _loaded(classifier, how)
    _check_labels(before.manifest, asked)
    source = _source(held(data), before)
    _check_data(source, before, wanted)
    model = classifier if how.engine == "ray" or how.workers > 1 else asked  # workers load it
    with _folder(out) as folder:
        run(source.data, model, folder, limit=source.limit, watch=watch, **settings)
        after = RunTables.of(folder)
        after = _towards_the_same(before, after, source, asked)
        change = compared(before, after, *limits)
    _check_explained(change, wanted)
    return change


def _check_explained(change: ModelChange, least: float) -> None:
    """Refuse a verdict on few texts because the model failed on the others."""
    both = change.texts + change.failed
    if change.texts < least * both:
        raise InputError(
            f"The model now fails on {change.failed:,} of the {both:,} texts to be compared.",
            "Run `piste explain` on one of them to see why, or lower least_compared.",
            "Run `piste explain` on one of them to see why, or lower --least-compared.",
        )


def _check_data(source: Source, before: RunTables, least: float) -> None:
    """Refuse a verdict on few texts, which would look like a model that did not change."""
    rows = {i: {"id": one.id, "stamp": stamp(one)} for i, one in enumerate(source.examples())}
    found = matched(before.texts, rows)
    number, total = len(found.known), sum(row["error"] is None for row in before.texts.values())
    if number and number / total >= least:
        return
    remedy = "Give the data that the baseline was made of, or make a new baseline."
    if not number:
        raise InputError(f"No text of the baseline can be compared: {_why(found)}.", remedy)
    enough = _rounded_down(number / total)
    raise InputError(
        f"Only {number:,} of the baseline's {total:,} texts can be compared: {_why(found)}.",
        f"{remedy} If so few are enough: least_compared={enough:g}.",
        f"{remedy} If so few are enough: --least-compared {enough:g}.",
    )


def _rounded_down(part: float) -> float:
    """To one digit that is not 0: .91 to .9, .043 to .04."""
    size = 10.0 ** math.floor(math.log10(part))
    return math.floor(part / size + 1e-9) * size


def _why(found: Matched) -> str:
    """What keeps texts from being compared, with the number of each."""
    reasons = {
        "missing from the data": found.missing,
        "edited, or moved to another row": found.edited,
        "not explained in the baseline": found.unexplained,
    }
    return ", ".join(f"{number:,} {reason}" for reason, number in reasons.items() if number)


def _alpha(alpha: float) -> float:
    if share("alpha", alpha, ALPHA) == 1:  # then everything is a finding
        raise SettingError(f"alpha is {alpha}.", f"Give a number above 0, below 1: {ALPHA}.")
    return alpha


def _least(least: float | None) -> float | None:
    number = isinstance(least, int | float) and not isinstance(least, bool)
    if least is not None and not (number and 0 <= least < float("inf")):
        raise SettingError(f"least is {least!r}.", "Give a number from 0: 0.2.")
    return least


def _baseline(folder: Path) -> RunTables:
    """The tables of the baseline, once it is sure that they can be compared."""
    manifest = read_manifest(folder)
    if not manifest.ended:
        raise FileError(
            f"The run in {folder} has not finished.",
            "Run the same `piste run` again to continue it.",
        )
    if manifest.raw.get("method") != "context":
        raise SettingError(
            f"The baseline was made with {few([manifest.raw.get('method')])}, which knows no errors"
            " of effects.",
            'Make it with method="context", the default of `piste run`.',
        )
    if not isinstance(manifest.raw.get("lexicon"), bool):
        raise SettingError(
            "The baseline was made with a lexicon of the old model, which the new one cannot use.",
            "Make it without --lexicon FILE: each run then has its own.",
        )
    return RunTables.of(folder)


def _check_out(out: str | os.PathLike[str] | None, baseline: Path) -> None:
    """Refuse the baseline's own folder, whose parts the new run would make again."""
    if out is not None and Path(out).resolve() == baseline.resolve():
        raise SettingError("The new run would replace the baseline.", "Give --out another folder.")


def _settings(raw: Raw, more: Raw) -> Raw:
    """What the baseline was made with, as arguments of `run`; `more` says how, and a seed."""
    unknown = [name for name in more if name not in (*SHARED, "seed")]
    if unknown:
        raise SettingError(
            f"{unknown[0]!r} cannot be set: a check repeats the settings of its baseline.",
            f"It takes {', '.join((*SHARED, 'seed'))}.",
        )
    options = {name: raw[name] for name in _options() if name in raw}
    reading = {"columns": Columns(**raw["columns"]), "split": raw["split"], "shard": raw["shard"]}
    method = remade(raw["method"], raw["settings"])
    return {
        "method": method,
        "lexicon": raw["lexicon"],
        "refine": raw["refine"],
        **options,
        **reading,
        **more,
    }


def _options() -> list[str]:
    """The settings of `Options` that a manifest records under their names."""
    return [f.name for f in fields(Options) if f.name not in ("lexicon", "refine", "batch_tokens")]


def _loaded(classifier: Classifier | str | None, how: RunSettings) -> Classifier:
    """The model in this process, which asks it of its labels and explains some texts again."""
    if not isinstance(classifier, str):
        return as_classifier(classifier)
    return load(classifier, device=how.device, trust_remote_code=how.trust_remote_code)


def _check_labels(manifest: RunFacts, classifier: Classifier) -> None:
    """Refuse a model that chooses from other labels, before it is asked."""
    labels = tuple(classifier.labels or ())
    if labels and manifest.labels and labels != manifest.labels:
        raise SettingError(
            f"The baseline has the labels {few(manifest.labels)}, the model {few(labels)}.",
            "Give the model the same label names in the same order (id2label).",
        )


def _source(data: Texts, before: RunTables) -> Source:
    """The rows of the baseline, and no more."""
    raw = before.manifest.raw
    limit = max(before.texts, default=0) + 1
    return Source(data, Columns(**raw["columns"]), limit, raw["split"], raw["shard"])


@contextmanager
def _folder(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="piste-check-") as folder:
        yield Path(folder)


def _towards_the_same(
    before: RunTables, after: RunTables, source: Source, classifier: Classifier
) -> RunTables:
    """Texts for which another label is predicted now, explained towards that of the baseline.

    Of two labels that exclude each other none is: what speaks against one speaks for the other.
    """
    if before.manifest.mirrored:
        return after
    other = {
        index
        for index, row in before.texts.items()
        if row["error"] is None
        and index in after.texts
        and after.texts[index]["error"] is None
        and not same_target(row, after.texts[index])
    }
    return replace(after, other=dict(_again(other, before, after, source, classifier)))


def _again(
    wanted: set[int], before: RunTables, after: RunTables, source: Source, classifier: Classifier
) -> Iterator[tuple[int, Shard]]:
    raw = after.manifest.raw
    path = after.folder / LEXICON
    known = Lexicon.load(path) if raw["lexicon"] is True and wanted else None
    options = Options.of(**{name: raw[name] for name in _options() if name in raw})
    for index, example in enumerate(source.examples()):
        if index in wanted:
            row = before.texts[index]
            settings = replace(
                options,
                target=row["target_index"],
                against=row["against"],
                lexicon=known,
                refine=raw["refine"] if known is not None else None,
            )
            method = remade(raw["method"], raw["settings"])
            explanation = explain(
                example.text, classifier, method, pair=example.pair, **settings.named()
            )
            shard = Shard.of(tuple(explanation.scores))
            shard.add(index, example, explanation)
            yield index, shard
