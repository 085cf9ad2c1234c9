"""What context is compared with: other surrogates of parts, and shapiq's estimators."""

import importlib.util
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from context_texts import Subject

import piste
from piste.arrays import BoolArray, FloatArray
from piste.design.parts import parts_between
from piste.methods import context
from piste.methods.context import asking

Predict = Callable[[BoolArray], FloatArray]  # scores of parts
PENALTIES = np.logspace(-3, 3, 13)
PAIRED = (0.03, 0.1, 0.3, 1.0)  # variance of a pair's weight, of a single's
PASSES = (10, 20, 40, 75, 150, 400)
EXACT = 1e-9  # a tolerance that no explanation reaches before it has asked all it may


def ridge(parts: BoolArray, answers: FloatArray, pairs: bool = False) -> Predict:
    """Ridge regression on ±1, with all pairs or without; the penalty by leave-one-out."""
    best, error = None, np.inf
    centre = answers.mean()
    for penalty, share in product(PENALTIES, PAIRED if pairs else (0.0,)):
        kernel = _kernel(parts, parts, share)
        inverse = np.linalg.inv(kernel + penalty * parts.shape[1] * np.eye(len(parts)))
        weights = inverse @ (answers - centre)
        left_out = float(np.mean((weights / np.diag(inverse)) ** 2))
        if left_out < error:
            best, error = (share, weights), left_out
    share, weights = best
    return lambda fresh: centre + _kernel(fresh, parts, share) @ weights


def _kernel(first: BoolArray, second: BoolArray, share: float) -> FloatArray:
    """Inner products of the singles, and of the pairs times their share."""
    singles = np.where(first, 1.0, -1.0) @ np.where(second, 1.0, -1.0).T
    return 1 + singles + share * (singles**2 - first.shape[1]) / 2


def curve(subject: Subject, passes: tuple[int, ...] = PASSES) -> dict[str, Any]:
    """(forward passes used, R² on parts) of every surrogate, for rising costs.

    All are tried on the same parts, but for those that context has asked: of these it knows.
    """
    parts = parts_between(np.random.default_rng(1234), subject.players, 150, 0.3, 1.0)
    true = subject.answers(parts)

    def scored(predicted: FloatArray, chosen: BoolArray | None = None) -> float | None:
        chosen = np.ones(len(parts), dtype=bool) if chosen is None else chosen
        if chosen.sum() < 10:
            return None
        errors = (predicted - true)[chosen]
        return float(1 - np.mean(errors**2) / np.var(true[chosen]))

    points: dict[str, Any] = {"context": [], "slalom": [], "kernel-shap": []}
    for wanted in passes:
        explanation = with_passes(subject, wanted)
        told = [explanation.predict(np.flatnonzero(part).tolist()) for part in parts]
        unasked = np.array([one.error != 0 for one in told])
        r2 = scored(np.array([one.score for one in told]), unasked)
        points["context"].append((subject.passes(explanation), r2))
        explanation = _slalom(subject, wanted)
        formula = explanation.formula
        points["slalom"].append((subject.passes(explanation), scored(formula.scores(parts))))
        explanation = subject.explain(piste.KernelShap(samples=max(4, 2 * wanted)))
        shares = explanation.scores["removal"]
        base = explanation.surrogate_score - shares.sum()
        points["kernel-shap"].append((subject.passes(explanation), scored(base + parts @ shares)))
    return points | _ridges(subject, passes, lambda predict: scored(predict(parts)))


def _ridges(
    subject: Subject, passes: tuple[int, ...], scored: Callable[[Predict], float | None]
) -> dict[str, Any]:
    """Ridge regressions on the first of many parts of 30 to 100 %."""
    rng = np.random.default_rng(0)
    asked = parts_between(rng, subject.players, 2 * passes[-1], 0.3, 1.0)
    tokens = asked @ subject.decision.players.ids.lengths + subject.decision.players.frame.size
    spent = np.cumsum(tokens) / subject.tokens
    asked = asked[: int(np.searchsorted(spent, passes[-1]))]
    answers = subject.answers(asked)
    points: dict[str, Any] = {"ridge": [], "ridge + pairs": []}
    for wanted in passes:
        count = int(np.searchsorted(spent[: len(asked)], wanted))
        for name in points:
            predict = ridge(asked[:count], answers[:count], pairs=name != "ridge")
            points[name].append((float(spent[count - 1]), scored(predict)))
    return points


def with_passes(subject: Subject, passes: float) -> piste.Explanation:
    """Context at another cost than its efforts have, and without an early end."""
    with (
        patch.dict(asking.PASSES, thorough=passes),
        patch.object(context, "TOLERANCE", EXACT),
        patch.object(asking, "LEAST_PARTS", 0),
    ):
        return subject.explain(effort="thorough")


def _slalom(subject: Subject, passes: float) -> piste.Explanation:
    """SLALOM at about this cost."""
    usual = subject.explain("slalom").cost
    budget = round(passes * subject.tokens * usual.forwards / usual.tokens)
    return subject.explain("slalom", budget=max(20, budget), tolerance=0.001)


def shapiq_estimators(
    coalitions: BoolArray, answers: FloatArray
) -> dict[str, Callable[[int, int], FloatArray]]:
    """shapiq's Shapley values at (budget, seed), on a game that is known; none without shapiq."""
    if importlib.util.find_spec("shapiq") is None:
        return {}
    from shapiq import approximator

    players = coalitions.shape[1]
    bits = 1 << np.arange(players)
    by_bits = answers[np.argsort(coalitions @ bits)]
    kinds: dict[str, dict[str, Any]] = {
        "KernelSHAP": {"pairing_trick": True},
        "UnbiasedKernelSHAP": {"pairing_trick": True},
        "SVARM": {"pairing_trick": True},
    }
    if importlib.util.find_spec("lightgbm") is not None:
        kinds["ProxySPEX"] = {"index": "SV", "max_order": 1}

    def estimate(name: str, budget: int, seed: int) -> FloatArray:
        made = getattr(approximator, name)(n=players, random_state=seed, **kinds[name])
        values = made.approximate(
            budget=min(budget, len(answers)), game=lambda rows: by_bits[np.asarray(rows) @ bits]
        )
        return np.array([values[(player,)] for player in range(players)])

    return {name: partial(estimate, name) for name in kinds}
