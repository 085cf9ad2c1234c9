"""SLALOM-Ana: values and importances in closed form, from singles and pairs (2 d - 1 answers).

v(tau) = F([tau]); with a reference rho of another value, f = F([tau, rho]) gives the share of
tau, p = (f - v(rho)) / (v(tau) - v(rho)), and s(tau) - s(rho) = log(p / (1 - p)).
"""

from dataclasses import dataclass

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.surrogates.slalom.model import SlalomModel

SMALLEST_SHARE = 1e-9
SMALLEST_GUESS = 0.01  # where a real model answers outside its parts' range; it is counted


@dataclass(frozen=True)
class References:
    """Whom each player is paired with. The first reference is paired with nobody."""

    first: int
    second: int
    partner: IntArray  # [players]; -1 for the first reference


def choose_references(values: FloatArray) -> References:
    """The two players furthest apart; each other player meets the one less like itself."""
    first = int(np.argmax(np.abs(values - np.median(values))))
    second = int(np.argmax(np.abs(values - values[first])))
    if second == first:  # all alike: any other player will do
        second = (first + 1) % len(values)
    nearer_first = np.abs(values - values[first]) < np.abs(values - values[second])
    partner = np.where(nearer_first, second, first)
    partner[second] = first
    partner[first] = -1
    return References(first, second, partner.astype(np.int64))


def solve_pairs(
    values: FloatArray, references: References, answers: FloatArray
) -> tuple[SlalomModel, IntArray]:
    """The model, and the players whose importance the answers do not identify.

    `answers[i]` is F([i, partner of i]); the first reference's entry is not read.
    """
    partner = references.partner
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (answers - values[partner]) / (values - values[partner])
    known = np.isfinite(share)
    doubtful = ~known | (share <= 0) | (share >= 1)
    least = np.where(doubtful, SMALLEST_GUESS, SMALLEST_SHARE)
    clipped = np.clip(np.where(known, share, 0.5), least, 1 - least)
    difference = np.log(clipped) - np.log1p(-clipped)  # s(player) - s(partner)
    difference[references.first] = 0.0
    to_second = partner == references.second
    importances = difference + np.where(to_second, difference[references.second], 0.0)
    doubtful[references.first] = False
    return SlalomModel(values[:, None], importances), np.flatnonzero(doubtful).astype(np.int64)
