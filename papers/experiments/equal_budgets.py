"""Explanations of a function of texts, each tried on it: SHAP, LIME and SLALOM at equal budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from papers.arrays import FloatArray
from piste import KernelShap, Lime, Slalom, explain
from piste.decision import Decision
from piste.methods import Method
from piste.metrics import deletion, extremes, insertion
from piste.models import Classifier
from piste.runs import Interval, interval

SHAP, LIME, EFF, OURS, CHANCE = "SHAP", "LIME", "SLALOM-eff lin", "SLALOM lin", "random order"
# What one occurrence is worth, since a curve deletes one at a time. SHAP and LIME score a repeated
# word as a whole; their "removal" is an occurrence's share of it.
SCORE = {SHAP: "removal", LIME: "removal", EFF: "lin", OURS: "lin"}
NEVER_ENOUGH = 1e-9  # a tolerance no fit reaches: SLALOM, too, uses its whole budget
Curves = dict[str, FloatArray]  # by method, a figure for each text


@dataclass(frozen=True)
class MethodFigures:
    """Figures of every explained text, by method."""

    insertion: Curves
    deletion: Curves
    normalised: Curves  # deletion between the worst and the best order that a search finds
    forwards: Curves
    certainty: FloatArray  # the model's probability of its own decision [texts]

    @property
    def curves(self) -> dict[str, Curves]:
        """Both figures by name."""
        return {"insertion": self.insertion, "deletion": self.deletion}

    @property
    def intervals(self) -> dict[str, dict[str, Interval]]:
        """Their means by figure and method."""
        return {f: {name: interval(v) for name, v in c.items()} for f, c in self.curves.items()}


def methods(budget: int) -> dict[str, Method]:
    """The explainers compared, each with as many samples as the budget has room for."""
    return {
        SHAP: KernelShap(samples=budget),
        LIME: Lime(samples=budget),
        EFF: replace(Slalom.paper("eff"), samples=budget),
        OURS: Slalom(),
    }


def measure(
    classifier: Classifier,
    texts: Sequence[str],
    budget: int,
    steps: int,
    seed: int,
    say: Callable[[str], None] = lambda _: None,
) -> MethodFigures:
    """Explain every text by every method, and try each explanation on the model."""
    rows: dict[str, list[tuple[float, ...]]] = {}
    certainty = []
    for number, text in enumerate(texts):
        say(f"explaining review {number + 1} of {len(texts)}")
        decision = Decision.on(text, classifier)
        certainty.append(_number(decision.target.probability))
        scored = _scored(classifier, text, decision.target.index, budget, seed)
        chance = np.random.default_rng([seed, number]).random(len(decision.players))
        scored[CHANCE] = chance, 0
        for name, figures in _tried(decision, scored, steps).items():
            rows.setdefault(name, []).append(figures)
    by_name = {name: np.array(figures).T for name, figures in rows.items()}  # [4, texts]
    curves: list[Curves] = [{name: of[kind] for name, of in by_name.items()} for kind in range(4)]
    return MethodFigures(curves[0], curves[1], curves[2], curves[3], np.array(certainty))


def _tried(
    decision: Decision, scored: Mapping[str, tuple[FloatArray, int]], steps: int
) -> dict[str, tuple[float, ...]]:
    """Insertion, deletion, normalised deletion and cost of each method on one text."""
    ends = extremes(decision, steps)
    figures: dict[str, tuple[float, ...]] = {}
    for name, (scores, forwards) in scored.items():
        fall = _number(deletion(decision, scores, steps))
        place = _number(None if ends is None else ends.place(fall))
        missing = _number(insertion(decision, scores, steps))
        figures[name] = missing, fall, place, float(forwards)
    return figures


def _number(figure: float | None) -> float:
    """Means leave out what is not a number: a text of one word has no curve."""
    return np.nan if figure is None else figure


def _scored(
    classifier: Classifier, text: str, target: int, budget: int, seed: int
) -> dict[str, tuple[FloatArray, int]]:
    """For each method its scores [players] and the number of forward passes."""
    scored = {}
    for name, method in methods(budget).items():
        explanation = explain(
            text,
            classifier,
            method,
            target=target,
            seed=seed,
            budget=budget,
            tolerance=NEVER_ENOUGH if name == OURS else None,
        )
        scored[name] = explanation.scores[SCORE[name]], explanation.cost.forwards
    return scored
