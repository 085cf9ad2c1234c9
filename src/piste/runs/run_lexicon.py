"""The lexicon of a run, where one is asked for: built over its texts, or read from a file."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from piste.data import Example
from piste.errors import FileError, InputError, SettingError
from piste.lexicon import Lexicon
from piste.methods import METHODS
from piste.models.fingerprint import check_lexicon
from piste.models.protocol import Classifier
from piste.runs.job import RunJob, Source
from piste.runs.lexicon import TextsDigest, build_lexicon, lexicon_inputs

log = logging.getLogger(__name__)

LEXICON = "lexicon.json.gz"
# For ranking words a quarter of what `build_lexicon` usually asks does as well: measured on 1,000
# film reviews.
LEXICON_EFFORT = 0.25
Wanted = bool | str | os.PathLike[str]  # True: build one; False: none; else its file
StageProgress = Callable[[str, int, int | None], None]  # what is done, how many of it, of how many


def chosen(job: RunJob, wanted: Wanted, first: Example) -> Wanted:
    """The lexicon to use, where there is to be one: refuses what does not go together."""
    if wanted is False:
        if job.refine is not None:
            raise SettingError(
                f"refine is {job.refine}, but there is no lexicon to refine.",
                "Give a lexicon too (--lexicon FILE or --build-lexicon), or an effort instead.",
            )
        return False
    if first.pair is not None or job.options.has_spans:
        kind = "pairs" if first.pair is not None else "spans of their own, by marks"
        raise SettingError(
            f"A lexicon holds words of single texts, but the data holds {kind}.",
            "Leave lexicon and refine out.",
        )
    if job.method not in (METHODS["context"], METHODS["slalom"]):
        raise SettingError(
            f"A lexicon needs context or slalom with their usual settings, not {job.method!r}.",
            'Use method="context", or leave the lexicon out.',
        )
    return wanted


def path_of(folder: Path, lexicon: Wanted) -> str | None:
    """Its file, of one that the run builds or was given."""
    if isinstance(lexicon, bool):
        return str(folder / LEXICON) if lexicon else None
    return os.fspath(lexicon)


def given(lexicon: Wanted, classifier: Classifier) -> Lexicon | None:
    """The lexicon of a file, verified to belong to this model; None if none was given."""
    if isinstance(lexicon, bool):
        return None
    known = Lexicon.load(lexicon)
    check_lexicon(known, classifier)
    return known


def own(
    path: Path, job: RunJob, classifier: Classifier, source: Source, watch: StageProgress | None
) -> Lexicon:
    """The lexicon of the run's own texts: the existing one, or a new one if it is stale."""
    if path.exists():
        unit, seed = job.options.unit, job.options.seed
        inputs = lexicon_inputs(TextsDigest(source.texts()), unit, LEXICON_EFFORT, seed)
        kept = _fitting(path, inputs, classifier)
        if kept is not None:
            return kept
        log.warning("The lexicon in %s is of other texts: all are explained with a new one.", path)
    told = None if watch is None else lambda done, total: watch("lexicon", done, total)
    return build_lexicon(
        source.texts(),
        classifier,
        out=path,
        unit=job.options.unit,
        effort=LEXICON_EFFORT,
        seed=job.options.seed,
        watch=told,
    )


def _fitting(path: Path, inputs: dict[str, Any], classifier: Classifier) -> Lexicon | None:
    """The existing lexicon; None if it is damaged, or of other texts or another model."""
    try:
        lexicon = Lexicon.load(path)
        check_lexicon(lexicon, classifier)
    except (FileError, SettingError):
        return None
    return lexicon if lexicon.facts.get("inputs") == inputs else None


def identity(lexicon: Wanted) -> Any:
    """What the manifest knows it by: a digest of its file, or whether the run builds one."""
    if isinstance(lexicon, bool):
        return lexicon
    try:
        return hashlib.sha256(Path(lexicon).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError(f"Cannot read {lexicon}: {error.strerror}.", "Check the path.") from error
