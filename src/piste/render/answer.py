"""The answer in one sentence: what was decided, which words made it, and what would turn it."""

from __future__ import annotations

import unicodedata
from itertools import combinations

from piste.decision import RAW
from piste.render import together, trust, words
from piste.render.clean import one_line
from piste.render.shades import sided
from piste.result.explanation import Explanation, Row
from piste.result.parts import is_sure

MOST = 3  # words named as the reason
COMPARABLE = 0.5  # of the strongest: a weaker word is not named beside it


def sentence(explanation: Explanation) -> str:
    """The explanation's headline: "NUM (97 %), mainly because of “How” + “many”."

    Followed by what would turn the decision, where that was found and verified.
    """
    said = f"{decided(explanation)}{_because(explanation)}."
    return " ".join([said, *filter(None, [together.turns(explanation, score=False)])])


def decided(explanation: Explanation) -> str:
    """What was explained, with its probability or its number: "NUM (97 %)"."""
    target = explanation.target
    if target.scale == RAW:
        return f"{words.named(target)} {words.signed(target.score)}"
    if target.probability is None or target.against is not None:
        return f"{words.named(target)} ({words.score_of(target)})"
    return f"{words.named(target)} ({words.percent(target.probability)})"


def reasons(explanation: Explanation) -> list[Row]:
    """The words that brought the score to where it is, strongest first, at most three.

    They are beyond chance, and at least half as strong as the strongest. A punctuation mark is
    named only if it is itself the strongest.
    """
    name, up = explanation.primary, _risen(explanation)
    rows = [row for row in explanation.top(len(explanation.players)) if _counts(row, explanation)]
    rows = [row for row in rows if (row.scores[name] > 0) == up]
    least = COMPARABLE * max((abs(row.scores[name]) for row in rows), default=0.0)
    rows = [row for row in rows if abs(row.scores[name]) >= least]
    return [row for row in rows if row is rows[0] or _has_letters(row)][:MOST]


def _has_letters(row: Row) -> bool:
    """Whether it is more than punctuation; symbols such as emoji are."""
    return any(not unicodedata.category(character).startswith("P") for character in row.player.text)


def _counts(row: Row, explanation: Explanation) -> bool:
    name = explanation.primary
    return is_sure(row.scores[name], row.errors.get(name, 0.0))


def _risen(explanation: Explanation) -> bool:
    """Whether the words have raised the score; weights without a side always have."""
    return not sided(explanation) or explanation.target.score >= (explanation.base or 0.0)


def unreliable(explanation: Explanation) -> bool:
    """Whether the scores predict the model so badly that a warning stands above them."""
    checked = explanation.fidelity
    r2 = None if checked is None or trust.exact(explanation) else checked.worst.r2
    return r2 is not None and r2 < trust.LOW


def _because(explanation: Explanation) -> str:
    named = reasons(explanation)
    if not named:
        return f"; no single {explanation.unit} stands out"
    joined = _joined(explanation, named)
    if not sided(explanation):
        return f"; the most weight lies on {joined}"
    up, raw = _risen(explanation), explanation.target.scale == RAW
    doubt = "according to these scores " if unreliable(explanation) else ""
    if raw:
        return f", {doubt}{'raised' if up else 'lowered'} mainly by {joined}"
    if up:
        return f", {doubt}mainly because of {joined}"
    speak = "speaks" if len(named) == 1 else "speak"
    if explanation.target.score > 0:
        start = words.signed(explanation.base or 0.0)
        return f", although {joined} {speak} against it: the empty text already scores {start}"
    return f": {joined} {speak} against it"


def _joined(explanation: Explanation, rows: list[Row]) -> str:
    """“How” + “many”, as they are read, where words act together; else “superb” and “fine”."""
    pairs = together.sure_pairs(explanation)
    sign = 1 if _risen(explanation) else -1
    linked = {
        frozenset(explanation.players[index].group for index in (pair.first, pair.second))
        for pair in pairs
        if pair.effect * sign > 0
    }
    groups = [row.player.group for row in rows]
    if len(groups) > 1 and all(frozenset(two) in linked for two in combinations(groups, 2)):
        return " + ".join(map(_quoted, sorted(rows, key=lambda row: row.player.start)))
    return words.listed([_quoted(row) for row in rows])


def _quoted(row: Row) -> str:
    return f"“{one_line(row.player.text)}”"
