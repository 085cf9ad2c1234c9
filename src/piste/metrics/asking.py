"""What the model says of parts of the text, for the metrics that try explanations on it."""

from collections.abc import Iterable

import numpy as np
from scipy.special import expit

from piste.explanation import FloatArray, Target
from piste.models.query import Query
from piste.models.target import LOG_ODDS, margins
from piste.ragged import IntArray, Ragged
from piste.text.players import Players


def answers(query: Query, players: Players, target: Target, kept: Iterable[IntArray]) -> FloatArray:
    """The target's score for each set of kept players [sets]; all others are really gone."""
    rows = Ragged.of([np.sort(row).tolist() for row in kept])
    return margins(query.logits(players.tokens(rows)), query.classifier, target.index)


def probabilities(scores: FloatArray, target: Target) -> FloatArray:
    """Log-odds as probabilities; raw scores have none and stay as they are."""
    return np.asarray(expit(scores)) if target.scale == LOG_ODDS else scores


def mean_fall(
    query: Query, players: Players, target: Target, kept: Iterable[IntArray]
) -> float | None:
    """The mean over the rows of p(whole text) - p(row); None without rows."""
    found = falls(query, players, target, kept)
    return float(np.mean(found)) if len(found) else None


def falls(query: Query, players: Players, target: Target, kept: Iterable[IntArray]) -> FloatArray:
    """p(whole text) - p(row) for each set of kept players [sets]."""
    left = probabilities(answers(query, players, target, kept), target)
    whole = probabilities(np.array([target.score]), target)[0]
    return np.asarray(whole - left)
