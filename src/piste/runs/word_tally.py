"""One word over all its occurrences in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from piste.arrays import FloatArray
from piste.result.parts import is_sure
from piste.runs.excerpts import Excerpt, Picks

FEW_TEXTS = 5  # of fewer a word's place in the data says nothing
LESSER, LESSER_SHARE = 2, 0.1  # of the sure occurrences: so many on the rarer side are no chance
ONE_SIDED = 1.64  # standard errors: beyond them on one given side in 5 % of draws by chance
NUMBERS = (
    "value",
    "importance",
    "lin",
    "value_error",
    "importance_error",
    "effect",
    "effect_error",
)
SIGNED = np.array([1, 0, 1, 0, 0, 1, 0], dtype=bool)  # which of them turn with the label


@dataclass
class Word:
    """One word (towards one label) over all its occurrences."""

    word: str
    label: str
    occurrences: int = 0
    texts: int = 0
    value: float = 0.0
    importance: float = 0.0
    lin: float = 0.0
    value_error: float = 0.0
    importance_error: float = 0.0
    effect: float | None = None  # in its texts; None where the run has no such score
    effect_error: float | None = None
    sided: int = 0  # occurrences that are surely on one side, whichever
    flips: float = 0.0  # share of these that are on the rarer of the two sides
    lesser: float | None = None  # the mean effect of the sure ones, in size, on the smaller side
    labelled: int = 0  # texts with a label in the data
    lift: float | None = None  # share of `label` among them, less that of all texts
    lift_error: float | None = None
    wrong: int = 0  # wrong predictions whose strongest word for the prediction this is
    examples: list[Excerpt] = field(default_factory=list, repr=False)

    @property
    def strength(self) -> float:
        """The score that ranks words: the effect, or lin where there is none."""
        return self.lin if self.effect is None else self.effect

    @property
    def is_sure(self) -> bool:
        """Whether its side is beyond chance, by the effect or by the value."""
        if self.effect is None or self.effect_error is None:
            return is_sure(self.value, self.value_error)
        return is_sure(self.effect, self.effect_error)

    @property
    def turns(self) -> bool:
        """Whether its side changes with the text, in enough texts and occurrences to say so."""
        lesser = round(self.flips * self.sided)
        enough = min(self.texts, self.sided) >= FEW_TEXTS and lesser >= LESSER
        return enough and self.flips >= LESSER_SHARE


def numbers_of(rows: Mapping[str, Sequence[float | None]], count: int, sign: float) -> FloatArray:
    """The `NUMBERS` of a text's words [count, numbers], turned by the sign; 0 where one lacks."""
    columns = [rows.get(name) or [0.0] * count for name in NUMBERS]
    told = np.array([[number or 0.0 for number in column] for column in columns])
    told[SIGNED] *= sign
    return np.ascontiguousarray(told.T)


@dataclass
class WordTally:
    """Sums over the occurrences of a word."""

    count: int = 0
    sums: FloatArray = field(default_factory=lambda: np.zeros(len(NUMBERS)))
    squares: FloatArray = field(default_factory=lambda: np.zeros(len(NUMBERS)))
    in_context: bool = False  # whether occurrences have effects
    sided: int = 0  # occurrences that are surely on one side
    positive: int = 0  # of them
    effects: FloatArray = field(default_factory=lambda: np.zeros(2))  # of them, below and above 0
    texts: int = 0
    labelled: int = 0
    of_label: int = 0
    wrong: int = 0
    picks: Picks = field(default_factory=Picks)

    def add(self, numbers: FloatArray, squares: FloatArray, *, in_context: bool) -> None:
        """An occurrence: its `NUMBERS` and their squares; in_context: it has an effect."""
        self.count += 1
        self.sums += numbers
        self.squares += squares
        self.in_context = self.in_context or in_context
        # A value is that of the word, an effect that of the place: only the latter's error counts.
        score, error = (numbers[5], numbers[6]) if self.in_context else (numbers[0], 0.0)
        self.sided += bool(abs(score) > ONE_SIDED * error or not self.in_context)
        self.positive += bool(score > ONE_SIDED * error)
        if self.in_context and abs(score) > ONE_SIDED * error:
            self.effects[int(score > 0)] += abs(score)

    def word(self, word: str, label: str, share: float | None) -> Word:
        """The means. share: of the label among all texts that have one."""
        mean, square = self.sums / self.count, self.squares / self.count
        # Occurrences differ, and each is known only so well: both count.
        spread = np.sqrt(np.maximum(0.0, square - mean**2) / self.count)
        summed = Word(word, label, self.count, self.texts)
        summed.value, summed.importance, summed.lin = (float(number) for number in mean[:3])
        summed.value_error = float(np.hypot(spread[0], mean[3]))
        summed.importance_error = float(np.hypot(spread[1], mean[4]))
        if self.in_context:  # every text was asked about by itself: the errors average out
            summed.effect = float(mean[5])
            summed.effect_error = float(np.hypot(spread[5], np.sqrt(square[6] / self.count)))
        summed.sided = self.sided
        summed.flips = min(self.positive, self.sided - self.positive) / max(1, self.sided)
        if self.in_context and 0 < self.positive < self.sided:
            sides = np.array([self.sided - self.positive, self.positive])
            summed.lesser = float((self.effects / sides).min())
        summed.labelled, summed.wrong = self.labelled, self.wrong
        if share is not None and self.labelled:
            summed.lift = float(self.of_label / self.labelled - share)
            summed.lift_error = float(np.sqrt(max(share * (1 - share), 1e-9) / self.labelled))
        return summed
