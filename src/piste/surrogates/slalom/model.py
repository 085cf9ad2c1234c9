"""SLALOM: every player has a value and an importance; a sequence is their softmax mean.

    alpha_i = n_i exp(s_i) / sum_j n_j exp(s_j)        F = sum_i alpha_i v_i

with n_i the times player i occurs. A model that reads special tokens around every text has one
more, always-present player, the *frame*. Importances are shared by all outputs (C of them), each
of which has values of its own. After "Attention Mechanisms Don't Learn Additive Models"
(arXiv 2405.13536); the frame player is an addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from piste.arrays import FloatArray, IntArray, Ragged
from piste.surrogates.shapley import EXACT_SHAPLEY, all_coalitions, exact_shapley

LONGEST_ODDS = 300.0  # between importances; beyond it they make no difference to float64
PERMUTATION_STEPS = 200_000  # length of all sampled permutations together
SHARES = (0.2, 0.5)  # of the text's players: where the knots stand
LEAST_SCALE = 0.05  # a longer text never turns the scores round


def count_matrix(rows: Ragged, groups: IntArray, size: int) -> sparse.csr_array:
    """How often each group occurs in each row of players: counts [rows, groups], sparse."""
    ones = np.ones(len(rows.values))
    starts = rows.starts.copy()  # summing duplicates rewrites it in place
    counts = sparse.csr_array((ones, groups[rows.values], starts), shape=(len(rows), size))
    counts.sum_duplicates()
    return counts


@dataclass(frozen=True)
class FramePlayer:
    """The always-present player's parameters."""

    value: FloatArray  # [outputs]
    importance: float


@dataclass(frozen=True)
class SlalomModel:
    """The surrogate's parameters, for players and, where there is one, the frame."""

    values: FloatArray  # [players, outputs]
    importances: FloatArray  # [players]
    frame: FramePlayer | None = None

    def predict(self, counts: sparse.csr_array) -> FloatArray:
        """F of each row of counts [rows, players] -> [rows, outputs]."""
        weights, frame_weight = self._weights()
        total = counts @ weights + frame_weight
        summed = counts @ (weights[:, None] * self.values)
        if self.frame is not None:
            summed = summed + frame_weight * self.frame.value
        return np.asarray(summed / total[:, None])

    def attention(self, counts: FloatArray) -> tuple[FloatArray, float]:
        """The share of one occurrence of each player in a sequence [players], and the frame's."""
        weights, frame_weight = self._weights()
        total = counts @ weights + frame_weight
        return weights / total, float(frame_weight / total)

    def alone(self) -> FloatArray:
        """F of each player by itself, in its frame [players, outputs]: without one, its value."""
        if self.frame is None:
            return self.values
        weights, frame_weight = self._weights()
        total = (weights + frame_weight)[:, None]
        return np.asarray(
            (weights[:, None] * self.values + frame_weight * self.frame.value) / total
        )

    def normalised(self, gamma: float = 0.0) -> SlalomModel:
        """The same model with importances that sum to `gamma` (they are free up to a shift)."""
        shift = (gamma - self.importances.sum()) / len(self.importances)
        frame = self.frame and replace(self.frame, importance=self.frame.importance + shift)
        return SlalomModel(self.values, self.importances + shift, frame)

    def from_frame(self) -> SlalomModel:
        """The same model with importances counted from the frame's, where there is one."""
        if self.frame is None:
            return self
        importances = self.importances - self.frame.importance
        return SlalomModel(self.values, importances, replace(self.frame, importance=0.0))

    def affine(self, scale: float, offset: FloatArray) -> SlalomModel:
        """The model of scale * F + offset: again a SLALOM, with the same importances."""
        frame = self.frame and replace(self.frame, value=scale * self.frame.value + offset)
        return SlalomModel(scale * self.values + offset, self.importances, frame)

    def _weights(self) -> tuple[FloatArray, float]:
        """exp(importances) and the frame's, by the largest: nothing overflows, none becomes 0."""
        frame = [] if self.frame is None else [self.frame.importance]
        logs = np.append(self.importances, frame)
        weights = np.exp(np.maximum(logs - logs.max(), -LONGEST_ODDS))
        return weights[: len(self.importances)], float(weights[-1]) if frame else 0.0


def lin(model: SlalomModel) -> FloatArray:
    """The paper's linearised SLALOM of each group [players]: value alone times exp(importance)."""
    weights = np.exp(np.minimum(model.importances, LONGEST_ODDS))  # a draw may be anywhere
    return np.asarray(model.alone()[:, 0] * weights)


def slalom_scores(
    model: SlalomModel,
    groups: IntArray,
    rng: np.random.Generator,
    *,
    steps: int = PERMUTATION_STEPS,
    others: Sequence[str] = (),
) -> dict[str, FloatArray]:
    """Scores of every player (an occurrence of a group) of the text, for the first output.

    value: F of the player alone; without a frame that is the parameter v. With one, v is where F
    would go if the player outweighed the special tokens too: far outside what the model was asked,
    and so poorly known. importance: s. lin: value * exp(importance). removal: F - F without this
    occurrence. shapley: of the game S -> F(S) on occurrences, where F of no word at all is the
    frame's value, and 0 (undecided) without a frame.
    others: names of the other outputs, whose values are told too.
    """
    value, importance = model.values[groups, 0], model.importances[groups]
    alone = model.alone()[groups, 0]
    counts = np.bincount(groups, minlength=len(model.importances)).astype(np.float64)
    share, frame_share = model.attention(counts)
    empty = 0.0 if model.frame is None else float(model.frame.value[0])
    return {
        "value": alone,
        "importance": importance,
        "lin": lin(model)[groups],
        "removal": _removal(value, share[groups], frame_share, empty),
        "shapley": _shapley(value, share[groups], frame_share, empty, groups, rng, steps),
        **{f"value: {name}": model.alone()[groups, i] for i, name in enumerate(others, start=1)},
    }


def _removal(value: FloatArray, share: FloatArray, frame_share: float, empty: float) -> FloatArray:
    """F - F of the others, whose shares are summed: 1 - share loses a dominant one's digits."""
    others = _sum_of_others(share) + frame_share
    summed = _sum_of_others(share * value) + frame_share * empty
    whole = float(share @ value) + frame_share * empty
    without = np.divide(summed, others, out=np.full(len(value), empty), where=others > 0)
    return np.asarray(whole - without)


def _sum_of_others(numbers: FloatArray) -> FloatArray:
    before = np.cumsum(np.append(0.0, numbers[:-1]))
    after = np.cumsum(np.append(0.0, numbers[:0:-1]))[::-1]
    return np.asarray(before + after)


def _shapley(
    value: FloatArray,
    share: FloatArray,
    frame_share: float,
    empty: float,
    groups: IntArray,
    rng: np.random.Generator,
    steps: int,
) -> FloatArray:
    """Shapley values of the weighted mean; no model call is needed."""
    if len(value) <= EXACT_SHAPLEY:
        return _exact_shapley(value, share, frame_share, empty)
    pairs = max(2, steps // (2 * len(value)))
    order = rng.permuted(np.tile(np.arange(len(value)), (pairs, 1)), axis=1)
    total = np.zeros(len(value))
    for path in (order, order[:, ::-1]):  # permutations and their reverses: less variance
        gains = _gains(value[path], share[path], frame_share, empty)
        total += np.bincount(path.reshape(-1), gains.reshape(-1))
    # Players of one group are interchangeable: their mean is the better estimate of each.
    mean = np.bincount(groups, total) / np.bincount(groups)
    return np.asarray(mean[groups] / (2 * pairs))


def _gains(value: FloatArray, share: FloatArray, frame_share: float, empty: float) -> FloatArray:
    """What each player adds to F when the players enter in the order of each row."""
    weight = frame_share + np.cumsum(share, axis=1)
    summed = frame_share * empty + np.cumsum(share * value, axis=1)
    return np.diff(summed / weight, prepend=empty, axis=1)


def _exact_shapley(
    value: FloatArray, share: FloatArray, frame_share: float, empty: float
) -> FloatArray:
    players = len(value)
    member = all_coalitions(players)
    weight = frame_share + member @ share
    game = np.full(2**players, empty)
    game[1:] = (frame_share * empty + member[1:] @ (share * value)) / weight[1:]
    return exact_shapley(member, game)


@dataclass(frozen=True)
class LengthScale:
    """One SLALOM for short and for long sequences: a level and a scale by length.

    F is affine-equivariant: level + scale * F is again a SLALOM with the same importances. Real
    models answer long sequences further from zero than a weighted mean of short ones would have
    it, until they saturate. So level and scale may differ with the length, linearly in its
    logarithm between a few knots, and stay beyond the last. At the length of the short sequences
    they are 0 and 1: there the values mean log-odds.
    """

    knots: FloatArray  # log lengths, rising; the first is the short sequences'
    level: FloatArray  # [knots, outputs]
    scale: FloatArray  # [knots]

    @classmethod
    def plain(cls, short: int, players: int, outputs: int = 1) -> LengthScale:
        """No change at any length; knots where the text is long enough to tell them apart."""
        lengths = [short, *(share * players for share in SHARES if share * players > 2 * short)]
        knots = np.log(np.array(lengths, dtype=np.float64))
        return cls(knots, np.zeros((len(knots), outputs)), np.ones(len(knots)))

    def at(self, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
        """Level [rows, outputs] and scale [rows, 1] of sequences of these lengths."""
        hats = self._hats(lengths)
        return hats @ self.level, hats @ self.scale[:, None]

    def apply(self, lengths: IntArray, scores: FloatArray) -> FloatArray:
        """Margins [rows, outputs] for SLALOM's scores of sequences of these lengths."""
        level, scale = self.at(lengths)
        return np.asarray(level + scale * scores)

    def undo(self, lengths: IntArray, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The scores [rows, outputs] for SLALOM to fit, and weights [rows] that make its errors
        the margins'.
        """
        level, scale = self.at(lengths)
        return (margins - level) / scale, scale[:, 0]

    def refitted(self, lengths: IntArray, scores: FloatArray, margins: FloatArray) -> LengthScale:
        """Level and scale for these answers [rows, outputs]: least squares, with a pull towards no
        change. The scale is one for all outputs, as the importances are.
        """
        others, outputs = len(self.knots) - 1, margins.shape[1]
        if others == 0:
            return self
        unit = float(np.std(margins))  # so that the pull means the same for every model
        if unit <= 0:
            return self
        hats = self._hats(lengths)[:, 1:]
        flat, rest = scores.T.reshape(-1) / unit, (margins - scores).T.reshape(-1) / unit
        levels = np.kron(np.eye(outputs), hats)  # [outputs * rows, outputs * others]
        columns = np.hstack([levels, np.tile(hats, (outputs, 1)) * flat[:, None]])
        change: FloatArray = np.zeros(columns.shape[1])
        for _ in range(2):  # the second time the noise is known better
            noise = max(float(np.mean((rest - columns @ change) ** 2)), 1e-12)
            gram = columns.T @ columns + noise * np.eye(len(change))
            change = np.asarray(np.linalg.solve(gram, columns.T @ rest), dtype=np.float64)
        level = np.zeros_like(self.level)
        level[1:] = unit * change[:-others].reshape(outputs, others).T
        scale = np.append(1.0, np.maximum(1 + change[-others:], LEAST_SCALE))
        return LengthScale(self.knots, level, scale)

    def _hats(self, lengths: IntArray) -> FloatArray:
        """How much each knot counts at each length [rows, knots]."""
        where = np.log(np.maximum(lengths, 1))
        corners = np.eye(len(self.knots))
        return np.array([np.interp(where, self.knots, corner) for corner in corners]).T
