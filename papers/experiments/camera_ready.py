"""Paper A, camera-ready, Tables 1a-1c: both of its SLALOMs side by side, beside v1's figures.

At small scale on the model that piste embeds; at paper scale on a BERT, as the figures are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from papers.experiments import table2a
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import paired_bars
from papers.experiments.review_tables import verdict
from papers.experiments.reviews import (
    REVIEW_SETTINGS,
    ReviewSettings,
    accuracies,
    hat_reviews,
    labelled,
    review_model,
    watch,
)
from papers.tables import Table
from piste import METHODS, KernelShap, Lime, Slalom, evaluate, load, predict
from piste.models import Classifier
from piste.runs import Evaluation, View, differences, interval

BAYES, PEOPLE, DELETION = "naive-bayes", "human-auroc", "deletion"
TITLES = {
    BAYES: "1a: Spearman with Naive Bayes, IMDB",
    PEOPLE: "1b: human-attention AUROC, Yelp-HAT",
    DELETION: "1c: deletion AOPC, Yelp-HAT",
}
SLALOMS = ("eff v", "eff s", "eff lin", "fidel v", "fidel s", "fidel lin")
COLUMNS = (*SLALOMS, "LIME", "SHAP", "slalom", "context", "LRP")
# The papers' figures for BERT. v1's SLALOM is eff.
V1 = {
    BAYES: {"eff v": 0.75, "eff s": 0.43, "eff lin": 0.77},
    PEOPLE: {"eff v": 0.57, "eff s": 0.72, "eff lin": 0.64, "LIME": 0.63, "SHAP": 0.68},
    DELETION: {"eff v": 0.943, "eff s": 0.262, "eff lin": 0.944, "LIME": 0.939, "SHAP": 0.929},
}
CAMERA_READY = {
    BAYES: {"eff v": 0.619, "eff s": 0.349, "eff lin": 0.626, "LRP": 0.706},
    PEOPLE: {"eff v": 0.786, "eff s": 0.807, "eff lin": 0.801, "LRP": 0.813},
    DELETION: {"eff lin": 0.863},
}


@dataclass(frozen=True)
class CameraReadySettings:
    """How many reviews are explained, with how many samples."""

    reviews: ReviewSettings  # Yelp-HAT
    imdb: table2a.Table2aSettings
    embedded: bool = True  # the model is piste's own


SETTINGS = {
    "tiny": CameraReadySettings(REVIEW_SETTINGS["tiny"], table2a.SETTINGS["tiny"]),
    "small": CameraReadySettings(
        replace(REVIEW_SETTINGS["small"], texts=20),
        replace(table2a.SETTINGS["small"], texts=20, samples=300, counted=2000),
    ),
    "paper": CameraReadySettings(
        REVIEW_SETTINGS["paper"], table2a.SETTINGS["paper"], embedded=False
    ),
}
Evaluations = Mapping[str, Evaluation]  # by metric


def run(context: Context, settings: CameraReadySettings) -> Outcome:
    """The three tables."""
    classifier, about = explained_model(context, settings)
    stamp = f"{context.scale}-{settings.imdb.texts}-{settings.reviews.texts}-{context.seed}"
    kept = context.cache / "judged" / f"camera-ready-{stamp}"  # so that a run goes on
    bayes = evaluate(
        table2a.cut(context.examples("imdb", "test", settings.imdb.texts), settings.imdb.words),
        classifier,
        views(settings.imdb.samples)[: len(SLALOMS)],
        [BAYES],
        train=table2a.reference(context, settings.imdb),
        unit="token",
        out=kept / "imdb",
        seed=context.seed,
        watch=watch(context, "IMDB"),
    )
    judged = evaluate(
        hat_reviews(context, settings.reviews),
        classifier,
        views(settings.reviews.samples),
        [PEOPLE, DELETION],
        out=kept / "hat",
        seed=context.seed,
        watch=watch(context, "Yelp-HAT"),
    )
    evaluations = {BAYES: bayes, PEOPLE: judged, DELETION: judged}
    return Outcome(
        tuple(_table(metric, evaluation) for metric, evaluation in evaluations.items()),
        {"eff-and-fidel": _bars(evaluations)},
        {
            "model": about,
            "reviews": f"{settings.imdb.texts} of IMDB, {settings.reviews.texts} of Yelp-HAT",
            "words": f"{settings.imdb.words}, {settings.reviews.subset}",
            "samples": f"{settings.imdb.samples}, {settings.reviews.samples} of every method",
            "Naive Bayes": f"{settings.imdb.counted} reviews, unit token",
        },
        findings(evaluations),
    )


def explained_model(context: Context, settings: CameraReadySettings) -> tuple[Classifier, str]:
    """The classifier, and what it is."""
    if not settings.embedded:
        classifier, facts = review_model(context, settings.reviews.training, "bert")
        return classifier, accuracies({"BERT": facts})["BERT"]
    classifier, held = load(), settings.reviews.training.held
    texts, labels = labelled(context.examples("yelp", "test", held))
    right = float((predict(texts, classifier).argmax(axis=1) == np.array(labels)).mean())
    return classifier, f"piste's embedded one, right on {right:.1%} of {len(texts)} Yelp reviews"


def views(samples: int) -> list[View]:
    """The columns, in their order; LRP is not among them."""
    slaloms = {
        "eff": replace(Slalom.paper("eff"), samples=samples),
        "fidel": replace(Slalom.paper("fidel"), deletions=samples),
    }
    scores = {"v": "value", "s": "importance", "lin": "lin"}
    both = [
        View(f"{kind} {short}", method, score)
        for kind, method in slaloms.items()
        for short, score in scores.items()
    ]
    return [
        *both,
        # Curves remove one occurrence at a time, so a repeated word ranks by its share of one.
        View("LIME", Lime(samples=samples), "removal"),
        View("SHAP", KernelShap(samples=samples), "removal"),
        View("slalom", Slalom()),
        View("context", METHODS["context"]),
    ]


def _table(metric: str, evaluation: Evaluation) -> Table:
    ours = [
        str(interval(evaluation.values(name, metric))) if name in evaluation.views else "not run"
        for name in COLUMNS
    ]
    rows = [("ours", *ours)]
    for source, figures in (("v1, BERT", V1), ("camera-ready, BERT", CAMERA_READY)):
        known = figures[metric]
        rows.append((source, *(f"{known[n]:g}" if n in known else "–" for n in COLUMNS)))
    return Table(TITLES[metric], ("", *COLUMNS), tuple(rows))


def _bars(evaluations: Evaluations) -> Figure:
    ours = {
        metric: {name: interval(evaluation.values(name, metric)) for name in evaluation.views}
        for metric, evaluation in evaluations.items()
    }
    return paired_bars(ours, CAMERA_READY)


def findings(evaluations: Evaluations) -> tuple[str, ...]:
    """Which of the two SLALOMs is better, and what piste's methods do."""
    said = []
    for metric, evaluation in evaluations.items():
        pairs = {
            frozenset((d.one, d.other)): d for d in differences(evaluation) if d.metric == metric
        }
        others = [name for name in ("fidel lin", *COLUMNS[6:]) if name in evaluation.views]
        apart = [pairs[frozenset(("eff lin", other))] for other in others]
        told = [verdict(pair) for pair in apart if pair.better is not None]
        level = [name for name, pair in zip(others, apart, strict=True) if pair.better is None]
        if level:
            told.append(f"no difference beyond chance between eff lin and {', '.join(level)}")
        said.append(f"{TITLES[metric]}: {'; '.join(told)}.")
    return (
        *said,
        "LRP is the camera-ready's AttnLRP, by the package lxt, whose licence grants no patent"
        " rights: it is no dependency here, and was not run. `benchmarks/peers.py --with attn-lrp`"
        " runs it.",
    )
