"""What changed from one model to another over the texts of a run, and whether that is too much."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

from piste.result.exports import data_frame
from piste.result.written import AsJson, text_or_file

if TYPE_CHECKING:
    import pandas

FEW = 3  # texts: of a word in fewer, only a change of many errors is beyond chance


@dataclass(frozen=True)
class Limits:
    """When a change counts."""

    alpha: float  # of unchanged models, the share that is reported as changed
    least: float  # smaller changes of an effect do not count, however sure; on the scores' scale
    flips: int  # decisions that may turn


@dataclass(frozen=True)
class Shift:
    """A word, or two words together: the mean effect in the baseline and now (towards `label`)."""

    words: tuple[str, ...]  # one, or the two of a pair in the order of the text
    label: str
    texts: int
    before: float
    after: float
    error: float  # standard error of the change
    chance: float  # p-value: how likely one that moved by `least` looks this large
    text: str  # id of the text in which it moved most
    opening: str = ""  # how that text begins
    spurious: bool = False  # a candidate for a spurious word that was none in the baseline
    largest: float = 0.0  # the change in that text
    moved: int = 0  # texts in which it surely moved
    uneven: bool = False  # single texts tell more than the mean: few moved, or either way

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class Flip:
    """A text whose decision turned."""

    text: str  # its id
    before: str
    after: str
    label: str | None  # of the data, by the model's name for it
    opening: str = ""  # how the text begins


@dataclass(frozen=True)
class FidelityChange:
    """The held-out R² of the explanations, over the texts that have one in both runs."""

    texts: int
    before: float | None  # medians; None without texts
    after: float | None
    chance: float
    fell: bool


@dataclass(frozen=True)
class ModelChange(AsJson):
    """What `piste.check` found: `words`, `pairs` and `flips` changed beyond their error bars.

    `words` and `pairs` are sorted by the size of the change. `changed` says whether a limit was
    passed; `failed` counts texts that could be explained in the baseline and not now.
    """

    baseline: str
    models: tuple[str, str]  # names: of the baseline, and now
    limits: Limits
    texts: int  # that were compared
    other: int  # texts of the baseline that were edited in the data, or moved to another row
    failed: int
    unreliable: int  # texts whose words are not compared: an R² is too low
    tested: int  # effects of words and pairs, and the fidelity: what may be a false alarm
    words: tuple[Shift, ...]
    pairs: tuple[Shift, ...]
    flips: tuple[Flip, ...]
    fidelity: FidelityChange
    below: tuple[Shift, ...] = ()  # moved beyond chance, but not surely by more than `limits.least`
    compared: int = 0  # words
    rare: int = 0  # of them in so few texts that only large changes can be told from chance
    needed: float = 0.0  # standard errors that a word in one text must move by
    missing: int = 0  # texts of the baseline that are not in the data any more
    baseline_texts: int = 0  # in all; 0 where that is not known
    notes: tuple[str, ...] = field(default=())

    @property
    def spurious(self) -> tuple[Shift, ...]:
        """The changed words that are candidates for spurious ones now, and were not before."""
        return tuple(word for word in self.words if word.spurious)

    @property
    def too_many_flips(self) -> bool:
        return len(self.flips) > self.limits.flips

    @property
    def untold(self) -> bool:
        """Whether texts were compared, but the words of none: no explanation is reliable."""
        return 0 < self.texts == self.unreliable

    @property
    def changed(self) -> bool:
        """Whether a word, a pair or the fidelity changed, or too many decisions turned.

        Also where no explanation is reliable: then nobody knows that the words did not.
        """
        moved = self.words or self.pairs or self.fidelity.fell or self.too_many_flips
        return bool(moved or self.untold)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        changes = {
            name: [asdict(shift) | {"change": shift.change} for shift in getattr(self, name)]
            for name in ("words", "pairs", "below")
        }
        return {"changed": self.changed, **asdict(self), **changes}

    def to_pandas(self) -> pandas.DataFrame:
        """One row a changed word or pair."""
        rows = list(self._rows())
        names = [f.name for f in fields(Shift) if f.name not in ("spurious", "uneven")]
        names.insert(names.index("error"), "change")
        return data_frame({name: [row[name] for row in rows] for name in names})

    def _rows(self) -> Iterator[dict[str, Any]]:
        for shift in (*self.words, *self.pairs):
            yield asdict(shift) | {"words": " + ".join(shift.words), "change": shift.change}

    # As with an Explanation, what shows it is loaded only when asked for.
    @overload
    def to_markdown(self, path: None = None) -> str: ...
    @overload
    def to_markdown(self, path: str | os.PathLike[str]) -> None: ...
    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """A summary in Markdown, as for a pull request; or written to `path`."""
        from piste.render.model_change_files import as_markdown

        return text_or_file(as_markdown(self), path)

    @overload
    def to_junit(self, path: None = None) -> str: ...
    @overload
    def to_junit(self, path: str | os.PathLike[str]) -> None: ...
    def to_junit(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """A JUnit report, in which every finding is a failed test; or written to `path`."""
        from piste.render.model_change_files import as_junit

        return text_or_file(as_junit(self), path)

    def __str__(self) -> str:
        from piste.render.model_change import as_text

        return as_text(self)
