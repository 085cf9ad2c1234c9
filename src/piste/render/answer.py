"""The answer in one sentence: what was decided, which words made it, and what would turn it."""

from __future__ import annotations

from collections.abc import Sequence

from piste.decision import RAW
from piste.render import together, trust, words
from piste.render.shades import sided
from piste.result.explanation import Explanation, Row
from piste.result.facts import LOW
from piste.result.parts import has_letters, is_sure

MOST = 3  # words named as the reason
COMPARABLE = 0.5  # of the strongest: a weaker word is named only where more are needed
MAINLY = 0.5  # of what brought the score about: words that carry less are not named as its reason
JOINED = 0.5  # of the strongest word: what two words do together is then a reason of its own


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
        return f"{words.named(target)} {words.plainly(target)}"
    if target.probability is None or target.against is not None:
        return f"{words.named(target)} ({words.score_of(target)})"
    return f"{words.named(target)} ({words.percent(target.probability)})"


def reasons(explanation: Explanation) -> list[Row]:
    """The words that brought the score to where it is, strongest first, at most three.

    They are beyond chance, and at least half as strong as the strongest, or it takes them to carry
    half of the effect. A punctuation mark is named only if it is itself the strongest.
    """
    rows = _for_it(explanation)
    strong = [row for row in rows if row is rows[0] or has_letters(row.player.text)][:MOST]
    sizes = [abs(row.scores[explanation.primary]) for row in strong]
    return strong[: few(sizes, _carried(explanation))]


def few(sizes: Sequence[float], whole: float) -> int:
    """How many of the strongest `sizes` are named: the comparable ones, or what carries half.

    The strongest alone where all together do not carry half of the whole.
    """
    count = sum(size >= COMPARABLE * sizes[0] for size in sizes)
    while count < len(sizes) and sum(sizes[:count]) < MAINLY * whole:
        count += 1
    return count if sum(sizes[:count]) >= MAINLY * whole else 1


def _for_it(explanation: Explanation) -> list[Row]:
    """The words beyond chance that moved the score where it went, strongest first."""
    name, up = explanation.primary, _risen(explanation)
    rows = [row for row in explanation.top(len(explanation.players)) if _counts(row, explanation)]
    return [row for row in rows if (row.scores[name] > 0) == up]


def _carried(explanation: Explanation) -> float:
    """All that moved the score where it went: words beyond chance, and what the others sum to.

    Small effects of many words are mostly chance one by one; their sum is not.
    """
    name, up = explanation.primary, 1 if _risen(explanation) else -1
    rows = explanation.top(len(explanation.players))
    unsure = sum(row.scores[name] for row in rows if not _counts(row, explanation))
    return sum(abs(row.scores[name]) for row in _for_it(explanation)) + max(0.0, up * unsure)


def _carry(explanation: Explanation, rows: list[Row]) -> float:
    """The share of these words in all that moved the score where it went."""
    whole = _carried(explanation)
    some = sum(abs(row.scores[explanation.primary]) for row in rows)
    return some / whole if whole > 0 else 1.0


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
    return r2 is not None and r2 < LOW


def _because(explanation: Explanation) -> str:
    named = reasons(explanation)
    if not named:
        return f"; no single {explanation.unit} stands out"
    joined = _joined(explanation, named)
    if not sided(explanation):
        return f"; {joined} weigh{'s' if len(named) == 1 else ''} most"
    up, raw, other = _risen(explanation), explanation.target.scale == RAW, _stronger(explanation)
    doubt = "according to these scores " if unreliable(explanation) else ""
    share = _carry(explanation, named)
    although = ""
    if other is not None:
        does = ("lowers" if up else "raises") if raw else "speaks against"
        although = f", although {other} {does} it"
    if (up or raw) and share < MAINLY:
        return f"; {doubt}{_scattered(explanation, joined, share)}{although}"
    if raw:
        return f", {doubt}{'raised' if up else 'lowered'} mainly by {joined}{although}"
    if up:
        return f", {doubt}mainly because of {joined}{although}"
    speak = f"{'speaks' if len(named) == 1 else 'speak'} against it"
    if other is not None:
        speak += f" and {other} for it"
    if explanation.target.score > 0:
        start = words.signed(explanation.base or 0.0)
        return f", although {joined} {speak}: the empty text already scores {start}"
    return f": {joined} {speak}"


def _stronger(explanation: Explanation) -> str | None:
    """The word at the top of the table, where it speaks for the other side than the reasons.

    Reasons say why the score is where it is; the table goes by size, whichever way.
    """
    first = explanation.top(1)[0]
    on_its_side = (first.scores[explanation.primary] > 0) == _risen(explanation)
    if on_its_side or not _counts(first, explanation):
        return None
    return _as_read(explanation, [first.player.group])


def _scattered(explanation: Explanation, strongest: str, share: float) -> str:
    """Where no few words carry most of the effect: how much the strongest does."""
    way = "of the effect in favour"
    if explanation.target.scale == RAW:
        way = f"of what {'raises' if _risen(explanation) else 'lowers'} it"
    rests = f"it rests on many {explanation.unit}s"
    return f"{rests}: the strongest is {strongest} ({words.percent(share)} {way})"


def _joined(explanation: Explanation, rows: list[Row]) -> str:
    """“superb” and “fine”; a word that needs another stands with it: “How” + “many”."""
    pairs = _reinforcing(explanation, rows)
    told: list[list[int]] = []  # groups of equal players that are one reason
    for row in rows:
        group = row.player.group
        if any(group in one for one in told):
            continue
        partner = next((other for two in pairs for other in two - {group} if group in two), None)
        free = partner is not None and not any(partner in one for one in told)
        told.append([group, partner] if partner is not None and free else [group])
    return words.listed([_as_read(explanation, one) for one in told])


def _reinforcing(explanation: Explanation, rows: list[Row]) -> list[frozenset[int]]:
    """Groups of two players that bring about much of the score together, strongest first."""
    sign = 1 if _risen(explanation) else -1
    least = JOINED * max(abs(row.scores[explanation.primary]) for row in rows)
    strong = [pair for pair in together.sure_pairs(explanation) if pair.effect * sign >= least]
    both = [[explanation.players[i] for i in (pair.first, pair.second)] for pair in strong]
    read = [two for two in both if all(has_letters(player.text) for player in two)]
    groups = [frozenset(player.group for player in two) for two in read]
    return [two for two in groups if len(two) > 1]


def _as_read(explanation: Explanation, groups: list[int]) -> str:
    """Words in the order of the text: “How” + “many”; of two texts, with the one it stands in."""
    firsts = {player.group: player for player in reversed(explanation.players)}
    players = sorted((firsts[group] for group in groups), key=lambda one: (one.segment, one.start))
    rows = reversed(explanation.top(len(explanation.players)))
    names = {row.player.group: row.name for row in rows if row.texts}
    return " + ".join(
        words.quoted(explanation, player, name=names.get(player.group)) for player in players
    )
