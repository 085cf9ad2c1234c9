"""What an explanation says, in plain sentences; the same ones in every rendering."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from piste.decision import LOG_ODDS, RAW
from piste.errors import several
from piste.models.pairs import names_of
from piste.render.clean import one_line
from piste.result.comparable import outputs_of
from piste.result.explanation import Explanation, Player, Target
from piste.result.scores import CLASS, score

NOTHING = 1e-3  # of the largest number beside it: a smaller one reads 0.00
ROUNDING = 1e-12  # of a score: what smaller numbers beside it are
HARDLY = 5e-3  # of the largest, for numbers that two decimals do not show
_SIDES = "Above 0 it speaks for {label}, below 0 against"
_BOTH = "Above 0 it speaks for “{label}”, below 0 for “{rival}”"
_UP = "Above 0 it speaks for a higher number, below 0 for a lower one"
ERRORS = (
    "the standard error: how far a score would typically move if other parts of the text were"
    " asked. The model's own answers have none"
)


def signed(number: float, largest: float = 0.0) -> str:
    """A score with its sign, short: +0.42, −3.10, +0.002, 0, +1.2e5.

    largest: of the numbers beside it. Next to +2.00 nobody reads −4.2e−8: it is 0.00 there.
    """
    if not math.isfinite(number):
        return "–"
    if number == 0:
        return "0"
    if _is_lost(abs(number), largest):
        return "0.00"
    if 0.005 <= abs(number) < 10_000:
        return f"{number:+.2f}".replace("-", "−")
    if 0.0005 <= abs(number) < 0.005:
        return f"{number:+.3f}".replace("-", "−")
    digits, power = f"{number:+.1e}".split("e")
    return f"{digits}e{int(power)}".replace("-", "−")


def _is_lost(size: float, largest: float) -> bool:
    """Whether nobody reads a number of this size beside one of the other."""
    return size < max(NOTHING * largest, min(HARDLY * largest, 0.005))


def percent(share: float) -> str:
    """A share as a percentage that never claims certainty."""
    if share > 0.9995:
        return "over 99.9 %"
    if 0 <= share < 0.0005:
        return "under 0.1 %"
    digits = 0 if 0.1 <= share < 0.99 else 1
    return f"{share * 100:.{digits}f} %"


def counted(share: float) -> str:
    """A share of things that were counted: 100 % is all of them."""
    return "100 %" if share == 1 else "0 %" if share == 0 else percent(share)


def score_of(target: Target) -> str:
    """The model's score, on one line: "log-odds +3.90"; a number of any meaning, as it is."""
    scale = target.scale if target.against is None else LOG_ODDS  # the label says against whom
    return f"{scale} {plainly(target)}"


def plainly(target: Target) -> str:
    """The model's score: with a sign where it is for or against, else without a plus."""
    return signed(target.score).removeprefix("+" if target.scale == RAW else "")


def named(target: Target, limit: int = 40) -> str:
    """What scores above 0 speak for: "NUM", or "NUM rather than LOC"."""
    label = one_line(target.label, limit)
    return label if target.against is None else f"{label} rather than {one_line(target.against)}"


def decision(target: Target) -> str:
    """The explained answer: "positive, probability 98 %, log-odds +3.90".

    A contrast goes without: its probability is that of the two labels alone.
    """
    label = named(target)
    if target.probability is None or target.against is not None:
        return f"{label}, {score_of(target)}"
    return f"{label}, probability {percent(target.probability)}, {score_of(target)}"


def alternatives(explanation: Explanation) -> str:
    """Which labels the model chooses from, or nothing where there is only one.

    Between numbers, and labels that do not exclude each other, it does not choose.
    """
    target, outputs = explanation.target, outputs_of(explanation)
    known = (target.label, target.against)
    others = [one_line(label) for label in target.labels if label not in known]
    what = {"labels": "independent label", "raw": "number"}.get(outputs or "", "label")
    if not others:
        return ""
    if len(others) > 6:
        return f"one of {len(target.labels)} {what}s"
    kind = what if outputs == "labels" else f"other {what}"
    return f"{kind}{'s' if len(others) > 1 else ''}: {', '.join(others)}"


def sides(target: Target) -> tuple[str, str]:
    """What scores below and above 0 do."""
    return ("lowers", "raises") if target.scale == RAW else ("against", "for")


def largest(explanation: Explanation, name: str) -> float:
    """The largest of the scores of that name, in size; 0 where there is none.

    Where all are what rounding leaves of a score, as of a constant model: that score. Where that is
    0 too: 1, beside which errors are rounding as well.
    """
    sizes = [abs(x) for x in explanation.scores[name].tolist() if math.isfinite(x)]
    found, whole = max(sizes, default=0.0), abs(explanation.target.score)
    if sizes and found == whole == 0:
        return 1.0
    return whole if found < ROUNDING * whole else found


def give_or_take(error: float, largest: float = 0.0) -> str:
    """A standard error, short: ±0.05; largest: as for `signed`."""
    if not error:
        return "±0"
    if _is_lost(error, largest):
        return "±0.00"
    if 0.005 <= error < 100:
        return f"±{error:.2f}"
    if 0.0005 <= error < 0.005:
        return f"±{error:.3f}"
    if 100 <= error < 10_000:
        return f"±{error:,.0f}"
    digits, power = f"{error:.0e}".split("e")
    return f"±{digits}e{int(power)}".replace("-", "−")


def typical(error: float, score: float) -> str:
    """A typical error, short: 0.33, 1,240, under 0.001.

    score: the text's, which tells the order of size: of tiny ones, tiny errors are told.
    """
    if error >= 100:
        return f"{error:,.0f}"
    if error < 0.0005 and abs(score) >= 0.05:
        return "under 0.001"
    return f"{error:.2g}"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def text_of(explanation: Explanation, player: Player) -> str:
    """Which of two texts a word stands in: "text 2", "hypothesis"; nothing where there is one."""
    if explanation.second is None:
        return ""
    return names_of(explanation.target.labels)[player.segment]


def quoted(
    explanation: Explanation, player: Player, place: str = "", name: str | None = None
) -> str:
    """A word in a sentence: “sleeps”, “sleeps” (text 2), “sleeps” (1st, text 2).

    name: what it is called, where that is not the word itself.
    """
    where = ", ".join(filter(None, [place, text_of(explanation, player)]))
    return f"“{one_line(name or player.text)}”" + (f" ({where})" if where else "")


def told(explanation: Explanation) -> list[str]:
    """The scores for where there is little room: the two that explain, and the one that ranks."""
    names = own(explanation)
    few = [name for name in names if name in ("value", "importance", explanation.primary)]
    return few if len(few) == 3 else names


def own(explanation: Explanation) -> list[str]:
    """The names of the target's scores: those of other classes are the same by another label."""
    return [name for name in explanation.scores if not _of_class(name, explanation)]


def _of_class(name: str, explanation: Explanation) -> bool:
    """Whether a score is that of another class than the target."""
    return CLASS in name and name.split(CLASS, 1)[0] in explanation.scores


def by_class(explanation: Explanation) -> dict[str, str]:
    """Where every class was explained: the score of each, the target's first, by its label."""
    others = [name for name in explanation.scores if _of_class(name, explanation)]
    if not others:
        return {}
    own = others[0].split(CLASS, 1)[0]
    return {explanation.target.label: own} | {name.split(CLASS, 1)[1]: name for name in others}


def cost(explanation: Explanation, counts: bool = True) -> str:
    """What the explanation cost, first in the unit that compares texts and methods:

    "70 forward passes of the full text (412 sequences, 2,310 tokens), 0.4 s", the brackets only
    with `counts`. Files of 0.1 do not tell the length of the text: "412 sequences, 2,310 tokens,
    0.4 s".
    """
    spent = explanation.cost
    seconds = spent.query_seconds + spent.fit_seconds
    if explanation.elsewhere:
        checked = several(spent.forwards, "sequence")
        return f"not counted for {explanation.method}; {checked} to check it"
    said = f"{several(spent.forwards, 'sequence')}, {several(spent.tokens, 'token')}"
    if spent.passes is not None:
        said = f"{asked(explanation)} of the full text" + (f" ({said})" if counts else "")
    return f"{said}, {seconds:.1f} s"


def asked(*explanations: Explanation, unit: str = "forward pass") -> str:
    """What all of them asked the model: "70 forward passes", or "412 sequences" of old files."""
    passes = [explanation.cost.passes for explanation in explanations]
    known = [one for one in passes if one is not None]
    if len(known) == len(passes):
        return _passes(sum(known), unit)
    return several(sum(explanation.cost.forwards for explanation in explanations), "sequence")


def _passes(count: float, unit: str) -> str:
    number = f"{count:,.0f}" if count >= 10 else f"{count:.1f}".removesuffix(".0")
    return f"{number} {unit}{'' if number == '1' else 'es'}"


def meanings(explanation: Explanation) -> dict[str, str]:
    """What each score means, by name."""
    words = {
        "unit": explanation.unit,
        "scale": one_line(explanation.target.scale, 60),
        "label": f"“{named(explanation.target)}”",
        "method": explanation.method,
    }
    # A number goes up and down, and is not decided for.
    words["sides"] = _UP if explanation.target.scale == RAW else _SIDES.format(**words)
    if explanation.target.against is not None:
        words["sides"] = _BOTH.format(
            label=one_line(explanation.target.label), rival=one_line(explanation.target.against)
        )
    meanings = {name: _meaning(name, words) for name in explanation.scores}
    if explanation.parts is not None and "value" in meanings:
        meanings["value"] = meanings["value"].replace(
            "would get, as estimated", "gets: the model's own answer, or an estimate (with ±)"
        )
    elif explanation.second is not None and "value" in meanings:
        meanings["value"] = meanings["value"].replace(" alone ", ", with hardly a word beside it, ")
    meanings[explanation.primary] += "; used for order and colour"
    return meanings


def _meaning(name: str, words: Mapping[str, str]) -> str:
    if CLASS not in name:
        return score(name).meaning.format(**words)
    own, label = name.split(CLASS, 1)
    return f"{own}, for “{one_line(label)}” in place of {words['label']}"


def facts(explanation: Explanation) -> dict[str, str]:
    """Where the explanation comes from: enough to make it again."""
    return {
        "Model": explanation.model,
        "Computed by": explanation.backend,
        "Method": explanation.method,
        "Settings": _pairs(explanation.settings) or "none",
        "Unit": f"{explanation.unit}, repeats {explanation.repeats}",
        "Seed": str(explanation.seed),
        "Budget": "by length" if explanation.budget is None else f"{explanation.budget:,}",
        "Tolerance": _tolerance(explanation),
        "Cost": cost(explanation),
        "Versions": _pairs(explanation.versions) or "not recorded",
    }


def _tolerance(explanation: Explanation) -> str:
    if explanation.stopped is None:
        return "none" if explanation.tolerance is None else "not used"
    return f"{explanation.stopped.tolerance:g}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
