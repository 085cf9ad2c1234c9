"""What a comparison says, in plain sentences; the same ones in every rendering."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from piste.arrays import FloatArray
from piste.compare import Comparison
from piste.decision import in_log_odds
from piste.errors import several
from piste.render.answer import decided
from piste.render.clean import one_line
from piste.render.segments import Segment, excerpt, segments
from piste.render.shades import strengths
from piste.render.words import asked, listed, signed
from piste.result.explanation import Explanation
from piste.result.scores import score

DELETION = (
    "deletion: the words the method scores highest are removed one after the other; the mean fall "
    "of {what}. Higher is better"
)
INSERTION = (
    "insertion: only those words are kept; how much of {what} is missing on average "
    "(below 0: they say more than the whole text). Lower is better"
)
REMOVAL = (
    "removal error: a few random words are removed; how wrong the method's prediction of the "
    "change is. 0 is perfect, 1 is no better than predicting no change. Lower is better"
)
AGREEMENT = (
    "Spearman's rank correlation of the scores: 1 the same order, 0 unrelated, −1 reversed. Where "
    "a method takes no side, only the sizes of the scores are compared"
)
STAR = "* the best of its column; what reads the same is equally good"
LEAST = 0.005  # a fall of the probability that is shown as more than 0.00; of a score, a share
ALIKE, PARTLY = 0.8, 0.5  # the lowest agreement of two methods that rank alike, or partly
CLOSE = 0.02  # figures of one text that are no further apart say the same
SATURATED = 0.01  # of a probability, from 0 or 1: there no removal shows
HARDLY = 0.7  # a removal error that is little better than that of predicting no change
LITTLE = "One text is little evidence: compare several before you settle on a method."
_ADVICE = "Add --measure (measure=True) to see which one to trust on this text."


def headline(comparison: Comparison) -> str:
    """What the model decided, and whether the methods agree on why.

    "positive (81 %). Both methods put “superb” first; they rank the words alike (...)."
    """
    said = f"{decided(comparison.first)}."
    if len(comparison.explanations) < 2:
        return said
    return f"{said} {_first_words(comparison)}; {_ranking(comparison)}."


def _first_words(comparison: Comparison) -> str:
    """Which word the methods put first: "5 of 7 methods put “superb” first"."""
    explanations = list(comparison.explanations.values())
    firsts = Counter(one.top(1)[0].player.text for one in explanations)
    word, votes = firsts.most_common(1)[0]
    if votes == 1:
        return f"Each method puts a different {comparison.first.unit} first"
    many = len(explanations)
    who = ("Both" if many == 2 else f"All {many}") if votes == many else f"{votes} of {many}"
    return f"{who} methods put “{one_line(word)}” first"


def _ranking(comparison: Comparison) -> str:
    """How far the methods rank the words alike, by the two that agree least."""
    least, units = least_alike(comparison), f"{comparison.first.unit}s"
    if least is None:
        return f"their rankings of the {units} cannot be compared"
    value, pair = least
    if value >= ALIKE:
        return f"they rank the {units} alike (correlation at least {share(value)})"
    alike = "only partly alike" if value >= PARTLY else "differently"
    return f"{listed(pair)} rank the {units} {alike} (correlation {share(value)})"


def least_alike(comparison: Comparison) -> tuple[float, list[str]] | None:
    """The lowest agreement of two methods and their names; None where none is known."""
    names = list(comparison.explanations)
    pairs = [
        (float(comparison.agreement[i, j]), [names[i], names[j]])
        for i, j in combinations(range(len(names)), 2)
    ]
    return min((pair for pair in pairs if math.isfinite(pair[0])), default=None)


def spent(explanation: Explanation) -> str:
    """The cost, short: "43 passes, 0.4 s", in forward passes of the full text where known."""
    if explanation.elsewhere:
        return "not counted"
    cost = explanation.cost
    return f"{asked(explanation, unit='pass')}, {cost.query_seconds + cost.fit_seconds:.1f} s"


def has_side(explanation: Explanation) -> bool:
    """Whether the scores speak for and against, or only weigh."""
    return score(explanation.primary).signed


def shared_excerpt(comparison: Comparison, limit: int) -> list[Segment]:
    """The same part of the text for every method: around what they find strong on the whole."""
    explanations = comparison.explanations.values()
    mean: FloatArray = np.mean([np.abs(strengths(one)) for one in explanations], axis=0)
    return excerpt(segments(comparison.first), mean, limit)


def share(value: float) -> str:
    """A correlation, short: 0.83, −0.10, – where there is none."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.2f}".replace("-", "−")
    return "0.00" if text == "−0.00" else text


def figure(value: float | None, largest: float | None = None) -> str:
    """A measured figure, short; – where the method says nothing of the kind.

    largest: of the numbers beside it, where they are no shares.
    """
    if value is None:
        return "–"
    return share(value) if largest is None else signed(value, largest).removeprefix("+")


@dataclass(frozen=True)
class Column:
    """What was measured of each method."""

    title: str
    higher_is_better: bool
    shown: Mapping[str, str]  # by the method's name
    best: frozenset[str]  # methods: what reads the same is equally good


def columns(comparison: Comparison) -> tuple[Column, ...]:
    """Deletion, insertion and removal error; none where nothing was measured."""
    measured = comparison.measured
    if not measured:
        return ()
    largest = None if in_log_odds(comparison.first.target) else _moves(comparison)
    return (
        _column("deletion", True, {n: f.deletion for n, f in measured.items()}, largest),
        _column("insertion", False, {n: f.insertion for n, f in measured.items()}, largest),
        _column("removal error", False, {n: f.removal_error for n, f in measured.items()}),
    )


def _column(
    title: str, higher: bool, values: Mapping[str, float | None], largest: float | None = None
) -> Column:
    shown = {name: figure(value, largest) for name, value in values.items()}
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return Column(title, higher, shown, frozenset())
    first = (max if higher else min)(known, key=lambda name: known[name])
    best = frozenset(name for name in known if shown[name] == shown[first])
    return Column(title, higher, shown, best)


def meanings(comparison: Comparison) -> tuple[str, str, str]:
    """What the figures mean, of a probability or of a number."""
    what = "the label's probability" if in_log_odds(comparison.first.target) else "the score"
    return DELETION.format(what=what), INSERTION.format(what=what), REMOVAL


def verdict(comparison: Comparison) -> str:
    """Which one to trust here, from what was measured; how to measure it where it was not."""
    if not comparison.measured:
        return _ADVICE
    if all(f.deletion is None and f.removal_error is None for f in comparison.measured.values()):
        return "The text is too short to measure on: there is nothing to remove."
    ranks, predicts = _useful_ranking(comparison), _useful_prediction(comparison)
    both = [name for name in ranks if name in predicts]
    if both:
        return _on_both(comparison, both)
    return " ".join([_on_ranking(comparison, ranks), _on_prediction(comparison, predicts)])


def _useful_ranking(comparison: Comparison) -> list[str]:
    """The methods that find words that matter, none of the others clearly better; best first."""
    found = {name: f.deletion for name, f in comparison.measured.items() if f.deletion is not None}
    most = max(found.values(), default=0.0)
    scale = 1.0 if in_log_odds(comparison.first.target) else _moves(comparison)
    least = max(LEAST * scale, most - CLOSE * scale)
    return sorted((name for name in found if found[name] >= least), key=lambda name: -found[name])


def _moves(comparison: Comparison) -> float:
    """How far a score that is no probability moves, the farthest that any method found."""
    falls = [abs(f.deletion) for f in comparison.measured.values() if f.deletion is not None]
    return max(falls, default=0.0) or 1.0


def _useful_prediction(comparison: Comparison) -> list[str]:
    """Those that predict removals better than nothing, none clearly better; best first."""
    known = {name: f.removal_error for name, f in comparison.measured.items()}
    found = {name: error for name, error in known.items() if error is not None and error < 1}
    most = min(found.values(), default=0.0) + CLOSE
    return sorted((name for name in found if found[name] <= most), key=lambda name: found[name])


def _on_both(comparison: Comparison, names: Sequence[str]) -> str:
    deletions, errors = _deletions(comparison, names), _errors(comparison, names)
    return (
        f"Trust {listed(names)} most here: no other method finds words that matter clearly more "
        f"(deletion {deletions}) or predicts clearly better what removing words does (removal "
        f"error {errors})."
    )


def _deletions(comparison: Comparison, names: Sequence[str]) -> str:
    deletion, *_ = columns(comparison)
    return _each([deletion.shown[name] for name in names])


def _errors(comparison: Comparison, names: Sequence[str]) -> str:
    errors = [comparison.measured[name].removal_error for name in names]
    hardly = max(error or 0.0 for error in errors) > HARDLY
    told = _each([figure(error) for error in errors])
    return told + (", hardly better than predicting no change" if hardly else "")


def _each(figures: Sequence[str]) -> str:
    """The figures of several methods, in their order; said once where they read the same."""
    if len(figures) > 1 and len(set(figures)) == 1:
        return f"{figures[0]} each"
    return listed(figures)


def _on_ranking(comparison: Comparison, names: Sequence[str]) -> str:
    target = comparison.first.target
    if not names and in_log_odds(target):
        extreme = target.probability is not None and (
            min(target.probability, 1 - target.probability) < SATURATED
        )
        if extreme:
            if target.score < 0:
                return "The label has no probability to lose: deletion tells nothing here."
            return (
                "The label is so probable that removing words hardly shows in the probability:"
                " deletion tells nothing here."
            )
    if not names:
        what = "label less probable" if in_log_odds(target) else "score lower"
        return (
            f"No method finds words whose removal makes the {what}: do not read the highlights as"
            " reasons."
        )
    return (
        f"Trust {listed(names)} on which words decide (deletion {_deletions(comparison, names)})."
    )


def _on_prediction(comparison: Comparison, names: Sequence[str]) -> str:
    if not names:
        return "No method predicts what removing words does better than predicting no change."
    errors = _errors(comparison, names)
    return f"Trust {listed(names)} on what removing words does (removal error {errors})."


def measured_how(comparison: Comparison) -> str:
    """How the figures were measured, or nothing where none were."""
    how = comparison.protocol
    if how is None:
        return ""
    unit = comparison.first.unit
    return (
        f"Curves of up to {how.steps} points; {how.draws} removals of 1 to {how.most} random "
        f"{unit}s; {several(how.forwards, 'sequence')} for all methods together."
    )
