"""The single-layer model of arXiv 2402.03485 on IMDB: trained once, kept, shared by its figures."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from papers.arrays import IntArray
from papers.experiments.base import Context, Outcome
from papers.experiments.course import Course
from papers.tables import Table
from papers.theory.single_layer import CLS, UNK, Shape, SingleLayer, Training
from papers.theory.single_layer import PAPER as PAPER_SHAPE
from papers.theory.single_layer_classifier import (
    ROWS,
    SingleLayerClassifier,
    load_single_layer,
    padded,
    train,
)
from piste import Example
from piste.errors import FileError, SettingError
from piste.files import write_atomic
from piste.text import word_spans

PAPER_ACCURACY = 0.8019  # of the authors' stored model
LEAST_WORDS, MOST_WORDS = 12, 25  # of the sentence that is shown


@dataclass(frozen=True)
class SingleLayerSettings:
    """The model's sizes and its training."""

    train: int  # reviews
    validation: int  # the reviews of the training file behind those; only reported, never chosen by
    test: int
    epochs: int
    rate: float
    batch: int = 16
    words: int = 20_000  # of the vocabulary, by frequency
    shape: Shape = PAPER_SHAPE


PAPER = SingleLayerSettings(train=20_000, validation=5_000, test=25_000, epochs=10, rate=1e-4)
SETTINGS = {
    "tiny": SingleLayerSettings(
        train=300, validation=50, test=60, epochs=2, rate=1e-2, words=30,
        shape=Shape(width=16, key_width=8, value_width=8, heads=3, window=32),
    ),
    "small": PAPER,  # some minutes on one core
    "paper": PAPER,
}  # fmt: skip


@dataclass(frozen=True)
class TrainedSingleLayer:
    """The trained model, and how good it is."""

    classifier: SingleLayerClassifier
    settings: SingleLayerSettings
    facts: Mapping[str, Any]  # of `fit`

    @cached_property
    def exact(self) -> SingleLayer:
        """The same weights in double precision, for the closed forms."""
        return copy.deepcopy(self.classifier.module).double().eval()

    def ids(self, text: str) -> IntArray:
        """[CLS] and the words [length], cut where the window ends."""
        return np.array([CLS, *self.classifier.encode(text).ids], dtype=np.int64)

    def reported(self) -> dict[str, Any]:
        """What shaped the model, for `Outcome.settings`."""
        used = self.settings
        return {
            "heads, d_e, d_att, d_out, T_max": f"({_sizes(used.shape)})",
            "training reviews": used.train,
            "validation reviews": self.facts["validated"],
            "test reviews": self.facts["tested"],
            "epochs": used.epochs,
            "AdamW learning rate": used.rate,
            "batch": used.batch,
            "words of the vocabulary": used.words,
            "padding": "[UNK] (not masked)",
            "line-break tags": "taken out",
        }


@dataclass(frozen=True)
class Sentence:
    """The review that a figure shows."""

    id: str
    text: str
    tokens: tuple[str, ...]  # as they stand in the text
    ids: IntArray  # [1 + tokens], [CLS] first

    @property
    def reported(self) -> dict[str, str]:
        """Which review it is, for `Outcome.settings`."""
        return {
            "sentence": f"the first test review with {LEAST_WORDS} to {MOST_WORDS} words and"
            f' marks, {self.id}: "{self.text}"'
        }


@dataclass(frozen=True)
class Stage:
    """What the four figures share: the model, the test reviews, and the sentence shown."""

    model: TrainedSingleLayer
    tested: Sequence[Example]
    sentence: Sentence

    def texts(self, count: int) -> list[IntArray]:
        """The first test reviews as the model reads them; those without a word are left out."""
        texts = (self.model.ids(example.text) for example in self.tested[:count])
        return [ids for ids in texts if len(ids) > 1]

    def outcome(
        self,
        tables: Sequence[Table],
        figures: Mapping[str, Figure],
        settings: Mapping[str, Any],
        findings: Sequence[str],
        shows_sentence: bool = True,
    ) -> Outcome:
        """The outcome, with what there is to say of the model, and of the sentence if shown."""
        sentence = self.sentence if shows_sentence else None
        shown = {} if sentence is None else sentence.reported
        unknown = () if sentence is None else unknown_words(sentence)
        return Outcome(
            (*tables, model_table(self.model)),
            figures,
            {**shown, **settings, **self.model.reported()},
            (*findings, *unknown, model_finding(self.model)),
        )


def stage(context: Context, settings: SingleLayerSettings) -> Stage:
    """Train or load the model, and choose the sentence."""
    model, tested = trained(context, settings), reviews(context, "test")
    return Stage(model, tested, pick_sentence(model, tested))


def trained(context: Context, settings: SingleLayerSettings) -> TrainedSingleLayer:
    """The model of these settings: from the cache, or trained now."""
    if context.pretrained is not None:
        raise SettingError(
            "This experiment trains the paper's single-layer model from nothing.",
            "Leave out --pretrained.",
        )
    examples = reviews(context, "train", settings.train + settings.validation)
    if len(examples) < settings.train + settings.validation:
        raise FileError(
            f"There are {len(examples):,} training reviews, and this scale takes"
            f" {settings.train + settings.validation:,}.",
            "Give the whole of IMDB, or the small scale.",
        )
    path = context.cache / f"single-layer-{digest(examples, settings, context.seed)}.safetensors"
    if not path.exists():
        _make(context, examples, settings, path)
    facts = json.loads(_facts_file(path).read_text(encoding="utf-8"))
    return TrainedSingleLayer(load_single_layer(path), settings, facts)


def reviews(context: Context, part: str, limit: int | None = None) -> list[Example]:
    """Reviews in the order of the file, without their line-break tags."""
    examples = context.examples("imdb", part, limit)
    for example in examples:
        if example.problem is not None or example.label not in (0, 1):
            raise FileError(
                f"The review {example.id} of imdb/{part} has no text or no label 0 or 1.",
                "Check the file.",
            )
    return [replace(example, text=example.text.replace("<br />", " ")) for example in examples]


def pick_sentence(model: TrainedSingleLayer, examples: Iterable[Example]) -> Sentence:
    """The first review of `LEAST_WORDS` to `MOST_WORDS` words."""
    for example in examples:
        if len(example.text.split()) > MOST_WORDS:
            continue  # it has at least as many words, and counting them takes longer
        if LEAST_WORDS <= len(word_spans(example.text)) <= MOST_WORDS:
            spans = model.classifier.encode(example.text).spans
            tokens = tuple(example.text[start:end] for start, end in spans)
            return Sentence(example.id, example.text, tokens, model.ids(example.text))
    raise FileError(
        f"No test review has {LEAST_WORDS} to {MOST_WORDS} words.", "Give the whole of IMDB."
    )


def unknown_words(sentence: Sentence) -> tuple[str, ...]:
    """What words of the sentence the model does not know, as a finding."""
    unknown = [t for t, n in zip(sentence.tokens, sentence.ids[1:], strict=True) if n == UNK]
    if not unknown:
        return ()
    verb = "is" if len(unknown) == 1 else "are"
    return (
        f"{len(unknown)} of {len(sentence.tokens)} words and marks of the sentence {verb} not in"
        f" the vocabulary ({', '.join(unknown)}): the model reads [UNK] there, also when nothing is"
        " removed.",
    )


def fit(
    examples: Sequence[Example],
    tested: Sequence[Example],
    settings: SingleLayerSettings,
    seed: int,
    course: Course,
) -> tuple[SingleLayerClassifier, dict[str, Any]]:
    """Train on the first of the reviews; the classifier and what is known of it."""
    taught, held = examples[: settings.train], examples[settings.train :]

    def through(
        classifier: SingleLayerClassifier, training: Training, rows: Tensor, truth: Tensor
    ) -> None:
        course.run(training, rows, truth, lambda: accuracy(classifier, held))

    classifier = train(
        [example.text for example in taught],
        [int(example.label or 0) for example in taught],
        shape=settings.shape,
        rate=settings.rate,
        batch=settings.batch,
        most_words=settings.words,
        seed=seed,
        course=through,
    )
    return classifier, {
        "curve": course.curve,
        "test accuracy": accuracy(classifier, tested),
        "tested": len(tested),
        "validation accuracy": accuracy(classifier, held),
        "validated": len(held),
    }


def accuracy(classifier: SingleLayerClassifier, examples: Sequence[Example]) -> float:
    """The share of reviews classified as labelled; NaN of none."""
    if not examples:
        return math.nan
    rows = padded(classifier, [example.text for example in examples])
    with torch.inference_mode():
        margins = torch.cat([classifier.module(part) for part in torch.split(rows, ROWS)])
    truth = torch.tensor([example.label == 1 for example in examples])
    return float(((margins > 0) == truth).double().mean())


def model_table(model: TrainedSingleLayer) -> Table:
    """Our model beside the authors'."""
    ours, facts = model.settings, model.facts
    rows = (
        ("test accuracy", f"{facts['test accuracy']:.2%}", f"{PAPER_ACCURACY:.2%}"),
        ("test reviews", f"{facts['tested']:,}", f"{PAPER.test:,}"),
        ("validation accuracy", f"{facts['validation accuracy']:.2%}", "not given"),
        ("training reviews", f"{ours.train:,}", f"{PAPER.train:,}"),
        ("epochs", str(ours.epochs), str(PAPER.epochs)),
        ("AdamW learning rate", f"{ours.rate:g}", f"{PAPER.rate:g}"),
        ("batch", str(ours.batch), str(PAPER.batch)),
        ("words of the vocabulary", f"{ours.words:,}", "not given"),
        ("heads, d_e, d_att, d_out, T_max", _sizes(ours.shape), _sizes(PAPER.shape)),
    )
    return Table("The model", ("", "ours", "paper"), rows)


def model_finding(model: TrainedSingleLayer) -> str:
    """How near ours comes to the authors' model."""
    right, count = model.facts["test accuracy"], model.facts["tested"]
    error = math.sqrt(right * (1 - right) / count)
    apart = 100 * (right - PAPER_ACCURACY)
    same = abs(apart) <= 200 * error
    verdict = "as many as" if same else f"{abs(apart):.1f} points {'more' if apart > 0 else 'less'}"
    than = "" if same else " than"
    return (
        f"The model is right on {right:.1%} of {count:,} test reviews (standard error {error:.1%}):"
        f" {verdict}{than} the authors' stored model ({PAPER_ACCURACY:.2%})."
    )


def _make(
    context: Context, examples: Sequence[Example], settings: SingleLayerSettings, path: Path
) -> None:
    """Train and keep. The model is written last: where it is, its facts are too."""
    context.say(f"training on {settings.train:,} IMDB reviews, {settings.epochs} epochs")
    tested = reviews(context, "test", settings.test)
    course = Course(path.with_suffix(".unfinished"), settings.epochs, context.say)
    classifier, facts = fit(examples, tested, settings, context.seed, course)
    write_atomic(_facts_file(path), json.dumps(facts))
    classifier.save(path)
    course.file.unlink()


def _facts_file(path: Path) -> Path:
    return path.with_suffix(".json")


def digest(examples: Sequence[Example], settings: Any, seed: int) -> str:
    """Of all that the model comes from: settings, seed and reviews."""
    found = hashlib.sha256(json.dumps([asdict(settings), seed], sort_keys=True).encode())
    for example in examples:
        found.update(f"{example.label} {example.text}\n".encode())
    return found.hexdigest()[:12]


def _sizes(shape: Shape) -> str:
    sizes = (shape.heads, shape.width, shape.key_width, shape.value_width, shape.window)
    return ", ".join(map(str, sizes))
