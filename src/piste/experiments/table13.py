"""Paper A, Table 13: human attention with BLOOM and Mamba.

The paper explains BLOOM-7B and Mamba-2.8B. Small models of both architectures, trained here from
nothing, show that the fit works on a decoder with ALiBi positions and on a state-space model,
which has no attention at all; how well people agree with billions of weights they cannot show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer, BloomConfig, BloomForSequenceClassification, MambaConfig

from piste.experiments.base import Context, Outcome
from piste.experiments.building import LABELS, Size
from piste.experiments.mamba import MambaForSequenceClassification
from piste.experiments.review_tables import SCORES, score_bars
from piste.experiments.reviews import (
    HELD,
    Judging,
    hat_reviews,
    labelled,
    minilm,
    settings_of,
)
from piste.experiments.training import Recipe, accuracy, cached, key_of, train
from piste.methods.slalom import Slalom
from piste.models.protocol import Classifier
from piste.runs.evaluate import Evaluation, evaluate
from piste.runs.judging import View
from piste.runs.summary import interval
from piste.theory.report import Table

PAPER = {"BLOOM": (0.69, 0.71, 0.70), "Mamba": (0.69, 0.32, 0.70)}
CLASSES: dict[str, tuple[Any, Any]] = {
    "BLOOM": (BloomConfig, BloomForSequenceClassification),
    "Mamba": (MambaConfig, MambaForSequenceClassification),
}
LEARNT = 0.65  # of the held reviews right, at least
LARGE = {"BLOOM": "BLOOM-7B", "Mamba": "Mamba-2.8B"}


@dataclass(frozen=True)
class Settings:
    """How large, how long trained, on how many texts judged."""

    size: Size
    recipe: Recipe
    reviews: int
    judging: Judging


SMALL = Settings(
    Size(layers=2, width=64, heads=4),
    Recipe(epochs=2, rate=2e-3, batch=16, longest=32),  # without its kernels Mamba trains slowly
    3000,
    Judging(texts=24, samples=1000),
)
FULL = Settings(
    Size(layers=30, width=4096, heads=32),
    Recipe(epochs=1, rate=2e-5, batch=4, longest=512),
    9000,
    Judging(texts=200, samples=5000, subset="100"),
)


def run(context: Context) -> Outcome:
    """AUROC of value, importance and lin against the words that people marked."""
    settings: Settings = context.pick(SMALL, FULL)
    examples = hat_reviews(context, settings.judging)
    found, facts = {}, {}
    for name in PAPER:
        classifier, facts[name] = classifier_of(name, context, settings)
        context.say(f"explaining with {name}")
        found[name] = evaluate(
            examples,
            classifier,
            [View(f"slalom:{score}", Slalom(), score) for score in SCORES],
            ["human-auroc"],
            seed=context.seed,
        )
    told = settings_of(facts, settings.judging) | {"layers": settings.size.layers}
    bars = score_bars(found, "human-auroc", PAPER, "AUROC")
    findings = (*_findings(found), *_unlearnt(facts))
    return Outcome((_table(found),), {"human-attention": bars}, told, findings)


def build(name: str, size: Size, vocabulary: int) -> Any:
    """A fresh two-class model."""
    config, model = CLASSES[name]
    heads = {"num_attention_heads": size.heads} if name == "BLOOM" else {}  # Mamba has none
    return model(
        config(
            vocab_size=vocabulary,
            hidden_size=size.width,
            num_hidden_layers=size.layers,
            pad_token_id=0,
            id2label=LABELS,
            **heads,
        )
    )


def classifier_of(
    name: str, context: Context, settings: Settings
) -> tuple[Classifier, dict[str, Any]]:
    """The trained model; from nothing, as there are no small checkpoints of either."""
    recipe = replace(settings.recipe, seed=context.seed)

    def make() -> tuple[Any, Any, dict[str, Any]]:
        torch.manual_seed(context.seed)
        tokenizer = _tokenizer(settings)
        model = build(name, settings.size, len(tokenizer)).to(context.device or "cpu")
        rows = labelled(context.examples("yelp", "train", settings.reviews))
        context.say(f"training {name}")
        train(model, tokenizer, *rows, recipe, context.say)
        held = labelled(context.examples("yelp", "test", HELD))
        right = accuracy(model, tokenizer, *held, recipe.longest)
        return model, tokenizer, {"accuracy": right, "held": HELD, "start": "random weights"}

    key = key_of(f"{name.lower()}-yelp", settings.size, recipe, reviews=settings.reviews)
    return cached(context.cache, key, make, CLASSES[name][1].from_pretrained)


def _tokenizer(settings: Settings) -> Any:
    """Word pieces without special tokens: decoders read from left to right."""
    folder = minilm()
    source: Path | str = folder if folder is not None else "bert-base-uncased"
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A", special_tokens=[])
    tokenizer.model_max_length = settings.size.longest
    return tokenizer


def _table(found: dict[str, Evaluation]) -> Table:
    rows = []
    for name, evaluation in found.items():
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


def _findings(found: dict[str, Evaluation]) -> tuple[str, ...]:
    sentences = []
    for name, evaluation in found.items():
        spans = [interval(evaluation.values(view, "human-auroc")) for view in evaluation.views]
        scores = dict(zip(("v", "s", "lin"), spans, strict=True))
        means = ", ".join(f"{score} {span.mean:.2f}" for score, span in scores.items())
        chance = [score for score, span in scores.items() if span.low <= 0.5 <= span.high]
        told = ", ".join(chance) or "none"
        sentences.append(f"{name}: {means}; not told from chance (0.5): {told}.")
    return tuple(sentences)
