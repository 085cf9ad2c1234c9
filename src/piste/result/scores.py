"""What a score is: its meaning in one sentence, and what may be done with it.

Renderers, exports, merging, metrics and the contract tests read this table. A new score is one
line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from piste.arrays import FloatArray
from piste.errors import SettingError, choices

CLASS = ": "  # in the name of a score that belongs to another class: "value: neutral"


@dataclass(frozen=True)
class Score:
    """One line of the table.

    In `meaning`, {unit}, {scale} and {method} are filled in, and {sides}: what a score above 0
    speaks for, and below.
    """

    meaning: str
    signed: bool = True  # above 0 it speaks for the target, below against; else it is a weight
    predicts: bool = True  # it says how far the model's score moves without the player
    adds_up: bool = False  # the players' scores sum to the model's score less a base
    by_class: bool = True  # another target has other scores
    in_context: bool = True  # it depends on the other players; else the player has it by itself


SCORES: Mapping[str, Score] = {
    "effect": Score(
        "what the {unit} contributes to the {scale} in this text, including its share of what it"
        " does together with others (Shapley value). {sides}",
        adds_up=True,
    ),
    "relevance": Score(
        "how much the model's answer can change when the {unit} does, whichever way",
        signed=False,
        predicts=False,
    ),
    "value": Score(
        "the {scale} that the {unit} alone would get, as estimated. {sides}", in_context=False
    ),
    "importance": Score(
        "how much weight the {unit} gets compared with the others, whichever side it is on. 0 is"
        " average, +1 is 2.7 times as much",
        signed=False,
        predicts=False,
        in_context=False,
    ),
    "lin": Score("value times weight (value × e^importance)", in_context=False),
    "shapley": Score(
        "the fair share of the {unit} in the {scale}, over all orders of adding {unit}s",
        adds_up=True,
    ),
    "removal": Score("how far the {scale} should fall if this occurrence is removed"),
    "weight": Score("what the {unit} adds to the {scale} where it is present. {sides}"),
    "grad-input": Score("the gradient at the {unit} times its embedding. {sides}"),
    "grad-avg": Score("the mean of the gradient at the {unit} over its dimensions. {sides}"),
    "grad-l1": Score(
        "the size of the gradient at the {unit} (sum of absolute values); it has no side",
        signed=False,
        predicts=False,
    ),
    "grad-l2": Score(
        "the size of the gradient at the {unit} (Euclidean); it has no side",
        signed=False,
        predicts=False,
    ),
    "ig": Score("the {unit}'s part of the way from the baseline to the text. {sides}"),
    "alpha-avg": Score(
        "the attention that the {unit} gets where the model classifies, the heads' mean; it"
        " has no side",
        signed=False,
        predicts=False,
        by_class=False,
    ),
    "alpha-max": Score(
        "the attention of the head that looks most at the {unit}; it has no side",
        signed=False,
        predicts=False,
        by_class=False,
    ),
    "rollout": Score(
        "the attention that reaches the {unit} through all layers; it has no side",
        signed=False,
        predicts=False,
        by_class=False,
    ),
    "anchor": Score(
        "1 for the {unit}s that together keep the decision, 0 for all others",
        signed=False,
        predicts=False,
        in_context=False,
    ),
    "given": Score("the score that {method} gave, on its own scale. {sides}", predicts=False),
}
UNKNOWN = Score("a score of the method {method}. {sides}")  # of a method from outside


def score(name: str) -> Score:
    """What the score of this name is; that of another class ("value: neutral") is the same."""
    return SCORES.get(name.split(CLASS, 1)[0], UNKNOWN)


class NoSuchScore(SettingError, KeyError):
    """A name that is not among the scores; a `KeyError` too, as of any dictionary."""

    __str__ = Exception.__str__  # a KeyError's would be in quotes


class Scores(dict[str, FloatArray]):
    """An explanation's scores by name; one that is not there is an error that guesses the name."""

    what: ClassVar[str] = "score"

    def __missing__(self, name: object) -> NoReturn:
        told = choices(self.what, name, list(self))
        raise NoSuchScore(told.cause, told.remedy)


class Errors(Scores):
    """Their standard errors, of those that have any."""

    what: ClassVar[str] = "standard error of"
