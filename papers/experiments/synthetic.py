"""Classifiers trained on the made-up languages: real transformers, and the net on word counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from papers.arrays import FloatArray
from papers.experiments.architectures import (
    ARCHITECTURES,
    LABELS,
    NAMES,
    Size,
    build,
    word_tokenizer,
)
from papers.experiments.base import Context
from papers.experiments.languages import LONGEST, Language
from papers.experiments.training import Made, Recipe, cached, key_of, quiet, train
from papers.theory.single_layer import seeded
from piste import from_function, load
from piste.arrays import Ragged
from piste.decision import Decision
from piste.models import Classifier
from piste.options import Options

POSITIVE = 1  # the class whose log-odds are meant throughout
FRESH = 2000  # texts that an accuracy is measured on
COLOURS = {"bert": "#0072B2", "distilbert": "#D55E00", "gpt2": "#009E73"}  # told apart by all


@dataclass(frozen=True)
class SyntheticTraining:
    """What every transformer of an experiment is made with."""

    texts: int
    width: int = 64
    heads: int = 4
    epochs: int = 1
    rate: float = 1e-3
    batch: int = 64
    dropout: float = 0.0  # no text comes twice: there is nothing to memorise

    def size(self, layers: int) -> Size:
        return Size(layers, self.width, self.heads, 2 * LONGEST)

    def recipe(self, seed: int) -> Recipe:
        return Recipe(self.epochs, self.rate, self.batch, LONGEST + 2, seed)


TINY = SyntheticTraining(texts=300, width=16, heads=2)
SMALL_LINEAR = SyntheticTraining(texts=20_000)
SMALL_SLALOM = SyntheticTraining(texts=40_000)
# The architectures' usual width, the paper's rate and batch; the number of made-up texts is ours.
PAPER = SyntheticTraining(100_000, width=768, heads=12, rate=5e-5, batch=5, dropout=0.1)


@dataclass(frozen=True)
class TrainedTransformer:
    """A transformer that has learnt a language."""

    architecture: str
    layers: int
    classifier: Classifier
    accuracy: float  # on fresh texts
    reachable: float  # the accuracy of the true log-odds on the same texts

    @property
    def name(self) -> str:
        """As tables call it."""
        return f"{NAMES[self.architecture]}, {self.layers} layer{'s' * (self.layers > 1)}"


def transformers_of(
    context: Context, language: Language, training: SyntheticTraining, layers: Sequence[int]
) -> list[TrainedTransformer]:
    """Every architecture with each number of layers."""
    return [
        trained(context, language, training, architecture, depth)
        for architecture in ARCHITECTURES
        for depth in layers
    ]


def trained(
    context: Context,
    language: Language,
    training: SyntheticTraining,
    architecture: str,
    layers: int,
) -> TrainedTransformer:
    """One transformer that has learnt the language from labels; made once for each setting."""
    name = f"{language.name}-{architecture}-{layers}"
    size, recipe = training.size(layers), training.recipe(context.seed)
    key = key_of(
        name, size, recipe, texts=training.texts, dropout=training.dropout, law=language.law
    )

    def make() -> Made:
        context.say(f"training {name}")
        return _learn(context, language, training, architecture, layers)

    with quiet():
        model, tokenizer, facts = cached(context.cache, key, make)
    classifier = load(model, tokenizer, device=context.device, backend="torch")
    return TrainedTransformer(
        architecture, layers, classifier, facts["accuracy"], facts["reachable"]
    )


def _learn(
    context: Context,
    language: Language,
    training: SyntheticTraining,
    architecture: str,
    layers: int,
) -> Made:
    rng = np.random.default_rng(context.seed)
    rows = language.rows(rng, training.texts)
    labels = language.labels(rng, rows)
    tokenizer = word_tokenizer(language.words, frame=architecture != "gpt2")
    with seeded(context.seed):
        model = build(architecture, training.size(layers), len(tokenizer))
        model.to(context.device or "cpu")
        _set_dropout(model, training.dropout)
        recipe = training.recipe(context.seed)
        train(model, tokenizer, language.texts(rows), labels, recipe, context.say)
    classifier = load(model, tokenizer, backend="torch")
    return model, tokenizer, _accuracies(classifier, language, rng)


def _set_dropout(model: nn.Module, share: float) -> None:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share


def _accuracies(
    classifier: Classifier, language: Language, rng: np.random.Generator
) -> dict[str, float]:
    """How often the classifier, and how often the truth, is right on fresh texts."""
    rows = language.rows(rng, FRESH)
    labels = np.array(language.labels(rng, rows)) == POSITIVE
    return {
        "accuracy": float(np.mean((log_odds(classifier, language, rows) > 0) == labels)),
        "reachable": float(np.mean((language.truth(rows) > 0) == labels)),
    }


def log_odds(classifier: Classifier, language: Language, rows: Ragged) -> FloatArray:
    """The classifier's log-odds of "positive" for rows of word numbers, in its frame [rows]."""
    vocabulary = " ".join(language.words)
    options = Options(target=POSITIVE, unit="token", repeats="separate")
    return Decision.on(vocabulary, classifier, options).margins(rows)


def framed(classifier: Classifier) -> bool:
    """Whether it reads special tokens around every text."""
    return classifier.encode("a").frame.size > 0


@dataclass(frozen=True)
class NetTraining:
    """The net on word counts of Appendix A.

    Trained for the smallest error on texts like those it learnt from. Runs of one word are far
    from these, and what it says there differs from seed to seed: measure several.
    """

    units: int = 400
    texts: int = 50_000
    epochs: int = 10
    rate: float = 1e-3  # at the start; it falls to nothing
    batch: int = 128


def counts_net(language: Language, settings: NetTraining, seed: int) -> Classifier:
    """Two layers with a ReLU on word counts, trained on labels as the transformers are."""
    rng = np.random.default_rng(seed)
    rows = language.rows(rng, settings.texts)
    given = torch.from_numpy(language.counts(rows).toarray()).float()
    wanted = torch.tensor(language.labels(rng, rows)).float()
    with seeded(seed):
        net = nn.Sequential(nn.Linear(len(language.words), settings.units), nn.ReLU())
        net.append(nn.Linear(settings.units, 1))
        _train_net(net, given, wanted, settings)
    return of_counts(language, lambda counts: _answers(net, counts), "ReLU net on counts")


def _train_net(net: nn.Module, given: Tensor, wanted: Tensor, settings: NetTraining) -> None:
    adam = torch.optim.Adam(net.parameters(), lr=settings.rate)
    steps = settings.epochs * -(-len(given) // settings.batch)
    schedule = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, steps)
    for _ in range(settings.epochs):
        for some in torch.split(torch.randperm(len(given)), settings.batch):
            adam.zero_grad()
            answers = net(given[some])[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(answers, wanted[some])
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            schedule.step()


@torch.no_grad()
def _answers(net: nn.Module, counts: FloatArray) -> FloatArray:
    return np.asarray(net(torch.from_numpy(counts).float())[:, 0].numpy(), dtype=np.float64)


def of_counts(
    language: Language, answer: Callable[[FloatArray], FloatArray], name: str
) -> Classifier:
    """A function of word counts [texts, words] as a classifier of texts."""
    numbers = {word: number for number, word in enumerate(language.words)}

    def function(texts: list[str]) -> FloatArray:
        rows = Ragged.of([[numbers[word] for word in text.split()] for text in texts])
        return answer(language.counts(rows).toarray())

    return from_function(function, tuple(LABELS.values()), name=name)


def flat(settings: Any) -> dict[str, Any]:
    """A dataclass of settings as one flat list; settings within it are spelt out."""
    merged: dict[str, Any] = {}
    for name, value in asdict(settings).items():
        parts = value if isinstance(value, dict) else {"": value}
        merged |= {f"{name} {part}".strip(): held for part, held in parts.items()}
    return merged


def not_used(context: Context) -> tuple[str, ...]:
    """What to say to somebody who gave pretrained weights."""
    if context.pretrained is None:
        return ()
    return (
        f"The weights of {context.pretrained} were not used: these models know made-up words only"
        " and start from random weights.",
    )
