"""An explanation in the forms of other libraries, which are loaded only here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from piste.errors import SettingError, choices
from piste.extras import require
from piste.result.explanation import Explanation
from piste.result.scores import CLASS, SCORES, UNKNOWN

if TYPE_CHECKING:
    import pandas


def to_pandas(explanation: Explanation) -> pandas.DataFrame:
    """One row a player, in reading order: what it is, its scores, and their standard errors."""
    players, columns = explanation.players, places(explanation)
    columns["group"] = [player.group for player in players]
    if explanation.second is not None:
        columns["segment"] = [player.segment for player in players]
    for name, values in explanation.scores.items():
        columns[name] = values.copy()
        if name in explanation.errors:
            columns[f"{name}_error"] = explanation.errors[name].copy()
    return data_frame(columns)


def places(explanation: Explanation) -> dict[str, Any]:
    """The columns that identify each player: its text and position."""
    players = explanation.players
    return {
        explanation.unit: [player.text for player in players],
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
