"""Paper A, camera-ready: how well is the change predicted when many words are removed?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from piste.compare import on_trial
from piste.data import Example
from piste.experiments.base import Context, Outcome
from piste.experiments.reviews import Judging, hat_reviews, review_model, settings_of
from piste.explain import explain
from piste.explanation import Explanation, FloatArray
from piste.methods.base import Method
from piste.methods.kernel_shap import KernelShap
from piste.methods.lime import Lime
from piste.methods.slalom import Slalom
from piste.metrics.asking import answers
from piste.models.protocol import Classifier
from piste.render.evaluation import COLOURS, DASHES
from piste.text.players import Players
from piste.theory.report import Table

TOLD = (1, 2, 5, 10)


@dataclass(frozen=True)
class Settings:
    """How many words go, how often, on how many texts."""

    judging: Judging
    most: int = 10
    draws: int = 100


SMALL = Settings(Judging(texts=8, samples=300), draws=10)
FULL = Settings(Judging(texts=100, samples=5000, subset="100"))


def run(context: Context) -> Outcome:
    """Mean squared error of the predicted fall of the log-odds, relative to predicting none."""
    settings: Settings = context.pick(SMALL, FULL)
    classifier, facts = review_model(context, "bert", "yelp")
    found: dict[str, list[FloatArray]] = {}
    for number, example in enumerate(hat_reviews(context, settings.judging), start=1):
        context.say(f"text {number} of {settings.judging.texts}")
        for name, errors in measure(example, classifier, settings, context.seed).items():
            found.setdefault(name, []).append(errors)
    means = {name: np.asarray(np.mean(errors, axis=0)) for name, errors in found.items()}
    return Outcome(
        (_table(means),),
        {"multi-removal": _figure(means)},
        settings_of({"BERT": facts}, settings.judging) | {"draws": settings.draws},
        _findings(means),
    )


def methods(samples: int) -> dict[str, Method]:
    """Both of the paper's SLALOMs, piste's two focuses, and the additive ones."""
    return {
        "SLALOM-eff": dataclasses.replace(Slalom.paper("eff"), samples=samples),
        "SLALOM-fidel": dataclasses.replace(Slalom.paper("fidel"), deletions=samples),
        "piste, focus on the tokens": Slalom(),
        "piste, focus on the text": Slalom(focus="text"),
        "LIME": Lime(samples=samples),
        "SHAP": KernelShap(samples=samples),
    }


def measure(
    example: Example, classifier: Classifier, settings: Settings, seed: int
) -> dict[str, FloatArray]:
    """The squared error by the number of removed words [most], each method's and of no change."""
    query, players, target = on_trial(example.text, classifier)
    removed = removals(players, settings, np.random.default_rng(seed))
    everybody = np.arange(len(players))
    kept = [np.delete(everybody, gone) for rows in removed for gone in rows]
    true = target.score - answers(query, players, target, kept)
    true = true.reshape(len(removed), settings.draws)
    found = {"no change": np.asarray(np.mean(true**2, axis=1))}
    for name, method in methods(settings.judging.samples).items():
        explanation = explain(example.text, classifier, method, target=target.index, seed=seed)
        found[name] = np.mean((predicted(explanation, removed) - true) ** 2, axis=1)
    return found


def removals(
    players: Players, settings: Settings, rng: np.random.Generator
) -> list[list[list[int]]]:
    """Random players to remove: for each number of them, so many draws."""
    most = min(settings.most, len(players) - 1)
    return [
        [rng.choice(len(players), size, replace=False).tolist() for _ in range(settings.draws)]
        for size in range(1, most + 1)
    ]


def predicted(explanation: Explanation, removed: list[list[list[int]]]) -> FloatArray:
    """What the explanation says of each removal [numbers, draws]."""
    return np.array([[explanation.change(gone) for gone in rows] for rows in removed])


def _table(means: Mapping[str, FloatArray]) -> Table:
    rows = [
        (name, *(f"{errors[size - 1]:.3f}" for size in TOLD), f"{errors.mean():.3f}")
        for name, errors in means.items()
    ]
    columns = ("method", *(f"{size} removed" for size in TOLD), "mean of 1-10")
    return Table("Mean squared error of the predicted change of log-odds", columns, tuple(rows))


def _figure(means: Mapping[str, FloatArray]) -> Figure:
    figure = Figure(figsize=(6.5, 4), layout="constrained")
    axes = figure.subplots()
    for index, (name, errors) in enumerate(means.items()):
        colour = "#999999" if name == "no change" else COLOURS[index - 1]
        dash = DASHES[index % len(DASHES)]
        axes.plot(range(1, len(errors) + 1), errors, dash, color=colour, marker=".", label=name)
    axes.set_yscale("log")
    axes.set_xlabel("words removed")
    axes.set_ylabel("squared error of the log-odds' change")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _findings(means: Mapping[str, FloatArray]) -> tuple[str, ...]:
    total = {name: float(errors.mean()) for name, errors in means.items()}
    order = sorted((name for name in total if name != "no change"), key=total.__getitem__)
    paper = ("SLALOM-fidel", "SHAP", "SLALOM-eff")
    ours = [name for name in order if name in paper]
    agrees = "as" if tuple(ours) == paper else "unlike"
    return (
        f"From best to worst: {', '.join(f'{name} ({total[name]:.3f})' for name in order)};"
        f" predicting no change has {total['no change']:.3f}.",
        f"The paper's order is fidel, SHAP, eff; here {', '.join(ours)}, {agrees} in the paper.",
    )
