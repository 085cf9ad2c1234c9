"""What a difference says, in plain sentences; the same ones in every rendering."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from piste.decision import LOG_ODDS, RAW
from piste.render import answer, together, trust, words
from piste.render.clean import one_line
from piste.render.diff_rows import NO_CHANGE
from piste.result.difference import Diff, WordChange
from piste.result.explanation import Explanation, Target
from piste.result.pair_changes import PairChange
from piste.result.parts import is_sure
from piste.result.scores import score

MOST = 3  # reasons in the headline
FEW_EDITS = 2  # spots of the text that it names
PAIRS = 5  # sentences on pairs
_ERRORS = (
    "±: the standard error of the change. The two explanations are estimated independently, so the"
    " errors add in quadrature; of several words together it is an upper limit"
)
SIDES = ("before", "after")


def headline(diff: Diff) -> str:
    """What changed and why: "With “not” added, the decision turns from ..., mainly because ..."."""
    return f"{_first(diff, _outcome(diff))}{_because(diff)}."


def _first(diff: Diff, outcome: str) -> str:
    """The outcome after what was done to the text, where that is little and no reason names it."""
    done = edits(diff)
    if diff.of_models:
        names = {ex.model for ex in (diff.before, diff.after)}
        same = len(names) == 1 and abs(diff.change) < NO_CHANGE
        return f"The texts are the same, and {_small(outcome)}" if same else outcome
    reasoned = {id(word) for same in reasons(diff) for word in same}
    if len(done) > FEW_EDITS or all(id(word) in reasoned for spot in done for word in spot):
        return outcome
    told = words.listed([_edit(diff, spot) for spot in done])
    return f"With {told}, {_small(outcome)}"


def _small(sentence: str) -> str:
    """A sentence as it goes on after a comma: it begins with "The"."""
    return f"{sentence[0].lower()}{sentence[1:]}"


def edits(diff: Diff) -> list[list[WordChange]]:
    """What was added, removed or replaced, in reading order: neighbours are one spot."""
    runs = groupby(diff.words, key=lambda word: word.kind == "kept")
    return [list(spot) for kept, spot in runs if not kept]


def _edit(diff: Diff, spot: list[WordChange]) -> str:
    """What was done in one spot: “not” added, “good” removed, “dull” in place of “fine”."""
    players = [tuple(player for word in spot for player in getattr(word, side)) for side in SIDES]
    whole = replace(spot[0], before=players[0], after=players[1])
    old, new = (f"“{one_line(text)}”" if text else "" for text in diff.text_of(whole))
    if old and new:
        return f"{new} in place of {old}"
    return f"{new} added" if new else f"{old} removed"


def _outcome(diff: Diff) -> str:
    before, after = (None if name is None else one_line(name) for name in diff.decisions)
    names = [one_line(ex.model, 60) for ex in (diff.before, diff.after)]
    if diff.turned and diff.of_models and names[0] != names[1]:
        return f"{names[1]} says {after} where {names[0]} says {before}"
    if diff.turned:
        return f"The decision turns from {before} to {after}"
    scale = _scale(diff.after.target)
    start, end = (words.signed(ex.target.score) for ex in (diff.before, diff.after))
    what = f"the {scale} of {words.named(diff.after.target)}"
    plural = scale == LOG_ODDS
    if abs(diff.change) < NO_CHANGE:
        moved = f"{what} {'stay' if plural else 'stays'} at {end}"
    else:
        verb = "rise" if diff.change > 0 else "fall"
        moved = f"{what} {verb if plural else f'{verb}s'} from {start} to {end}"
    if after is None:
        return f"{moved[0].upper()}{moved[1:]}"
    return f"The decision stays {after}; {moved}"


def _scale(target: Target) -> str:
    return LOG_ODDS if target.against is not None else one_line(target.scale, 60)


def reasons(diff: Diff) -> list[list[WordChange]]:
    """The words that moved the score the way it went, strongest first, at most three.

    Their changes are beyond chance, and at least half as large as the largest, or it takes them to
    carry half of the change. The same change of equal words is one reason.
    """
    rows = _moving(diff)[:MOST]
    return rows[: answer.few([_size(same) for same in rows], _carried(diff))]


def _moving(diff: Diff) -> list[list[WordChange]]:
    """What moved the score the way it went beyond chance, strongest first; equal words together."""
    if abs(diff.change) < NO_CHANGE or not score(diff.before.primary).signed:
        return []
    rows: dict[tuple[str, ...], list[WordChange]] = {}
    for word in diff.words:
        if word.change * diff.change > 0 and is_sure(word.change, word.error or 0.0):
            named = (text.casefold() for text in diff.text_of(word))
            rows.setdefault((word.kind, *named), []).append(word)
    return sorted(rows.values(), key=_size, reverse=True)


def _size(same: list[WordChange]) -> float:
    return abs(sum(word.change for word in same))


def _carried(diff: Diff) -> float:
    """What moved the score the way it went: base, words beyond chance, all others together."""
    way = 1 if diff.change > 0 else -1
    unsure = sum(word.change for word in diff.words if not is_sure(word.change, word.error or 0.0))
    return sum(map(_size, _moving(diff))) + sum(max(0.0, way * x) for x in (unsure, diff.base or 0))


def _because(diff: Diff) -> str:
    if abs(diff.change) < NO_CHANGE:
        return ""
    chosen = reasons(diff)
    named, sizes = [reason(diff, same) for same in chosen], [_size(same) for same in chosen]
    base = diff.base or 0.0
    if base * diff.change > 0 and abs(base) > max(sizes, default=0.0):
        empty = [words.signed(ex.base or 0.0) for ex in (diff.before, diff.after)]
        named = [f"the empty text scores {empty[1]} rather than {empty[0]}", *named[: MOST - 1]]
        sizes = [abs(base), *sizes[: MOST - 1]]
    named = _gathered(diff, chosen, named)
    if not named:
        return f"; no single {diff.after.unit} stands out"
    if sum(sizes) < answer.MAINLY * _carried(diff):
        return f"; many small changes add up, the largest: {words.listed(named)}"
    return f", mainly because {words.listed(named)}"


def _gathered(diff: Diff, chosen: list[list[WordChange]], named: list[str]) -> list[str]:
    """The reasons with all that was added, or removed, said at once: “not” and “dull” were ..."""
    for kind in ("added", "removed"):
        some = [same for same in chosen if same[0].kind == kind]
        if len(some) > 1 and len(some) == len(named):
            quoted = [f"“{one_line(''.join(diff.text_of(same[0])))}”" for same in some]
            return [f"{words.listed(quoted)} were {kind}"]
    return named


def reason(diff: Diff, same: list[WordChange]) -> str:
    """What happened to a word, or to several equal ones: “How many” became “Where”."""
    old, new = (f"“{one_line(text)}”" for text in diff.text_of(same[0]))
    times = f" ({len(same)} times)" if len(same) > 1 else ""
    kind = same[0].kind
    if kind == "changed":
        return f"{old} became {new}{times}"
    if kind != "kept":
        return f"{new if kind == 'added' else old} was {kind}{times}"
    was, now = (sum(getattr(word, f"score_{side}") for word in same) for side in SIDES)
    scores = f"{words.signed(now)} instead of {words.signed(was)}"
    if was * now >= 0 or diff.after.target.scale == RAW:
        return f"{new}{times} now counts {scores}"
    side = "for" if now > 0 else "against"
    return f"{new}{times} now speaks {side} {words.named(diff.after.target)} ({scores})"


def sides(diff: Diff) -> tuple[str, str]:
    """What the two are called: before and after, or the models' names."""
    names = [one_line(ex.model, 60) for ex in (diff.before, diff.after)]
    if diff.of_models and names[0] != names[1]:
        return names[0], names[1]
    return "before", "after"


def reach(diff: Diff) -> float:
    """The largest number beside which changes are read: beside it, much smaller ones read 0.00."""
    ends = [abs(ex.target.score) for ex in (diff.before, diff.after)]
    return max([*ends, *(abs(word.change) for word in diff.words)])


def answers(diff: Diff) -> list[tuple[str, str]]:
    """What the model says on each side, on one line each."""
    found = []
    for side, ex, chosen in zip(
        sides(diff), (diff.before, diff.after), diff.decisions, strict=True
    ):
        found.append((side, _told(ex.target, chosen)))
    return found


def _told(target: Target, chosen: str | None) -> str:
    """The decision with the explained label's share: "positive; negative has 21 % (...)"."""
    score, share = words.score_of(target), target.probability
    if share is None or target.against is not None:
        return words.decision(target)
    if chosen is None or chosen == target.label:
        return f"{one_line(target.label)}, {words.percent(share)} ({score})"
    return f"{one_line(chosen)}; {one_line(target.label)} has {words.percent(share)} ({score})"


def pairs(diff: Diff) -> list[PairChange]:
    """The changed interactions that matter beside the changes of words, strongest first."""
    least = together.WORTH * max((abs(word.change) for word in diff.words), default=0.0)
    return [pair for pair in diff.pairs if abs(pair.change) >= least][:PAIRS]


def pair_sentence(diff: Diff, pair: PairChange) -> str:
    """How two words act together now, and how they did."""
    amount = f"{words.signed(pair.change)}{together.error_of(pair.error)}"
    was, now = words.signed(pair.effect_before), words.signed(pair.effect_after)
    old, new = _pair(diff.before, pair.before), _pair(diff.after, pair.after)
    if pair.after is None:
        return f"{old} no longer act together: {amount}"
    if pair.before is None:
        return f"{new} act together now: {amount}"
    moved = f"{was} before, {now} after ({amount})"
    return f"{new}: {moved}" if old == new else f"{new}, in place of {old}: {moved}"


def _pair(explanation: Explanation, pair: tuple[int, int] | None) -> str:
    if pair is None:
        return ""
    return " and ".join(together.named(explanation, index) for index in pair)


def nothing(diff: Diff) -> str:
    """What stands in the place of the table where it would be empty."""
    return f"No {diff.after.unit} changed what it contributes."


def adding_up(diff: Diff) -> str:
    """Whether the changes account for everything."""
    start, end = (words.signed(ex.target.score) for ex in (diff.before, diff.after))
    if diff.adds_up:
        return f"The changes of all {diff.after.unit}s lead from {start} to {end}."
    return (
        f"The scores of {diff.after.method} do not add up to the model's score: they leave"
        f" {words.signed(diff.left)} of the change from {start} to {end}."
    )


def errors(diff: Diff) -> str:
    """What ± means, where it stands."""
    known = any(word.error for word in diff.words) or any(pair.error for pair in diff.pairs)
    return f"{_ERRORS}." if known else ""


def warnings(diff: Diff) -> list[str]:
    """What to know of either explanation before the changes are read."""
    found = []
    for side, ex in zip(sides(diff), (diff.before, diff.after), strict=True):
        found += [f"{side}: {warning.text}" for warning in trust.warnings(ex)]
    return found


def fidelity(diff: Diff) -> str:
    """How far both explanations can be relied on, in one line."""
    found = [
        trust.headline(ex).removeprefix("Fidelity: ").removesuffix(".")
        for ex in (diff.before, diff.after)
    ]
    if found[0] == found[1]:
        return f"both {found[0]}"
    return "; ".join(f"{side}: {one}" for side, one in zip(SIDES, found, strict=True))


def colour_key(diff: Diff) -> tuple[str, str]:
    """What the colours of a change mean: against, and for."""
    if diff.after.target.scale == RAW:
        return "lowers the number", "raises it"
    name = words.named(diff.after.target)
    return f"moves away from {name}", f"moves towards {name}"


def made(diff: Diff) -> str:
    """Which methods and models, on one line."""
    models = dict.fromkeys(one_line(ex.model, 60) for ex in (diff.before, diff.after))
    asked = words.asked(diff.before, diff.after)
    return f"Made by {diff.after.method} from {' and '.join(models)}; {asked}."
