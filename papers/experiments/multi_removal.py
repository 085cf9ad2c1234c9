"""Paper A, camera-ready: how well is the change predicted when many words are removed?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from papers.arrays import FloatArray
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import COLOURS, DASHES
from papers.experiments.reviews import (
    REVIEW_SETTINGS,
    Models,
    ReviewSettings,
    hat_reviews,
    reported,
    review_model,
)
from papers.tables import Table
from piste import METHODS, Example, Explanation, KernelShap, Lime, Slalom, explain
from piste.arrays import Ragged
from piste.decision import Decision
from piste.methods import Method
from piste.models import Classifier


@dataclass(frozen=True)
class RemovalSettings:
    """How many words go, how often, on how many texts."""

    reviews: ReviewSettings
    most: int = 10
    draws: int = 100
    shown: tuple[int, ...] = (1, 2, 5, 10)  # numbers of removed words in the table


SETTINGS = {
    "tiny": RemovalSettings(REVIEW_SETTINGS["tiny"], most=4, draws=5, shown=(1, 4)),
    "small": RemovalSettings(replace(REVIEW_SETTINGS["small"], texts=8), draws=10),
    "paper": RemovalSettings(replace(REVIEW_SETTINGS["paper"], texts=100)),
}


def run(context: Context, settings: RemovalSettings) -> Outcome:
    """Mean squared error of the predicted fall of the log-odds, relative to predicting none."""
    models = {"BERT": review_model(context, settings.reviews.training, "bert")}
    return mean_errors(context, settings, hat_reviews(context, settings.reviews), models)


def mean_errors(
    context: Context, settings: RemovalSettings, examples: Sequence[Example], models: Models
) -> Outcome:
    """The same for the only one of the models, means over the examples."""
    ((model, (classifier, facts)),) = models.items()
    errors: dict[str, list[FloatArray]] = {}
    for number, example in enumerate(examples, start=1):
        context.say(f"text {number} of {len(examples)}")
        for name, squared in measure(example, classifier, settings, context.seed).items():
            errors.setdefault(name, []).append(squared)
    means = {name: np.asarray(np.mean(rows, axis=0)) for name, rows in errors.items()}
    return Outcome(
        (_table(means, settings.shown),),
        {"multi-removal": _figure(means)},
        reported({model: facts}, settings.reviews) | {"draws": settings.draws},
        _findings(means),
    )


def methods(samples: int) -> dict[str, Method]:
    """Both of the paper's SLALOMs, piste's own and its context, and the additive ones."""
    return {
        "SLALOM-eff": replace(Slalom.paper("eff"), samples=samples),
        "SLALOM-fidel": replace(Slalom.paper("fidel"), deletions=samples),
        "piste, slalom": Slalom(),
        "piste, context": METHODS["context"],
        "LIME": Lime(samples=samples),
        "SHAP": KernelShap(samples=samples),
    }


def measure(
    example: Example, classifier: Classifier, settings: RemovalSettings, seed: int
) -> dict[str, FloatArray]:
    """The squared error by the number of removed words [most], each method's and of no change."""
    decision = Decision.on(example.text, classifier)
    target, players = decision.target, len(decision.players)
    removed = removals(players, settings, np.random.default_rng(seed))
    kept = [np.delete(np.arange(players), gone).tolist() for rows in removed for gone in rows]
    true = target.score - decision.margins(Ragged.of(kept))
    true = true.reshape(len(removed), settings.draws)
    errors = {"no change": np.asarray(np.mean(true**2, axis=1))}
    for name, method in methods(settings.reviews.samples).items():
        explanation = explain(example.text, classifier, method, target=target.index, seed=seed)
        errors[name] = np.mean((predicted(explanation, removed) - true) ** 2, axis=1)
    return errors


def removals(
    players: int, settings: RemovalSettings, rng: np.random.Generator
) -> list[list[list[int]]]:
    """Random players to remove: for each number of them, so many draws."""
    most = min(settings.most, players - 1)
    return [
        [rng.choice(players, size, replace=False).tolist() for _ in range(settings.draws)]
        for size in range(1, most + 1)
    ]


def predicted(explanation: Explanation, removed: list[list[list[int]]]) -> FloatArray:
    """What the explanation says of each removal [numbers, draws]."""
    return np.array([[explanation.change(gone) for gone in rows] for rows in removed])


def _table(means: Mapping[str, FloatArray], shown: Sequence[int]) -> Table:
    rows = [
        (name, *(f"{errors[size - 1]:.3f}" for size in shown), f"{errors.mean():.3f}")
        for name, errors in means.items()
    ]
    columns = ("method", *(f"{size} removed" for size in shown), "mean of 1-10")
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
