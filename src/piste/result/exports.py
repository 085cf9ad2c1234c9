"""An explanation in the forms of other libraries, which are loaded only here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.arrays import FloatArray
from piste.errors import SettingError, choices
from piste.extras import require
from piste.result.explanation import Explanation
from piste.result.scores import CLASS, SCORES, UNKNOWN

if TYPE_CHECKING:
    import pandas


def to_pandas(explanation: Explanation) -> pandas.DataFrame:
    """One row a player, in reading order: what it is, its scores, and their standard errors."""
    return data_frame(columns(explanation, score_names([explanation])))


def columns(explanation: Explanation, names: Sequence[str]) -> dict[str, list[Any]]:
    """Where each player stands, the score that ranks, and these scores: the same for any method.

    Every score has a column of errors beside it; what a method has none of is not a number.
    """
    players = explanation.players
    told = places(explanation)
    told["group"] = [player.group for player in players]
    told["segment"] = [player.segment for player in players]
    for column, name in [("score", explanation.primary), *zip(names, names, strict=True)]:
        told[column] = _numbers(explanation.scores, name, len(players))
        told[f"{column}_error"] = _numbers(explanation.errors, name, len(players))
    return told


def score_names(explanations: Iterable[Explanation]) -> list[str]:
    """The names of all their scores, in the order of the table of scores; others come last."""
    names = list(dict.fromkeys(name for one in explanations for name in one.scores))
    known = list(SCORES)
    return sorted(names, key=lambda name: known.index(name) if name in SCORES else len(known))


def _numbers(scores: Mapping[str, FloatArray], name: str, count: int) -> list[float]:
    return scores[name].tolist() if name in scores else [math.nan] * count


def places(explanation: Explanation) -> dict[str, list[Any]]:
    """The columns that identify each player: its text and position."""
    players = explanation.players
    return {
        "word": [player.text for player in players],  # whatever the unit
        "start": [player.start for player in players],
        "end": [player.end for player in players],
    }


def data_frame(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """A data frame of these columns; raises an error where pandas is missing."""
    frame: pandas.DataFrame = require("pandas", "to_pandas()").DataFrame(columns)
    return frame


def to_shap(explanation: Explanation, score: str | None = None) -> Any:
    """A `shap.Explanation` of one text, as shap's plots take it: pieces that make up the text.

    Scores and base value add up to the model's score: effects start from the score of the empty
    text, and for all others the base value is what they leave.
    """
    adding_up = [known for known, kind in SCORES.items() if kind.adds_up]
    # Without such a score, changes of the model's score are nearest to what the plots show.
    wanted = (*adding_up, "removal")
    name = score or next((n for n in wanted if n in explanation.scores), explanation.primary)
    own = [known for known in explanation.scores if CLASS not in known]
    if name not in own:  # another class's scores do not add up to this one's
        raise choices("score", name, own)
    if not SCORES.get(name, UNKNOWN).signed:
        raise SettingError(
            f"{name!r} has no side, and shap's plots need one.",
            "Name another score, or use another method.",
        )
    values = explanation.scores[name].copy()
    base = explanation.base if name == "effect" else None
    left = explanation.target.score - float(values.sum())
    exported = require("shap", "to_shap()").Explanation(
        values=values,
        base_values=left if base is None else base,
        data=np.array(_pieces(explanation), dtype=object),
    )
    exported.output_names = explanation.target.title  # given above, it would be taken for a shape
    return exported


def _pieces(explanation: Explanation) -> list[str]:
    """The text cut before every player: joined, they are the text again."""
    starts = [player.start for player in explanation.players]
    cuts = [0, *starts[1:], len(explanation.text)]
    return [explanation.text[a:b] for a, b in pairwise(cuts)]
