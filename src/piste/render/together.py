"""What words do together, what would turn the decision, and where the scores start: in sentences.

For explanations that know parts of the text; of all others there is nothing to say here.
"""

import math
from dataclasses import dataclass

from piste.decision import RAW
from piste.render.clean import one_line
from piste.render.words import give_or_take, largest, listed, quoted, signed
from piste.result.explanation import Explanation
from piste.result.parts import SURE, Pair, PlayerSet, has_letters, is_sure

SHOWN = 5  # pairs in a sentence each
SEARCHED = 40  # the strongest pairs, from which those are chosen that are shown
NAMED = 5  # words of a set; the others are counted
NOTABLE = 0.05  # of the interaction: a word that says less on one side is not turned
WORTH = 0.05  # of the strongest effect or interaction: less than that is not worth a sentence
STRONG = 0.5  # the same for a pair with a punctuation mark, which is seldom what a reader looks for


@dataclass(frozen=True)
class Link:
    """Two players that act together, and the sentence that says how."""

    pair: Pair
    text: str


def links(explanation: Explanation, most: int = SHOWN) -> list[Link]:
    """The strongest interactions beyond chance; of equal words, the strongest two places.

    Those that matter beside what the words do: a twentieth of the strongest effect at least, half
    of it with a punctuation mark.
    """
    found: dict[frozenset[int], Link] = {}
    pairs = sure_pairs(explanation)
    sizes = [abs(pair.effect) for pair in pairs[:1]]
    strongest = max([*sizes, largest(explanation, explanation.primary)])
    for pair in pairs:
        two = [explanation.players[index] for index in (pair.first, pair.second)]
        least = WORTH if all(has_letters(player.text) for player in two) else STRONG
        if abs(pair.effect) < least * strongest:
            continue
        groups = frozenset(player.group for player in two)
        found.setdefault(groups, Link(pair, _sentence(explanation, pair)))
    return list(found.values())[:most]


def sure_pairs(explanation: Explanation, most: int = SEARCHED) -> list[Pair]:
    """The strongest pairs whose interaction is beyond chance, strongest first."""
    if explanation.parts is None or not explanation.parts.tells_pairs:
        return []
    pairs = explanation.pairs(most)
    return [pair for pair in pairs if is_sure(pair.effect, pair.error)]


def _sentence(explanation: Explanation, pair: Pair) -> str:
    first, second = (named(explanation, index) for index in (pair.first, pair.second))
    return f"{_relation(explanation, pair, first, second)}: {_amount(pair)}"


def _amount(pair: Pair) -> str:
    return f"{signed(pair.effect)}{error_of(pair.error, abs(pair.effect))}"


def _relation(explanation: Explanation, pair: Pair, first: str, second: str) -> str:
    """What one does to the other; where their own effects leave that open, that they act together.

    A word is weakened where the interaction goes against its own effect, else reinforced.
    """
    turned = _turned(explanation, pair)
    if turned is not None:
        names = (first, second) if turned.index == pair.first else (second, first)
        return _only(explanation, *names, with_other=turned.with_other > 0)
    effects, errors = explanation.scores["effect"], explanation.errors["effect"]
    agree = [
        agrees(float(effects[index]), float(errors[index]), pair.effect)
        for index in (pair.first, pair.second)
    ]
    if None in agree:
        return f"{first} and {second} act together"
    if agree[0] == agree[1]:
        return f"{first} and {second} {'reinforce each other' if agree[0] else 'overlap'}"
    return f"{first} weakens {second}" if agree[0] else f"{second} weakens {first}"


def agrees(effect: float, error: float, interaction: float) -> bool | None:
    """Whether a word's effect is on the side of the interaction; None where it is chance."""
    return effect * interaction > 0 if is_sure(effect, error) else None


def _only(explanation: Explanation, name: str, other: str, *, with_other: bool) -> str:
    """A player that changes sides: "“good” speaks for positive only without “not”"."""
    target = explanation.target
    speaks = "raises it" if target.scale == RAW else f"speaks for {one_line(target.label, 40)}"
    return f"{name} {speaks} only {'with' if with_other else 'without'} {other}"


@dataclass(frozen=True)
class _Turned:
    """A player that says the opposite where another stands: its effect there, and without it."""

    index: int
    with_other: float
    without: float


def _turned(explanation: Explanation, pair: Pair) -> _Turned | None:
    """The player that says the opposite where the other stands; None where that is not sure.

    A player's effect is the mean of its effects with and without the other, and the interaction is
    their difference. Both must be beyond chance, on different sides.
    """
    effects, errors = explanation.scores["effect"], explanation.errors["effect"]
    turned: list[_Turned] = []
    for index in (pair.first, pair.second):
        sides = [float(effects[index]) + sign * pair.effect / 2 for sign in (1, -1)]
        error = math.hypot(float(errors[index]), pair.error / 2)
        least = max(SURE * error, NOTABLE * abs(pair.effect))
        if sides[0] * sides[1] < 0 and min(map(abs, sides)) > least:
            turned.append(_Turned(index, *sides))
    return max(turned, key=lambda one: abs(one.without), default=None)


def turning(explanation: Explanation) -> list[str]:
    """What would turn the decision and what keeps it; both were verified on the model."""
    return [said for said in (turns(explanation), keeps(explanation)) if said]


def turns(explanation: Explanation, score: bool = True) -> str | None:
    """What would turn the decision: "Without “many” it would say DESC (verified: −0.72)."."""
    flip = explanation.flip
    if flip is None:
        return None
    verified = f" (verified: {signed(flip.score)})" if score else ""
    words = _words(explanation, flip)
    return f"Without {words} it would say {one_line(flip.label)}{verified}."


def keeps(explanation: Explanation) -> str | None:
    """What is enough for the decision: "“superb” alone is enough for positive (...)."."""
    core = explanation.core
    if core is None:
        return None
    are, label = "are" if len(core.players) > 1 else "is", one_line(core.label)
    enough = f"{_words(explanation, core)} alone {are} enough for {label}"
    if core.label == explanation.target.label:
        return f"{enough} (verified: {signed(core.score)})."
    own = one_line(explanation.target.label)
    return f"{enough}, the model's answer (verified: {own} scores {signed(core.score)})."


def _words(explanation: Explanation, players: PlayerSet) -> str:
    names = [named(explanation, index) for index in players.players]
    if len(names) <= NAMED + 1:
        return listed(names)
    return listed([*names[:NAMED], f"{len(names) - NAMED} other {explanation.unit}s"])


def base(explanation: Explanation) -> str | None:
    """Where the effects start from, and where they lead."""
    if explanation.base is None or "effect" not in explanation.scores:
        return None
    empty = "empty text scores" if explanation.second is None else "empty texts score"
    effects = explanation.scores["effect"].tolist()
    ends = (explanation.base, explanation.target.score, *effects)
    start, end = (signed(score, max(map(abs, ends))) for score in ends[:2])
    every = f"the effects of all {explanation.unit}s lead from there to {end}"
    return f"The {empty} {start}; {every}."


def named(explanation: Explanation, index: int) -> str:
    """A player in quotes; with its place, where equal ones stand in the text or there are two."""
    player = explanation.players[index]
    same = [
        place
        for place, other in enumerate(explanation.players)
        if other.text == player.text and other.segment == player.segment
    ]
    place = ordinal(same.index(index) + 1) if len(same) > 1 else ""
    return quoted(explanation, player, place)


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th."""
    teen = 10 <= number % 100 < 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def error_of(error: float, largest: float = 0.0) -> str:
    """±0.20, or nothing where the number is exact."""
    return f" {give_or_take(error, largest)}" if error else ""
