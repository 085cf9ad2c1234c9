"""What a comparison says, in plain sentences; the same ones in every rendering."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from piste.arrays import FloatArray
from piste.compare import Comparison, Figures
from piste.render.segments import Segment, excerpt, segments
from piste.render.shades import strengths
from piste.render.words import asked, listed
from piste.result.explanation import Explanation
from piste.result.scores import score

DELETION = (
    "deletion: the words that the method scores highest are removed one after the other; how far "
    "the probability falls, the mean over the curve. Higher is better"
)
INSERTION = (
    "insertion: only those words are kept; what the probability still lacks, the mean over the "
    "curve (below 0: they say more than the whole). Lower is better"
)
REMOVAL = (
    "removal error: a few random words are removed; how far the change that the method predicts "
    "is from the true one. 0 is perfect, 1 is like predicting no change. Lower is better"
)
AGREEMENT = (
    "1: the same order of words, 0: unrelated, −1: the opposite (Spearman). Where one method has "
    "no side, the sizes of the scores are compared"
)
LEAST = 0.005  # a fall of the probability that is shown as more than 0.00
LITTLE = "One text is little evidence: compare several before choosing a method for good."
_ADVICE = "Measure it (--measure, or measure=True) to see which one to trust on this text."


def spent(explanation: Explanation) -> str:
    """The cost, short: "70 forward passes, 0.4 s"."""
    if explanation.elsewhere:
        return "cost not counted"
    cost = explanation.cost
    return f"{asked(explanation)}, {cost.query_seconds + cost.fit_seconds:.1f} s"


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


def figure(value: float | None) -> str:
    """A measured figure, short; – where the method says nothing of the kind."""
    return "–" if value is None else share(value)


def best(
    measured: Mapping[str, Figures],
    key: Callable[[Figures], float | None],
    better: Callable[[Sequence[float]], float] = max,
) -> list[str]:
    """The names with the best figure, as shown: what reads the same is equally good."""
    known = {name: value for name, f in measured.items() if (value := key(f)) is not None}
    if not known:
        return []
    top = round(better(list(known.values())), 2)
    return [name for name, value in known.items() if round(value, 2) == top]


def best_deletion(comparison: Comparison) -> list[str]:
    return best(comparison.measured, lambda figures: figures.deletion)


def best_insertion(comparison: Comparison) -> list[str]:
    return best(comparison.measured, lambda figures: figures.insertion, min)


def best_removal(comparison: Comparison) -> list[str]:
    return best(comparison.measured, lambda figures: figures.removal_error, min)


def verdict(comparison: Comparison) -> str:
    """Which one to trust here, from what was measured."""
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
    names = best_deletion(comparison)
    return [name for name in names if (comparison.measured[name].deletion or 0) >= LEAST]


def _useful_prediction(comparison: Comparison) -> list[str]:
    names = best_removal(comparison)
    return [name for name in names if (comparison.measured[name].removal_error or 0) < 1]


def _on_both(comparison: Comparison, names: Sequence[str]) -> str:
    figures = comparison.measured[names[0]]
    return (
        f"Here, trust {listed(names)} most: none finds words that matter more (deletion "
        f"{figure(figures.deletion)}), and none predicts better what removing words does "
        f"(removal error {figure(figures.removal_error)})."
    )


def _on_ranking(comparison: Comparison, names: Sequence[str]) -> str:
    if not names:
        return (
            "No method finds words whose removal makes the label less probable: do not read "
            "the highlights as reasons."
        )
    value = figure(comparison.measured[names[0]].deletion)
    return f"For which words decide, trust {listed(names)} here (deletion {value})."


def _on_prediction(comparison: Comparison, names: Sequence[str]) -> str:
    if not names:
        return "None predicts what removing words does better than predicting no change."
    error = figure(comparison.measured[names[0]].removal_error)
    return f"For how much a word changes, trust {listed(names)} (removal error {error})."


def measured_how(comparison: Comparison) -> str:
    """How the figures were measured, or nothing where none were."""
    how = comparison.protocol
    if how is None:
        return ""
    unit = comparison.first.unit
    return (
        f"Curves of up to {how.steps} points; {how.draws} removals of 1 to {how.most} random "
        f"{unit}s; {how.forwards:,} sequences for all methods together."
    )
