"""Metrics of faithfulness, measured on the model itself. Plain functions, one file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from piste.arrays import FloatArray
from piste.errors import choices
from piste.metrics.agreement import agreement
from piste.metrics.case import OTHER_SEEDS, Case
from piste.metrics.deletion import deletion, insertion
from piste.metrics.eraser import comprehensiveness, sufficiency
from piste.metrics.human_attention import auroc, average_precision, consensus
from piste.metrics.leave_one_out import leave_one_out
from piste.metrics.naive_bayes import naive_bayes_correlation
from piste.metrics.normalised import Extremes, extremes
from piste.metrics.part_fidelity import part_r2
from piste.metrics.removal_fidelity import removal_error
from piste.metrics.robustness import randomisation, stability
from piste.result.explanation import Explanation

__all__ = [
    "METRICS",
    "Extremes",
    "agreement",
    "auroc",
    "consensus",
    "deletion",
    "extremes",
    "insertion",
]


@dataclass(frozen=True)
class Metric:
    """One line of the table. `measure` gives None where a text has no such figure."""

    measure: Callable[[Case, Explanation], float | None]
    higher_is_better: bool
    says: str
    needs: str | None = None  # what a text must come with: "human" marks, a "reference"


METRICS: dict[str, Metric] = {
    "deletion": Metric(
        lambda case, explanation: deletion(case.decision, _primary(explanation)),
        True,
        "mean fall of the probability as the highest-scored go first (AOPC)",
    ),
    "insertion": Metric(
        lambda case, explanation: insertion(case.decision, _primary(explanation)),
        False,
        "mean fall of the probability with only the highest-scored",
    ),
    "naopc": Metric(
        lambda case, explanation: _normalised(case, explanation),
        True,
        "deletion, between the worst (0) and the best (1) order that a search finds",
    ),
    "comprehensiveness": Metric(
        lambda case, explanation: comprehensiveness(case.decision, _primary(explanation)),
        True,
        "fall without the top 1, 5, 10, 20, 50 % (ERASER)",
    ),
    "sufficiency": Metric(
        lambda case, explanation: sufficiency(case.decision, _primary(explanation)),
        False,
        "fall with only the top 1, 5, 10, 20, 50 % (ERASER)",
    ),
    "removal-error": Metric(
        lambda case, explanation: removal_error(case.decision, explanation, seed=case.seed),
        False,
        "error of predicted changes when 1-5 are removed; 1 is no better than predicting none",
    ),
    "part-r2": Metric(
        lambda case, explanation: part_r2(case.decision, explanation, seed=case.seed),
        True,
        "R² of predicted scores on 50 fresh random parts of 30-100 % of the words",
    ),
    "leave-one-out": Metric(
        lambda case, explanation: leave_one_out(case.decision, explanation),
        True,
        "rank correlation with what single removals do",
    ),
    "human-auroc": Metric(
        lambda case, explanation: (
            None if case.marked is None else auroc(_primary(explanation), case.marked)
        ),
        True,
        "do the words that people marked score higher? 0.5 is chance",
        needs="human",
    ),
    "human-ap": Metric(
        lambda case, explanation: (
            None if case.marked is None else average_precision(_primary(explanation), case.marked)
        ),
        True,
        "average precision of the words that people marked",
        needs="human",
    ),
    "naive-bayes": Metric(
        lambda case, explanation: (
            None
            if case.reference is None
            else naive_bayes_correlation(explanation, case.reference, case.decision.players)
        ),
        True,
        "rank correlation with Naive Bayes",
        needs="reference",
    ),
    "stability": Metric(
        lambda case, explanation: _stability(case, explanation),
        True,
        "rank correlation between seeds",
    ),
    "randomisation": Metric(
        lambda case, explanation: (
            None
            if case.elsewhere is None
            else randomisation(explanation, case.elsewhere(explanation))
        ),
        False,
        "rank correlation with the explanation of re-drawn weights (a sanity check)",
    ),
}
# What other libraries and papers call them, for those who type it here.
ELSEWHERE = {
    "aopc": "deletion",
    "faithfulness": "deletion",
    "normalised-aopc": "naopc",
    "comp": "comprehensiveness",
    "suff": "sufficiency",
    "fidelity": "part-r2",
    "r2": "part-r2",
    "loo": "leave-one-out",
    "auroc": "human-auroc",
    "auc": "human-auroc",
    "plausibility": "human-auroc",
    "ap": "human-ap",
    "auprc": "human-ap",
    "sanity-check": "randomisation",
    "randomization": "randomisation",
    "robustness": "stability",
}
USUAL = ("deletion", "insertion", "removal-error", "leave-one-out")


def find_metric(name: str) -> Metric:
    """A metric by name, or the error with the valid ones."""
    if name not in METRICS:
        raise choices("metric", name, list(METRICS), ELSEWHERE)
    return METRICS[name]


def _primary(explanation: Explanation) -> FloatArray:
    return explanation.scores[explanation.primary]


def _normalised(case: Case, explanation: Explanation) -> float | None:
    aopc = deletion(case.decision, _primary(explanation))
    if aopc is None or case.extremes is None:
        return None
    return case.extremes.place(aopc)


def _stability(case: Case, explanation: Explanation) -> float | None:
    if case.again is None:
        return None
    seeds = range(case.seed + 1, case.seed + 1 + OTHER_SEEDS)
    return stability(explanation, [case.again(explanation, seed) for seed in seeds])
