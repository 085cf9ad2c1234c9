"""What another library found, as a method: explained, compared and measured like our own."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from piste.errors import InputError, SettingError
from piste.explanation import FloatArray, Target
from piste.methods.base import Attribution
from piste.methods.coalitions import BoolArray, Game
from piste.methods.foreign import Foreign, Piece, library, read
from piste.models.query import Query
from piste.text.players import Players

CLOSE = 0.02  # of the model's score: how near a sum must come to be on its scale


@dataclass(frozen=True, eq=False)
class Adapted:
    """Scores that another explainer found, laid on the words of the text."""

    result: Any  # what it found, or a function of the text that finds it
    name: str
    same_scale: bool | None = None

    def told(self) -> dict[str, Any]:
        """The settings: what was found is in the scores."""
        return {"name": self.name, "same_scale": self.same_scale}

    def explain(
        self, query: Query, players: Players, target: Target, rng: np.random.Generator
    ) -> Attribution:
        if players.paired:
            raise SettingError("Adapted scores are of one text.", "Leave the pair out.")
        found = read(self._found(players.text), players, target)
        given = _laid(found.pieces, players)
        if not given.any():
            raise InputError("No score lies on the text.", "Is it of another text?")
        if not self._on_scale(found, target):
            notes = (_on_no_scale(found, target),)
            return Attribution({"given": given}, "given", notes=notes)
        shares = [replace(piece, score=piece.score / piece.times) for piece in found.pieces]
        each = _laid(shares, players)
        game = Game(query, players, target, "delete")

        def predict(keep: BoolArray) -> FloatArray:
            return np.asarray(target.score - ~keep @ each)

        fidelity = game.checked(predict, rng, players.whole)
        return Attribution({"weight": given, "removal": each}, "weight", fidelity=fidelity)

    def _found(self, text: str) -> object:
        return self.result(text) if callable(self.result) else self.result

    def _on_scale(self, found: Foreign, target: Target) -> bool:
        """Whether the scores are changes of the target's own score: as told, or as they add up."""
        if self.same_scale is not None:
            return self.same_scale
        near = CLOSE * max(1.0, abs(target.score))
        return found.total is not None and math.isclose(found.total, target.score, abs_tol=near)


def adapt(result: Any, name: str | None = None, *, same_scale: bool | None = None) -> Adapted:
    """Make a method of what shap, lime, captum or anything else found, to measure it with ours.

    result: a `shap.Explanation` of one text, a lime explanation, (token, score) pairs, a dict of
    words, one number for every token that the model reads (captum), or a function that makes one
    of these of a text. Scores of pieces of a word are added up.
    name: as it is called in tables; by default the library's.
    same_scale: True where the scores are changes of the log-odds (or whatever is explained): they
    are then tried as predictions too. None: as shap's sum tells; others only order the words.

        theirs = piste.adapt(shap_values[0], "shap")
        print(piste.compare(text, classifier, ["slalom", theirs], measure=True))
    """
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise SettingError(f"name is {name!r}.", 'Give a text: "shap".')
    return Adapted(result, name or library(result), same_scale)


def _laid(pieces: Sequence[Piece], players: Players) -> FloatArray:
    """Every piece's score on the players under it, in proportion to how much of it they cover."""
    scores = np.zeros(len(players))
    ends = [player.end for player in players.items]
    for piece in pieces:
        start, end = piece.span
        covers = {}
        for index in range(bisect_right(ends, start), len(players)):
            player = players.items[index]
            if player.start >= end:
                break
            covers[index] = min(end, player.end) - max(start, player.start)
        for index, cover in covers.items():
            scores[index] += piece.score * cover / sum(covers.values())
    return scores


def _on_no_scale(found: Foreign, target: Target) -> str:
    said = (
        f"The scores order the words; they are not taken for changes of the {target.scale}"
        " (same_scale=True says that they are)."
    )
    if found.total is None:
        return said
    return f"{said} They add up to {found.total:.2f}, the model says {target.score:.2f}."
