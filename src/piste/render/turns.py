"""What would turn the decision and what keeps it, as things to try: one click each on the pages."""

from __future__ import annotations

from dataclasses import dataclass

from piste.render.clean import one_line
from piste.render.together import named
from piste.render.words import give_or_take, listed, signed
from piste.result.explanation import Explanation
from piste.result.parts import NOT_TURNED, PlayerSet

EXACT = 0.005  # a smaller error is not worth a word
NAMED = 6  # players, before "and 3 more"


@dataclass(frozen=True)
class Turn:
    """A part of the text that the model was asked about, and its answer."""

    action: str  # "Take out “many”"
    answer: str
    out: tuple[int, ...]  # players that are not in the part


def turns(explanation: Explanation) -> list[Turn]:
    """Without the players that turn it, and with those alone that keep it, where they are known."""
    tried = []
    if explanation.flip is not None:
        some = _listed(explanation, explanation.flip)
        said = _answer(explanation, explanation.flip, f"Without {some}")
        tried.append(Turn(f"Take out {some}", said, explanation.flip.players))
    if explanation.core is not None:
        some, kept = _listed(explanation, explanation.core), set(explanation.core.players)
        said = _answer(explanation, explanation.core, f"From {some} alone")
        out = tuple(index for index in range(len(explanation.players)) if index not in kept)
        tried.append(Turn(f"Keep only {some}", said, out))
    return tried


def unturned(explanation: Explanation) -> str | None:
    """The note that says that nothing was found to turn the decision."""
    return next((note for note in explanation.notes if note.startswith(NOT_TURNED)), None)


def _listed(explanation: Explanation, players: PlayerSet) -> str:
    names = [named(explanation, index) for index in players.players]
    more = len(names) - NAMED
    return listed([*names[:NAMED], f"{more} more"] if more > 1 else names)


def _answer(explanation: Explanation, players: PlayerSet, without: str) -> str:
    target = explanation.target
    guess = f"; predicted: {signed(players.predicted)} {give_or_take(players.error)}"
    return (
        f"{without} the model says {one_line(players.label)}. {one_line(target.label)} then scores "
        f"{signed(players.score)} instead of {signed(target.score)} "
        f"(verified on the model{guess if players.error >= EXACT else ''})."
    )
