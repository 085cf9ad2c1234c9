"""Parts of a text: what an explanation says of them, and what it keeps to say it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.errors import SettingError

NOT_TURNED = "No removal of"  # how the note begins where no set was found
NEAR = 0.3  # share of the players that a part near the text keeps, at least
MOST_COMPLETE = 12  # players of a text whose 4,096 parts may all be asked
SURE = 2.0  # standard errors beyond which a number is not taken for chance
MOST_PARTS = 4000  # that a process is fitted to: its matrices have so many rows


@dataclass(frozen=True)
class Prediction:
    """The score of a part of the text, as an explanation predicts it."""

    score: float
    error: float | None  # standard error; None where the explanation knows none


class WithWords:
    """What names players by index, and knows their words where an explanation has told them.

    The words are no field: they stand in the explanation, and files and tables have them there.
    """

    _words: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The players' words, in the order of their indices; empty where nobody has told them."""
        return self._words

    def told(self, words: Sequence[str]) -> Self:
        """The same, with the words."""
        with_them = copy(self)
        object.__setattr__(with_them, "_words", tuple(words))  # the dataclass is frozen
        return with_them

    def _named(self, indices: Sequence[int]) -> str:
        """ "'but' (5), 'superb' (9)"; hostile characters are escaped."""
        if len(self.words) != len(indices):
            return ", ".join(map(str, indices))
        return ", ".join(f"{word!r} ({i})" for word, i in zip(self.words, indices, strict=True))


@dataclass(frozen=True, repr=False)
class Pair(WithWords):
    """Two players that act together: indices, and what both do beyond what each does alone.

    `effect` is the interaction: how much more the second does where the first is there than where
    it is not, on average over parts near the text, which keep 30 to 100 % of the other players.
    """

    first: int
    second: int
    effect: float
    error: float

    def __repr__(self) -> str:
        two = self._named((self.first, self.second))
        return f"<Pair {two}: effect {self.effect:+.3g} ±{self.error:.2g}>"


def is_sure(effect: float, error: float) -> bool:
    """Whether an effect is beyond chance."""
    return abs(effect) > SURE * error


def has_letters(word: str) -> bool:
    """Whether it is more than punctuation; symbols such as emoji are."""
    return any(not unicodedata.category(character).startswith("P") for character in word)


@dataclass(frozen=True, repr=False)
class PlayerSet(WithWords):
    """Players that turn a decision when they are removed, or keep it when they are left alone.

    `predicted` and `error` are the explanation's; `score` and `label` are the model's own answer.
    """

    players: tuple[int, ...]
    predicted: float
    error: float
    score: float
    label: str

    def __repr__(self) -> str:
        return f"<PlayerSet {self._named(self.players)}: {self.label!r}, score {self.score:+.3g}>"


@dataclass(frozen=True, eq=False)
class PartAnswers:
    """What was asked about parts of the text, and the process fitted to the answers.

    With the formula of the explanation (where `on_slalom`), it predicts any other part.
    """

    kept: tuple[str, ...]  # a string for each part: "1" where it keeps the player, else "0"
    answers: FloatArray  # [parts]
    relevances: FloatArray  # [players]
    noise: float
    slope: float
    amplitude: float
    inflation: float
    on_slalom: bool
    base_is_given: bool = False  # the model cannot read an empty text: something stands for it
    varies: float = 0.0  # how far two of the model's answers to the same part were apart

    @property
    def complete(self) -> bool:
        """Whether every part of a short text was asked about."""
        players = len(self.relevances)
        return players <= MOST_COMPLETE and len(set(self.kept)) == 2**players

    @property
    def tells_pairs(self) -> bool:
        """Whether a part was asked in which many words stand together, besides the whole text."""
        kept = self.parts.mean(axis=1)
        return self.complete or bool(((kept >= NEAR) & (kept < 1)).any())

    @cached_property
    def parts(self) -> BoolArray:
        """[parts, players]."""
        rows = [np.frombuffer(row.encode("ascii"), dtype=np.uint8) == ord("1") for row in self.kept]
        return np.stack(rows)


def unknown_parts(what: str, method: str, settings: Mapping[str, Any]) -> SettingError:
    """The error where an explanation has kept nothing that tells `what`."""
    if settings.get("long") == "windows":
        return SettingError(
            f"An explanation in windows does not tell {what}: it is known only within each window.",
            "Explain a part of the text that the model reads at once.",
        )
    return SettingError(f"The scores of {method} do not tell {what}.", 'Use method="context".')
