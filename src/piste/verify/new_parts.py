"""Whether an explanation predicts parts of its text that nobody has asked about.

This is what no recorded number can answer: the model is asked, and the explanation has to be right.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from piste.arrays import BoolArray, FloatArray, Ragged
from piste.result.checks import FAILS, HOLDS, UNKNOWN, Check
from piste.result.explanation import Explanation
from piste.result.parts import NEAR, SURE
from piste.verify.trial import Trial

NEW = 32  # parts that are asked
FEWEST = 12  # that say something
DRAWS = 20 * NEW
# A forger's numbers are out by far more, an honest explanation's by less: docs/howto/audit.md.
LEAST_INSIDE = 0.75  # of the answers within `SURE` standard errors, where about 95 % are expected
LARGEST_RATIO = 3.0  # of the errors to those that are claimed
NAME = "new parts"
ADVICE = (
    "It predicts the model worse than it claims: the file was changed, or do not rely on its error"
    " bars."
)
HONEST = "Do not rely on its error bars: explain it again with a higher effort or a larger budget."


def new_parts(trial: Trial, again: Explanation | None) -> Check:
    """Whether R² and error bars hold on parts that were drawn now.

    again: the same made here. Where it claims too much too, that is no fault of the file.
    """
    then = trial.explanation
    if then.parts is None or not then.parts.tells_pairs:
        return Check(NAME, UNKNOWN, "it claims nothing about parts of the text")
    if len(trial.decision.players) != len(then.players):
        return Check(NAME, UNKNOWN, f"the {then.unit}s are others")
    drawn = drawn_from(then)
    if len(drawn) < FEWEST:
        return Check(NAME, UNKNOWN, "all, or nearly all, were asked for the explanation")
    found = _judged(trial, drawn)
    if found.outcome != FAILS or again is None or len(again.players) != len(then.players):
        return found
    if again.parts is None or _judged(replace(trial, explanation=again), drawn).outcome != FAILS:
        return found
    return Check(NAME, UNKNOWN, f"{found.found}; made again, it does no better", HONEST)


def asked(trial: Trial, drawn: list[BoolArray]) -> tuple[FloatArray, FloatArray]:
    """Predicted less answered [parts], and the standard errors of the predictions [parts]."""
    rows = [np.flatnonzero(part).tolist() for part in drawn]
    predictions = [trial.explanation.predict(row) for row in rows]
    gaps = np.array([one.score for one in predictions]) - trial.scores(Ragged.of(rows))
    return gaps, np.array([one.error or 0.0 for one in predictions])


def _judged(trial: Trial, drawn: list[BoolArray]) -> Check:
    then, rounding = trial.explanation, trial.rounding
    gaps, errors = asked(trial, drawn)
    within = np.abs(gaps) <= SURE * errors + rounding * (1 + abs(then.target.score))
    typical = float(np.sqrt((gaps**2).mean()))
    claimed = math.inf if then.fidelity is None else then.fidelity.rmse
    count = f"{int(within.sum())} of {len(gaps)} new parts within two standard errors"
    if float(within.mean()) < LEAST_INSIDE:
        least = math.ceil(LEAST_INSIDE * len(gaps))
        return Check(NAME, FAILS, f"only {count}, at least {least} are needed", ADVICE)
    if typical > LARGEST_RATIO * claimed + rounding:
        found = f"a typical error of {typical:.2g} on {len(gaps)} new parts, {claimed:.2g} recorded"
        return Check(NAME, FAILS, found, ADVICE)
    return Check(NAME, HOLDS, f"{count}, typical error {typical:.2g}")


def drawn_from(then: Explanation) -> list[BoolArray]:
    """Parts near the text that were not asked, the same ones every time."""
    assert then.parts is not None
    players, rng = len(then.players), np.random.default_rng(then.seed + 1)
    known = set(then.parts.kept)
    fewest = max(1, math.ceil(NEAR * players))
    drawn: list[BoolArray] = []
    for _ in range(DRAWS if players > 1 else 0):
        part = np.zeros(players, dtype=bool)
        part[rng.permutation(players)[: rng.integers(min(fewest, players - 1), players)]] = True
        name = "".join("1" if kept else "0" for kept in part)
        if name not in known:
            known.add(name)
            drawn.append(part)
        if len(drawn) == NEW:
            break
    return drawn
