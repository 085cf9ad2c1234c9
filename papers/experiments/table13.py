"""Paper A, Table 13: human attention with BLOOM and Mamba.

The paper explains BLOOM-7B and Mamba-2.8B. Small models of both architectures, trained here, show
that the fit works on a decoder with ALiBi positions and on a state-space model, which has no
attention at all; how well people agree with billions of weights they cannot show. Their word
vectors start as the principal components of MiniLM's, where that package is installed, the rest
from nothing: of some thousand reviews alone a Mamba learns no words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from papers.experiments.architectures import CLASSES, Size, build, wordpieces
from papers.experiments.base import Context, Outcome
from papers.experiments.charts import SCORES, score_bars
from papers.experiments.course import Point, draw_curves
from papers.experiments.reviews import (
    REVIEW_SETTINGS,
    VOCABULARY,
    ReviewSettings,
    hat_reviews,
    labelled,
    minilm,
    reported,
)
from papers.experiments.training import Made, Recipe, accuracy, cached, key_of, quiet, train
from papers.tables import Table
from piste import Slalom, evaluate, load
from piste.models import Classifier
from piste.runs import Evaluation, View, interval

PAPER = {"BLOOM": (0.69, 0.71, 0.70), "Mamba": (0.69, 0.32, 0.70)}
CAMERA_READY = {"BLOOM": (0.739, 0.712, 0.740), "Mamba": (0.615, 0.437, 0.535)}
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
        # Without its kernels Mamba's time grows with its state and the square of the length.
        Size(layers=2, width=128, heads=4, state=4),
        Recipe(epochs=2, rate=1e-3, batch=16, longest=40),
        9600,
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
    shown = reported(facts, settings.reviews) | {
        "samples": "piste's own",
        "layers": settings.size.layers,
        "training": asdict(settings.recipe) | {"reviews": settings.trained_on},
    }
    bars = score_bars(evaluations, "human-auroc", PAPER, "AUROC")
    findings = (*_findings(evaluations), *_unlearnt(facts))
    curves = {name: fact["curve"] for name, fact in facts.items()}
    figures = {"human-attention": bars, "learning": draw_curves(curves)}
    return Outcome((_table(evaluations), _learning(curves)), figures, shown, findings)


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
        start = _word_vectors(model) if starts_from_minilm(settings) else "random weights"
        held = labelled(context.examples("yelp", "test", settings.held))
        curve: list[Point] = []

        def after(epoch: int, loss: float) -> None:
            right = accuracy(model, tokenizer, *held, recipe.longest)
            curve.append({"epoch": epoch, "loss": loss, "held": right})

        train(model, tokenizer, *rows, recipe, context.say, after)
        facts = {"accuracy": curve[-1]["held"], "held": settings.held, "start": start}
        return model, tokenizer, facts | {"curve": curve}

    key = key_of(
        f"{name.lower()}-yelp",
        settings.size,
        recipe,
        reviews=settings.trained_on,
        words="MiniLM" if starts_from_minilm(settings) else "random",
    )
    read = CLASSES[name.lower()][1].from_pretrained
    model, tokenizer, facts = cached(context.cache, key, make, read)
    return load(model, tokenizer, backend="torch"), facts


def starts_from_minilm(settings: Table13Settings) -> bool:
    """Whether the word vectors do."""
    return settings.reviews.training.start == "minilm" and minilm() is not None


def _word_vectors(model: Any) -> str:
    """MiniLM's word vectors, their principal components, at the size that the model starts with."""
    with quiet():
        known = AutoModel.from_pretrained(minilm()).get_input_embeddings().weight.data
    own = model.get_input_embeddings().weight.data
    parts = principal(known, own.shape[1])
    own.copy_(parts * (own.std() / parts.std()))
    return f"{own.shape[1]} principal components of MiniLM's word vectors, else random"


def principal(rows: Tensor, width: int) -> Tensor:
    """The rows on their `width` directions of largest variance [rows, width]."""
    centred = rows - rows.mean(dim=0)
    _, axes = torch.linalg.eigh(centred.T @ centred)  # the last have the largest variance
    return torch.as_tensor(centred @ axes[:, -width:])


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
        rows.append((name, *ours))
        for kind, figures in (("paper", PAPER), ("camera-ready", CAMERA_READY)):
            rows.append((f"{LARGE[name]}, {kind}", *(f"{value:g}" for value in figures[name])))
    return Table("Human-attention AUROC, Yelp-HAT", ("model", "v", "s", "lin"), tuple(rows))


def _learning(curves: Mapping[str, Sequence[Point]]) -> Table:
    rows = [
        (name, f"{point['epoch']:g}", f"{point['loss']:.3f}", f"{point['held']:.1%}")
        for name, curve in curves.items()
        for point in curve
    ]
    columns = ("model", "epoch", "training loss, mean", "held reviews right")
    return Table("Learning curves", columns, tuple(rows))


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
