"""The figures of benchmarks/context.py: each function measures one text."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from context_rivals import ridge, shapiq_estimators
from context_texts import Planted, Subject

import piste
from piste.arrays import BoolArray, FloatArray
from piste.design import deletions
from piste.design.parts import parts_between
from piste.metrics.deletion import deletion
from piste.metrics.human_attention import auroc, consensus
from piste.result.scores import score
from piste.surrogates.shapley import all_coalitions, exact_shapley

Figures = dict[str, Any]
PARTS, HALVES, REMOVALS = 150, 100, 60
FEW = 10  # parts that were not asked: fewer give no R²
NINETY = 1.645  # standard errors on either side of a 90 % interval
OWN_PARTS = 2500  # of which the model's own interactions are estimated
QUESTIONS = 64
BUDGETS = (64, 96, 128, 192, 256)
SEEDS = 3


def r2(predicted: FloatArray, true: FloatArray) -> float | None:
    if len(true) < FEW:
        return None
    return float(1 - np.mean((predicted - true) ** 2) / np.var(true))


def predictions(explanation: piste.Explanation, parts: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Predicted scores of parts [parts] and their standard errors, 0 where the answer is known."""
    predicted = [explanation.predict(np.flatnonzero(part).tolist()) for part in parts]
    return np.array([p.score for p in predicted]), np.array([p.error or 0.0 for p in predicted])


def held_out(players: int, count: int = PARTS, least: float = 0.3, most: float = 1.0) -> BoolArray:
    """Random parts that keep a uniform share of the words."""
    return parts_between(np.random.default_rng(1234), players, count, least, most)


def quality(subject: Subject, effort: str = "normal") -> Figures:
    """How well context predicts the model and ranks words; SLALOM's figures beside."""
    explanation = subject.explain(effort=effort)
    figures = faithfulness(subject, explanation)
    checks = None if explanation.fidelity is None else explanation.fidelity.r2
    figures |= {"claimed": checks, "deletion": _deletion(subject, explanation, "effect")}
    if effort == "normal":
        other = subject.explain("slalom")
        named = faithfulness(subject, other) | {"deletion": _deletion(subject, other, "lin")}
        figures |= {f"slalom {name}": figure for name, figure in named.items()}
    return figures


def thorough(subject: Subject) -> Figures:
    return quality(subject, "thorough")


def _deletion(subject: Subject, explanation: piste.Explanation, name: str) -> float | None:
    return deletion(subject.decision, explanation.scores[name])


def faithfulness(subject: Subject, explanation: piste.Explanation) -> Figures:
    """Agreement with the model on parts that were not asked, on all, on halves, on removals."""
    players = subject.players
    parts, half = held_out(players), players // 2 / players
    true = subject.answers(parts)
    predicted, errors = predictions(explanation, parts)
    fresh = (errors > 0) | (explanation.parts is None)
    halves = held_out(players, HALVES, half, half)
    inside = np.abs(predicted - true)[fresh] <= NINETY * errors[fresh]
    return {
        "words": players,
        "passes": subject.passes(explanation),
        "sequences": explanation.cost.forwards,
        "parts": r2(predicted[fresh], true[fresh]),
        "all parts": r2(predicted, true),
        "halves": r2(predictions(explanation, halves)[0], subject.answers(halves)),
        "removals": removal_error(subject, explanation),
        "covered": int(inside.sum()),
        "of parts": int(fresh.sum()),
    }


def removal_error(subject: Subject, explanation: piste.Explanation) -> float:
    """Of 1 to 5 random removals, relative to predicting no change."""
    everybody, rng = np.arange(subject.players), np.random.default_rng(98)
    rows = deletions(rng, subject.players, REMOVALS, 1, min(5, subject.players - 1))
    gone = [np.setdiff1d(everybody, rows.row(i)).tolist() for i in range(len(rows))]
    predicted = np.array([explanation.change(removed) for removed in gone])
    true = subject.decision.target.score - subject.decision.margins(rows)
    return float(np.sqrt(np.mean((predicted - true) ** 2) / np.mean(true**2)))


def other_class(subject: Subject) -> Figures:
    """Whether the surrogate's score of the whole text is on the other side than the model's."""
    explanation, other = subject.explain(), subject.explain("slalom")
    score = explanation.target.score
    told = (explanation.base or 0.0) + float(explanation.scores["effect"].sum())
    whole = other.predict(range(subject.players)).score
    return {"context": told * score < 0, "slalom": whole * score < 0, "gap": abs(told - score)}


def shapley(subject: Subject) -> Figures:
    """Relative errors against exact Shapley values, and how many of them intervals cover."""
    coalitions = all_coalitions(subject.players)
    answers = subject.answers(coalitions)
    exact = exact_shapley(coalitions, answers)

    def error(values: FloatArray) -> float:
        return float(np.linalg.norm(values - exact) / np.linalg.norm(exact))

    usual = subject.explain()
    figures: Figures = {"slalom": error(subject.explain("slalom").scores["shapley"])}
    figures |= _covered(usual, exact, "normal") | {"normal": error(usual.scores["effect"])}
    few = [subject.explain(budget=QUESTIONS, seed=seed) for seed in range(SEEDS)]
    figures["context"] = {QUESTIONS: [error(one.scores["effect"]) for one in few]}
    figures |= _summed([_covered(one, exact, "64") for one in few])
    known = subject.decision.query.answers  # nobody but context needs the budget kept
    for name, make, kind in (
        ("kernel-shap", lambda n: piste.KernelShap(samples=n), "shapley"),
        ("lime", lambda n: piste.Lime(samples=n), "weight"),
    ):
        figures[name] = {
            n: [
                error(subject.explain(make(n), seed=seed, answers=known).scores[kind])
                for seed in range(SEEDS)
            ]
            for n in BUDGETS
        }
    for name, estimate in shapiq_estimators(coalitions, answers).items():
        seeds = range(1 if name == "ProxySPEX" else SEEDS)  # it takes seconds
        figures[f"shapiq {name}"] = {
            n: [error(estimate(n, seed)) for seed in seeds] for n in BUDGETS
        }
    return figures


def _covered(explanation: piste.Explanation, exact: FloatArray, name: str) -> dict[str, int]:
    errors = explanation.errors["effect"]
    unsure = errors > 0  # where every part was asked, nothing is estimated
    inside = np.abs(explanation.scores["effect"] - exact) <= NINETY * errors
    return {f"covered {name}": int(inside[unsure].sum()), f"of {name}": int(unsure.sum())}


def _summed(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: sum(count[name] for count in counts) for name in counts[0]}


def interactions(subject: Subject) -> Figures:
    """All pairs against the model's own interactions: least squares on ±1 over many parts."""
    parts = held_out(subject.players, OWN_PARTS, 0.25)
    own = _least_squares(parts, subject.answers(parts))
    first, second = np.triu_indices(subject.players, k=1)
    figures: Figures = {"words": subject.players}
    for budget in (50, 100):
        explanation = subject.explain(budget=budget)
        told = np.zeros((subject.players, subject.players))
        for pair in explanation.pairs(len(first)):
            told[pair.first, pair.second] = told[pair.second, pair.first] = pair.effect
        same = _least_squares(parts, predictions(explanation, parts)[0])
        asked = held_out(subject.players, budget)
        linear = ridge(asked, subject.answers(asked), pairs=True)(parts)
        for name, found in (
            ("told", told[first, second]),
            ("same", same),
            ("ridge", _least_squares(parts, linear)),
        ):
            figures[f"{name} {budget}"] = float(np.corrcoef(found, own)[0, 1])
            figures[f"{name} signs {budget}"] = _signs(found, own)
    return figures


def _least_squares(parts: BoolArray, scores: FloatArray) -> FloatArray:
    """The interaction of every pair, in the order of the upper triangle."""
    signs = np.where(parts, 1.0, -1.0)
    first, second = np.triu_indices(parts.shape[1], k=1)
    design = np.hstack([np.ones((len(parts), 1)), signs, signs[:, first] * signs[:, second]])
    coefficients = np.linalg.lstsq(design, scores, rcond=None)[0]
    return np.asarray(4 * coefficients[1 + parts.shape[1] :])


def _signs(found: FloatArray, own: FloatArray, strongest: int = 6) -> float:
    top = np.argsort(-np.abs(own))[:strongest]
    return float(np.mean(np.sign(found[top]) == np.sign(own[top])))


RATED: Sequence[tuple[str | piste.Method, tuple[str, ...]]] = (
    ("slalom", ("lin", "importance")),
    (piste.KernelShap(samples=400), ("shapley",)),
    (piste.Lime(samples=400), ("weight",)),
    ("occlusion", ("removal",)),
    ("integrated-gradients", ("ig",)),
    ("attention", ("alpha-avg",)),
)


def people(subject: Subject) -> Figures:
    """AUROC of scores against words that most annotators marked (all, where they are few)."""
    example = subject.example
    share = np.mean(example.maps, axis=0)
    majority = share > 0.5 if len(example.maps) > 3 else share == 1
    marked = consensus(subject.decision.players, example.words, [majority.astype(int).tolist()])
    if marked is None or not 0 < marked.sum() < len(marked):
        return {}
    explanation = subject.explain()
    effect = explanation.scores["effect"]
    figures = {
        "context relevance": auroc(explanation.scores["relevance"], marked),
        "context effect, its size": auroc(effect, marked),
        "context effect": auroc(effect - effect.min(), marked),
        "context removal, its size": auroc(explanation.scores["removal"], marked),
    }
    for method, names in RATED:
        other = subject.explain(method)
        for name in names:
            scores, signed = other.scores[name], score(name).signed
            # A weight ranks as it is; of the others the size counts.
            figures[f"{other.method} {name}"] = auroc(
                scores if signed else scores - scores.min(), marked
            )
    return figures


def recovered(subject: Subject) -> Figures:
    """Correlations with the values and importances that were planted."""
    game = Planted(int(subject.example.id))
    explanation = subject.explain(target=1)
    words = [player.text for player in explanation.players]

    def correlation(name: str, truth: dict[str, float]) -> float:
        given = [truth[word] for word in words]
        return float(np.corrcoef(explanation.scores[name], given)[0, 1])

    return {
        "value": correlation("value", game.values),
        "importance": correlation("importance", game.importances),
    }


def overhead(subject: Subject) -> Figures:
    """The share of the time that is not the model's."""
    assert subject.players  # asked once, to warm up
    started = time.perf_counter()
    cost = subject.explain().cost
    seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "fit": cost.fit_seconds / (cost.fit_seconds + cost.query_seconds),
        "everything": 1 - cost.query_seconds / seconds,
    }
