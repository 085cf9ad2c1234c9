"""Paper A, Table 13: human attention with BLOOM and Mamba.

The paper explains BLOOM-7B and Mamba-2.8B. Small models of both architectures, trained here from
nothing, show that the fit works on a decoder with ALiBi positions and on a state-space model,
which has no attention at all; how well people agree with billions of weights they cannot show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer

from papers.experiments.architectures import CLASSES, Size, build, wordpieces
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import SCORES, score_bars
from papers.experiments.reviews import (
    REVIEW_SETTINGS,
    VOCABULARY,
    ReviewSettings,
    hat_reviews,
    labelled,
    minilm,
    reported,
)
from papers.experiments.training import Made, Recipe, accuracy, cached, key_of, train
from papers.tables import Table
from piste import Slalom, evaluate, load
from piste.models import Classifier
from piste.runs import Evaluation, View, interval

PAPER = {"BLOOM": (0.69, 0.71, 0.70), "Mamba": (0.69, 0.32, 0.70)}
LEARNT = 0.65  # of the held reviews right, at least
LARGE = {"BLOOM": "BLOOM-7B", "Mamba": "Mamba-2.8B"}


@dataclass(frozen=True)
class Table13Settings:
    """How large, how long trained, on how many texts judged."""

    size: Size
    recipe: Recipe
    trained_on: int  # reviews
    reviews: ReviewSettings

    @property
    def held(self) -> int:
        """Reviews that the accuracy is measured on."""
        return self.reviews.training.held


SETTINGS = {
    "tiny": Table13Settings(
        Size(layers=1, width=16, heads=2),
        Recipe(epochs=1, rate=2e-3, batch=16, longest=32),
        48,
        REVIEW_SETTINGS["tiny"],
    ),
    "small": Table13Settings(
        Size(layers=2, width=64, heads=4),
        # without its kernels Mamba trains slowly
        Recipe(epochs=2, rate=2e-3, batch=16, longest=32),
        3000,
        replace(REVIEW_SETTINGS["small"], texts=24, samples=1000),
    ),
    "paper": Table13Settings(
        Size(layers=30, width=4096, heads=32),
        Recipe(epochs=1, rate=2e-5, batch=4, longest=512),
        9000,
        REVIEW_SETTINGS["paper"],
    ),
}


def run(context: Context, settings: Table13Settings) -> Outcome:
    """AUROC of value, importance and lin against the words that people marked."""
    examples = hat_reviews(context, settings.reviews)
    evaluations, facts = {}, {}
    for name in PAPER:
        classifier, facts[name] = trained_model(name, context, settings)
        context.say(f"explaining with {name}")
        evaluations[name] = evaluate(
            examples,
            classifier,
            [View(f"slalom:{score}", Slalom(), score) for score in SCORES],
            ["human-auroc"],
            seed=context.seed,
        )
    shown = reported(facts, settings.reviews) | {"layers": settings.size.layers}
    bars = score_bars(evaluations, "human-auroc", PAPER, "AUROC")
    findings = (*_findings(evaluations), *_unlearnt(facts))
    return Outcome((_table(evaluations),), {"human-attention": bars}, shown, findings)


def trained_model(
    name: str, context: Context, settings: Table13Settings
) -> tuple[Classifier, dict[str, Any]]:
    """The trained model; from nothing, as there are no small checkpoints of either."""
    recipe = replace(settings.recipe, seed=context.seed)

    def make() -> Made:
        rows = labelled(context.examples("yelp", "train", settings.trained_on))
        torch.manual_seed(context.seed)
        tokenizer = _tokenizer(settings, rows[0])
        model = build(name.lower(), settings.size, len(tokenizer)).to(context.device or "cpu")
        context.say(f"training {name}")
        train(model, tokenizer, *rows, recipe, context.say)
        held = labelled(context.examples("yelp", "test", settings.held))
        right = accuracy(model, tokenizer, *held, recipe.longest)
        facts = {"accuracy": right, "held": settings.held, "start": "random weights"}
        return model, tokenizer, facts

    key = key_of(f"{name.lower()}-yelp", settings.size, recipe, reviews=settings.trained_on)
    read = CLASSES[name.lower()][1].from_pretrained
    model, tokenizer, facts = cached(context.cache, key, make, read)
    return load(model, tokenizer, backend="torch"), facts


def _tokenizer(settings: Table13Settings, texts: list[str]) -> Any:
    """Word pieces without special tokens: decoders read from left to right."""
    if settings.reviews.training.start == "random":
        tokenizer: Any = wordpieces(texts, VOCABULARY)
    else:
        tokenizer = AutoTokenizer.from_pretrained(minilm() or "bert-base-uncased")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A", special_tokens=[])
    tokenizer.model_max_length = settings.size.longest
    return tokenizer


def _table(evaluations: dict[str, Evaluation]) -> Table:
    rows = []
    for name, evaluation in evaluations.items():
        ours = [str(interval(evaluation.values(view, "human-auroc"))) for view in evaluation.views]
        rows += [(name, *ours), (f"{LARGE[name]}, paper", *(f"{value:g}" for value in PAPER[name]))]
    return Table("Human-attention AUROC, Yelp-HAT", ("model", "v", "s", "lin"), tuple(rows))


def _unlearnt(facts: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """A model that does not know the task cannot be asked why."""
    return tuple(
        f"{name} has not learnt the task at this size ({fact['accuracy']:.0%} of {fact['held']}"
        " held reviews right): its row shows that the fit runs on it, no more."
        for name, fact in facts.items()
        if fact["accuracy"] < LEARNT
    )


def _findings(evaluations: dict[str, Evaluation]) -> tuple[str, ...]:
    sentences = []
    for name, evaluation in evaluations.items():
        spans = [interval(evaluation.values(view, "human-auroc")) for view in evaluation.views]
        scores = dict(zip(("v", "s", "lin"), spans, strict=True))
        means = ", ".join(f"{score} {span.mean:.2f}" for score, span in scores.items())
        chance = [score for score, span in scores.items() if span.low <= 0.5 <= span.high]
        unclear = ", ".join(chance) or "none"
        sentences.append(f"{name}: {means}; not different from chance (0.5): {unclear}.")
    return tuple(sentences)
