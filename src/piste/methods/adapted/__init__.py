"""Scores of another library as a method: explained, compared and measured like our own."""

from __future__ import annotations

import hashlib
import inspect
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from piste.arrays import BoolArray, FloatArray
from piste.decision import Decision
from piste.errors import InputError, SettingError
from piste.methods.adapted.readers import Foreign, Piece, library, read, same_label
from piste.methods.base import Attribution, Method
from piste.methods.game import Game
from piste.result.basics import mirrored
from piste.result.explanation import Target
from piste.text.players import Players

CLOSE = 0.02  # of the model's score: how near a sum must come to be on its scale


@dataclass(frozen=True, eq=False)
class Adapted(Method):
    """Scores that another explainer found, laid on the words of the text."""

    # Other libraries' explainers are not made for threads, and read a text as a whole.
    parallel: ClassVar[bool] = False
    in_windows: ClassVar[bool] = False

    result: Any  # what it found, or a function of the text (and the label) that finds it
    name: str  # type: ignore[misc]  # given with the result, not by the class
    label: str | None = None  # for which the scores speak
    same_scale: bool | None = None

    def settings(self) -> dict[str, Any]:
        """The settings, with a digest that identifies the result or function."""
        known = {"name": self.name, "label": self.label, "same_scale": self.same_scale}
        return {"adapted": _digest(self.result), **known}

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        players, target = decision.players, decision.target
        if players.paired:
            raise SettingError("Adapted scores belong to a single text.", "Leave the pair out.")
        if target.against is not None and len(target.labels) > 2:
            raise SettingError(
                f"Adapted scores are of one label, and {target.title!r} is a contrast of two.",
                "Leave against out, or use a method of piste.",
            )
        turns = mirrored(target.labels, decision.query.classifier.outputs)
        found = read(self._found(players.text, target), players, target, mirrored=turns)
        foreign = self._signed(found, target, turns)
        shares = [replace(piece, score=piece.score / piece.times) for piece in foreign.pieces]
        # Several words together have each of their scores once, however often they share it.
        one_by_one = players.unit in ("word", "token")
        given = _laid(foreign.pieces if one_by_one else shares, players)
        if not self._on_scale(foreign, target):
            notes = (*foreign.notes, _on_no_scale(foreign, target))
            return Attribution({"given": given}, "given", notes=notes)
        each = _laid(shares, players)

        def predict(keep: BoolArray) -> FloatArray:
            return np.asarray(target.score - ~keep @ each)

        game = Game(decision, "delete")
        return Attribution(
            {"weight": given, "removal": each},
            "weight",
            fidelity=game.checked(predict, rng, players.whole),
            notes=foreign.notes,
        )

    def score_names(self) -> tuple[str, ...]:
        return ("weight", "removal") if self.same_scale else ("given",)

    @property
    def _is_function(self) -> bool:
        return callable(self.result) and library(self.result) == "given"

    def _found(self, text: str, target: Target) -> object:
        if not self._is_function:
            return self.result
        return self.result(text, target.label) if _takes_two(self.result) else self.result(text)

    def _signed(self, foreign: Foreign, target: Target, turns: bool) -> Foreign:
        """The scores towards the target; negated where they are for the other of two labels.

        turns: whether two labels exclude each other, so that this can be done.
        """
        if foreign.only is not None and self.label not in (None, foreign.only):
            raise SettingError(
                f"label is {self.label!r}, and the scores say that they are for {foreign.only!r}.",
                "Leave label out.",
            )
        if foreign.labelled or len(target.labels) == 1:
            return foreign
        if self.label is None:
            if self._is_function and not _takes_two(self.result):
                raise SettingError(
                    "piste does not know which label the function's scores are for.",
                    f"Say so: adapt(..., label={target.labels[-1]!r}), or take it as a second"
                    " argument: f(text, label).",
                )
            if turns:
                _check_side(foreign, target)
            return foreign
        if self.label not in target.labels:
            raise SettingError(
                f"The model has no label {self.label!r}.", f"It has {', '.join(target.labels)}."
            )
        if self.label == target.label:
            return foreign
        if not turns:
            same_label(self.label, target)
        turned = tuple(replace(piece, score=-piece.score) for piece in foreign.pieces)
        total = None if foreign.total is None else -foreign.total
        return replace(foreign, pieces=turned, total=total)

    def _on_scale(self, foreign: Foreign, target: Target) -> bool:
        """Whether the scores are changes of the target's own score: as told, or as they add up.

        For a function it must be told: texts whose sums happen to fit are no fair choice.
        """
        if self.same_scale is not None or self._is_function or foreign.total is None:
            return bool(self.same_scale)
        is_probability = target.probability is not None and _near(foreign.total, target.probability)
        return _near(foreign.total, target.score) and not is_probability


def adapt(
    result: Any,
    name: str | None = None,
    *,
    label: str | None = None,
    same_scale: bool | None = None,
) -> Adapted:
    """Make a method of what shap, lime, captum or anything else found, to measure it with ours.

    result: a `shap.Explanation` of one text, a lime explanation, (token, score) pairs, a dict of
    words, one number for every token that the model reads (captum), or a function that makes one
    of these of a text, or of a text and a label. Scores of pieces of a word are added up.
    name: as it is called in tables; by default the library's.
    label: for which the scores speak, where the result does not say it itself. For the other of
    two labels that exclude each other they are turned round.
    same_scale: True where the scores are changes of the log-odds (or whatever is explained): they
    are then tried as predictions too. None: as shap's sum tells; others only order the words.

        theirs = piste.adapt(shap_values[0], "shap", label="positive")
        print(piste.compare(text, classifier, ["slalom", theirs], measure=True))
    """
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise SettingError(f"name is {name!r}.", 'Give a text: "shap".')
    return Adapted(result, name or library(result), label, same_scale)


def _takes_two(function: Any) -> bool:
    """Whether a function takes the label too: a second argument without a default."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built in
        return False
    needed = [one for one in given if one.default is one.empty and one.kind in (0, 1)]
    return len(needed) == 2


def _check_side(foreign: Foreign, target: Target) -> None:
    """Refuse scores that add up to the score of the other label."""
    other = foreign.total is not None and _near(foreign.total, -target.score)
    if other and abs(target.score) > CLOSE:
        name = next(label for label in target.labels if label != target.label)
        raise SettingError(
            f"The scores add up to {foreign.total:.2f}, and the model says {target.score:.2f} for"
            f" {target.label!r}: they speak for {name!r}.",
            f"Say so: adapt(..., label={name!r}).",
        )


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, abs_tol=CLOSE * max(1.0, abs(other)))


def _laid(pieces: Sequence[Piece], players: Players) -> FloatArray:
    """Each piece's score, distributed over its players in proportion to their overlap."""
    scores, covered = np.zeros(len(players)), False
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
        covered = covered or bool(covers)
    if not covered:
        raise InputError("No score lies on the text.", "Is it of another text?")
    return scores


def _on_no_scale(foreign: Foreign, target: Target) -> str:
    said = (
        f"The scores order the words; they are not taken for changes of the {target.scale}"
        " (same_scale=True says that they are)."
    )
    if foreign.total is None:
        return said
    return f"{said} They add up to {foreign.total:.2f}, the model says {target.score:.2f}."


def _digest(result: Any) -> str:
    """A digest that identifies a result, or a function among others of the same name."""
    code = getattr(result, "__code__", None)
    if code is not None:
        content: object = (code.co_code, code.co_names, repr(code.co_consts))
    elif hasattr(result, "values") and not callable(result.values):
        content = np.asarray(result.values).tobytes()
    elif hasattr(result, "local_exp"):
        content = repr(sorted(result.local_exp.items()))
    elif hasattr(result, "detach"):
        content = np.asarray(result.detach().cpu()).tobytes()
    else:
        content = np.asarray(result).tobytes() if hasattr(result, "tobytes") else repr(result)
    return hashlib.blake2b(repr(content).encode(), digest_size=8).hexdigest()
