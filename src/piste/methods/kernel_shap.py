"""Shapley values of the model's game on words: exact for few, Leverage SHAP for many."""

import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from piste.arrays import BoolArray, FloatArray, IntArray, Ragged
from piste.decision import Decision
from piste.methods.base import TOO_FEW, Attribution, Method
from piste.methods.game import Game, affordable, check_removal
from piste.options import whole_number
from piste.surrogates import algebra
from piste.surrogates.shapley import EXACT_SHAPLEY, all_coalitions, exact_shapley
from piste.text.players import Players

SAMPLES = 1000  # where all coalitions are too many


@dataclass(frozen=True)
class KernelShap(Method):
    """Shapley values of the distinct words: a fair share of the log-odds each (KernelSHAP).

    1. Up to twelve distinct words: ask for every coalition; the values are exact.
    2. More: coalitions of every size equally often, each with its complement (paired), which is
       sampling by leverage scores (Musco and Witter, arXiv 2410.01917).
    3. Weighted least squares, with the values summing exactly to the text less the baseline. The
       baseline is the text without words: its special tokens alone, or 0 where there are none.
    """

    name: ClassVar[str] = "kernel-shap"

    samples: int | None = None  # None: all for up to twelve distinct words, else 1,000
    removal: Literal["delete", "unk", "mask", "pad"] = "delete"

    def __post_init__(self) -> None:
        if self.samples is not None:
            whole_number("samples", self.samples, 4)
        check_removal(self.removal)

    def explain(self, decision: Decision, rng: np.random.Generator) -> Attribution:
        query, players = decision.query, decision.players
        distinct = len(players.first)
        game = Game(decision, self.removal)
        wanted = affordable(query, self._wanted(distinct), least=4)
        query.plan(wanted)
        whole, empty = self._ends(game, distinct)
        seen, seconds = None, 0.0  # nothing is fitted to all coalitions: they may be checked on
        if wanted >= 2**distinct and distinct <= EXACT_SHAPLEY:
            values, errors = self._exact(game), np.zeros(distinct)
        else:
            kept = paired_coalitions(rng, distinct, max(1, (wanted - 2) // 2))
            answers = game.play(kept[:, players.groups])
            started = time.perf_counter()
            values, errors = constrained(kept, answers, whole, empty)
            seconds = time.perf_counter() - started
            seen = Ragged.masked(kept[:, players.groups])
        few = seen is not None and (wanted - 2) // 2 < distinct
        return _attribution(game, values, None if few else errors, empty, seconds, rng, seen)

    def _wanted(self, distinct: int) -> int:
        everything: int = 2 ** min(distinct, EXACT_SHAPLEY + 1)
        if self.samples is not None:
            return min(self.samples, everything)
        return everything if distinct <= EXACT_SHAPLEY else SAMPLES

    def _ends(self, game: Game, distinct: int) -> tuple[float, float]:
        both = np.array([np.ones(distinct, dtype=bool), np.zeros(distinct, dtype=bool)])
        whole, empty = game.play(both[:, game.players.groups])
        return float(whole), float(empty)

    def _exact(self, game: Game) -> FloatArray:
        distinct = len(game.players.first)
        member = all_coalitions(distinct)
        return exact_shapley(member, game.play(member[:, game.players.groups]))


def paired_coalitions(rng: np.random.Generator, players: int, pairs: int) -> BoolArray:
    """Random coalitions and their complements [2 pairs, players], every size equally likely.

    Sizes are stratified, as Leverage SHAP advises: as even as the number of pairs allows.
    """
    sizes = 1 + _evenly(rng, pairs, max(1, players - 1))
    ranks = rng.random((pairs, players)).argsort(axis=1).argsort(axis=1)
    some = ranks < np.minimum(sizes, max(1, players - 1))[:, None]
    return np.concatenate([some, ~some])


def _evenly(rng: np.random.Generator, count: int, kinds: int) -> IntArray:
    """Each kind equally often, in random order; the remainder is assigned at random."""
    rounds = [rng.permutation(kinds) for _ in range(-(-count // kinds))]
    return np.concatenate(rounds)[:count].astype(np.int64)


def constrained(
    kept: BoolArray, answers: FloatArray, whole: float, empty: float
) -> tuple[FloatArray, FloatArray]:
    """Values [players] and standard errors: least squares with the sum held to whole - empty.

    The second half of the coalitions are the complements of the first.
    A coalition of size s is drawn with probability 1 / C(d, s); the Shapley kernel divided by that
    leaves the weight 1 / (s (d - s)).
    """
    players = kept.shape[1]
    total = whole - empty
    if players == 1:
        return np.array([total]), np.zeros(1)
    size = kept.sum(axis=1)
    weights = np.sqrt(1.0 / np.maximum(size * (players - size), 1))
    # The mean share is split off; what is left sums to zero, in the space of the projection.
    centred = (kept - (size / players)[:, None]) * weights[:, None]
    wanted = (answers - empty - total * size / players) * weights
    gram = centred.T @ centred + np.ones((players, players))  # ones: the direction of the sum
    gram[np.diag_indices(players)] += 1e-9 * np.trace(gram) / players
    factor = algebra.root(gram)
    values = algebra.solve(factor, centred.T @ wanted)
    residual = wanted - centred @ values
    slopes = centred * residual[:, None]
    pairs = len(answers) // 2
    slopes = slopes[:pairs] + slopes[pairs:]  # a coalition and its complement are one draw
    pulled = algebra.solve(factor, slopes.T)
    spare = pairs / max(1, pairs - players + 1)
    return values - values.mean() + total / players, np.sqrt(spare * np.sum(pulled**2, axis=1))


def _attribution(
    game: Game,
    values: FloatArray,
    errors: FloatArray | None,
    empty: float,
    seconds: float,
    rng: np.random.Generator,
    seen: Ragged | None,
) -> Attribution:
    players = game.players
    share = _shared(values, players)["removal"]

    def predict(keep: BoolArray) -> FloatArray:
        return np.asarray(empty + keep @ share)

    baseline = "the special tokens alone" if game.says_something_empty else "nothing, counted as 0"
    if game.removal != "delete":
        baseline = f"the text with every word replaced by {game.removal.upper()}"
    return Attribution(
        primary="shapley",
        scores=_shared(values, players),
        errors={} if errors is None else _shared(errors, players),
        fidelity=game.checked(predict, rng, seen),
        fit_seconds=seconds,
        surrogate_score=empty + float(values.sum()),
        notes=(
            f"The baseline is {baseline}: {empty:+.2f}. The values add up from there to the score.",
            *((TOO_FEW,) if errors is None else ()),
        ),
    )


def _shared(values: FloatArray, players: Players) -> dict[str, FloatArray]:
    """The value of each word, and the share of one of its occurrences."""
    occurrences = np.bincount(players.groups)[players.groups]
    shared = values[players.groups]
    return {"shapley": shared, "removal": shared / occurrences}
