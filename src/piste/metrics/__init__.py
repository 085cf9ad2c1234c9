"""What an explanation is worth, measured on the model itself. Plain functions, one file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from piste.errors import choices
from piste.explanation import Explanation, FloatArray, Target
from piste.metrics.agreement import agreement
from piste.metrics.deletion import deletion, insertion
from piste.metrics.eraser import comprehensiveness, sufficiency
from piste.metrics.human_attention import auroc, average_precision, consensus
from piste.metrics.leave_one_out import leave_one_out
from piste.metrics.naive_bayes import naive_bayes_correlation
from piste.metrics.normalised import Extremes, extremes
from piste.metrics.removal_fidelity import removal_error
from piste.metrics.robustness import randomisation, stability
from piste.metrics.trial import OTHER_SEEDS, Trial
from piste.models.query import Query
from piste.text.players import Players

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

Measure = Callable[[Trial, Explanation], float | None]


@dataclass(frozen=True)
class Metric:
    """One line of the table."""

    measure: Measure
    higher_is_better: bool
    says: str
    needs: str | None = None  # what a text must come with: "human" marks, a "reference"


METRICS: dict[str, Metric] = {
    "deletion": Metric(
        lambda trial, found: deletion(*_on(trial), _scores(found)),
        True,
        "mean fall of the probability as the highest-scored go first (AOPC)",
    ),
    "insertion": Metric(
        lambda trial, found: insertion(*_on(trial), _scores(found)),
        False,
        "mean fall of the probability with only the highest-scored",
    ),
    "naopc": Metric(
        lambda trial, found: _normalised(trial, found),
        True,
        "deletion, between the worst (0) and the best (1) order that a search finds",
    ),
    "comprehensiveness": Metric(
        lambda trial, found: comprehensiveness(*_on(trial), _scores(found)),
        True,
        "fall without the top 1, 5, 10, 20, 50 % (ERASER)",
    ),
    "sufficiency": Metric(
        lambda trial, found: sufficiency(*_on(trial), _scores(found)),
        False,
        "fall with only the top 1, 5, 10, 20, 50 % (ERASER)",
    ),
    "removal-error": Metric(
        lambda trial, found: removal_error(*_on(trial), found, seed=trial.seed),
        False,
        "error of predicted changes when 1-5 are removed; 1 is like predicting none",
    ),
    "leave-one-out": Metric(
        lambda trial, found: leave_one_out(*_on(trial), found),
        True,
        "rank correlation with what single removals do",
    ),
    "human-auroc": Metric(
        lambda trial, found: None if trial.marked is None else auroc(_scores(found), trial.marked),
        True,
        "do the words that people marked score higher? 0.5 is chance",
        needs="human",
    ),
    "human-ap": Metric(
        lambda trial, found: (
            None if trial.marked is None else average_precision(_scores(found), trial.marked)
        ),
        True,
        "average precision of the words that people marked",
        needs="human",
    ),
    "naive-bayes": Metric(
        lambda trial, found: (
            None
            if trial.reference is None
            else naive_bayes_correlation(found, trial.reference, trial.players)
        ),
        True,
        "rank correlation with Naive Bayes",
        needs="reference",
    ),
    "stability": Metric(
        lambda trial, found: _stability(trial, found),
        True,
        "rank correlation between seeds",
    ),
    "randomisation": Metric(
        lambda trial, found: (
            None if trial.elsewhere is None else randomisation(found, trial.elsewhere(found))
        ),
        False,
        "rank correlation with the explanation of re-drawn weights (a sanity check)",
    ),
}
USUAL = ("deletion", "insertion", "removal-error", "leave-one-out")


def find_metric(name: str) -> Metric:
    """A metric by name, or the error with the valid ones."""
    if name not in METRICS:
        raise choices("metric", name, list(METRICS))
    return METRICS[name]


def _on(trial: Trial) -> tuple[Query, Players, Target]:
    return trial.query, trial.players, trial.target


def _scores(found: Explanation) -> FloatArray:
    return found.scores[found.primary]


def _normalised(trial: Trial, found: Explanation) -> float | None:
    aopc = deletion(*_on(trial), _scores(found))
    if aopc is None or trial.extremes is None:
        return None
    return trial.extremes.place(aopc)


def _stability(trial: Trial, found: Explanation) -> float | None:
    if trial.again is None:
        return None
    seeds = range(trial.seed + 1, trial.seed + 1 + OTHER_SEEDS)
    return stability(found, [trial.again(found, seed) for seed in seeds])
