"""From figures of single texts to one row a contender."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

RESAMPLES = 4000
Figures = Mapping[str, Mapping[str, float]]  # text id -> name -> figure


@dataclass(frozen=True)
class Estimate:
    """A mean over texts with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One line of the table. Ratios and differences are against piste on the same texts."""

    title: str
    texts: int
    failed: int
    seconds: float
    times: float  # geometric mean of the ratios of seconds
    fe: float
    fe_times: float
    sequences: float
    deletion: Estimate
    against: Estimate  # difference of deletion
    insertion: Estimate
    token_deletion: Estimate
    removal: float  # median


def estimate(values: np.ndarray, seed: int = 0) -> Estimate:
    rng = np.random.default_rng(seed)
    means = values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(values.mean()), float(low), float(high))


def summarise(title: str, found: Figures, ours: Figures, failed: int) -> Row | None:
    """None where the contender has no text in common with piste."""
    shared = [text for text in found if text in ours]
    if not shared:
        return None

    def of(name: str, source: Figures = found) -> np.ndarray:
        return np.array([source[text][name] for text in shared])

    return Row(
        title=title,
        texts=len(shared),
        failed=failed,
        seconds=float(of("seconds").mean()),
        times=_ratio(of("seconds"), of("seconds", ours)),
        fe=float(of("fe").mean()),
        fe_times=_ratio(of("fe"), of("fe", ours)),
        sequences=float(of("sequences").mean()),
        deletion=estimate(of("deletion")),
        against=estimate(of("deletion") - of("deletion", ours)),
        insertion=estimate(of("insertion")),
        token_deletion=estimate(of("token deletion")),
        removal=float(np.median(of("removal error"))),
    )


def _ratio(these: np.ndarray, ours: np.ndarray) -> float:
    return float(np.exp(np.log(these / ours).mean()))
