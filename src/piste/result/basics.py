"""What every explanation is made of: the units of a text, the number that is explained, a line of
the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from piste.arrays import IntArray

NAMED = 3  # ways to write a word that its name holds


@dataclass(frozen=True)
class Player:
    """One unit of the text. `text[start:end]` is what the person wrote; `ids` what the model reads.

    Players with the same `group` are the same to the model. Methods that fit words give them one
    score; those that look at places (occlusion, gam, anchors) score each.
    """

    text: str
    start: int
    end: int
    ids: tuple[int, ...]
    group: int
    segment: int = 0  # 1: of the second text of a pair


def read_as(players: Sequence[Player]) -> IntArray:
    """A number for what the model reads of each player [players]; equal ones cannot be told apart.

    Finer than groups: of a function a word may have other blanks around it in another place.
    """
    numbers: dict[object, int] = {}
    keys = ((player.segment, player.ids) for player in players)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


@dataclass(frozen=True)
class Target:
    """The number that is explained: which output, on which scale, and what the model says."""

    index: int
    label: str
    # "log-odds", "raw score", "logit above the mean of all classes" or "log-odds against LOC"
    scale: str
    score: float  # of the whole text, on that scale, towards this label
    # None on the raw scale; of a contrast, p(label) / (p(label) + p(against)).
    probability: float | None
    labels: tuple[str, ...]
    against: str | None = None  # the label that this one is contrasted with
    against_index: int | None = None

    @property
    def title(self) -> str:
        """What is explained: "NUM", or "NUM rather than LOC"."""
        return title(self.label, self.against)


def title(label: str, against: str | None) -> str:
    """What scores speak for: "NUM", or "NUM rather than LOC"."""
    return label if against is None else f"{label} rather than {against}"


def mirrored(labels: Sequence[str], outputs: str | None) -> bool:
    """Whether what speaks against one of two labels speaks for the other.

    outputs: what the model's outputs are (`models.protocol.Outputs`). Old files do not tell (None):
    their two labels are taken for classes, which exclude each other.
    """
    return len(labels) == 2 and outputs in ("classes", None)


@dataclass(frozen=True)
class Row:
    """One line of `Explanation.top`: a distinct player and its scores."""

    player: Player
    occurrences: int
    scores: dict[str, float]
    errors: dict[str, float]  # standard errors; empty where the method has none
    texts: tuple[str, ...] = ()  # how it is written, where that differs by more than capitals

    @property
    def name(self) -> str:
        """The word; of words that the model cannot tell apart (unknown ones), some of them."""
        if not self.texts:
            return self.player.text
        return "/".join(self.texts[:NAMED]) + ("/…" if len(self.texts) > NAMED else "")
