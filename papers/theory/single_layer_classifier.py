"""The single-layer model as a classifier that piste can ask: trained, saved, loaded."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import safetensors
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from papers.arrays import FloatArray, IntArray
from papers.theory.single_layer import (
    CLS,
    PAPER,
    UNK,
    Shape,
    SingleLayer,
    Training,
    seeded,
)
from piste.errors import FileError, OutputError, SettingError
from piste.files import write_atomic
from piste.text import Encoding, Frame, word_spans

SPECIAL = ("[UNK]", "[CLS]")  # the ids `UNK` and `CLS`
FRAME = Frame(prefix=(CLS,))
ROWS = 256  # sequences at once: each is as long as the window


@dataclass(frozen=True)
class WordTokenizer:
    """A tokenizer of lower-cased words: two special tokens, then words by falling frequency."""

    known: tuple[str, ...]

    @classmethod
    def learn(cls, texts: Iterable[str], most: int = 20_000) -> WordTokenizer:
        """The `most` frequent words of the texts; equally frequent ones in alphabetical order."""
        counts = Counter(word for text in texts for word, _ in _split(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((*SPECIAL, *ranked[:most]))

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.known)}

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The number of each word, 0 for an unknown one, and where it stands."""
        pairs = _split(text)
        return [self.numbers.get(word, 0) for word, _ in pairs], [span for _, span in pairs]


def _split(text: str) -> list[tuple[str, tuple[int, int]]]:
    return [(text[start:end].lower(), (start, end)) for start, end in word_spans(text)]


@dataclass(frozen=True, repr=False)
class SingleLayerClassifier:
    """`SingleLayer` behind piste's door. Padding to the window happens inside `logits`."""

    module: SingleLayer
    words: WordTokenizer
    name: str = "single-layer attention"
    labels: tuple[str, str] = ("negative", "positive")
    outputs: Literal["classes"] = "classes"

    def __repr__(self) -> str:
        return f"<{self.name}: {', '.join(self.labels)}; {self.backend}>"

    @property
    def backend(self) -> str:
        return f"torch {torch.__version__} on {self.module.positions.device}"

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        if pair is not None:
            raise SettingError("This model reads one text, not two.", "Leave the pair out.")
        ids, spans = self.words.encode(text)
        used = self.module.shape.window - FRAME.size
        kept = tuple(ids[:used])
        return Encoding(text, kept, tuple(spans[:used]), kept, FRAME, _notes(ids, used))

    def logits(self, ids: IntArray) -> FloatArray:
        """Two columns, 0 and f: their difference is the log-odds f."""
        with torch.inference_mode():
            parts = [self.module(part) for part in torch.split(self._tensor(ids), ROWS)]
        margins = _numpy(torch.cat(parts))
        return np.stack([np.zeros_like(margins), margins], axis=1)

    def show(self, ids: IntArray) -> str:
        return " ".join(self.words.known[number] for number in ids.tolist())

    def token_id(self, name: str) -> int | None:
        return UNK if name == "unk" else None

    def embed(self, ids: IntArray) -> FloatArray:
        """e_t, position included: [rows, tokens] -> [rows, tokens, width]."""
        with torch.inference_mode():
            return _numpy(self.module.embed(self._tensor(ids)))

    def gradients(
        self,
        embeddings: FloatArray,
        index: int,
        types: IntArray | None = None,
        against: int | None = None,  # with two labels, always the other one
    ) -> tuple[FloatArray, FloatArray]:
        """Log-odds of label `index` [rows] and their gradients [rows, tokens, width].

        The padding behind the text is part of the model, not of the embeddings.
        """
        entered = torch.tensor(embeddings, dtype=self.module.last.dtype).requires_grad_()
        margins = self.module.read(self.module.extend(entered)) * (1 if index == 1 else -1)
        (slopes,) = torch.autograd.grad(margins.sum(), entered)
        return _numpy(margins), _numpy(slopes)

    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        """Weights [1, rows, heads, tokens, tokens], read at [CLS].

        [CLS] asks the only query, so every other row is 0; and what the unmasked padding draws is
        missing from its row, which sums to less than 1.
        """
        rows, length = ids.shape
        with torch.inference_mode():
            embedded = self.module.embed(self.module.pad(self._tensor(ids)))
            alpha = _numpy(self.module.attention(embedded))[..., :length]  # [rows, heads, tokens]
        weights = np.zeros((1, rows, self.module.shape.heads, length, length))
        weights[0, :, :, 0] = alpha
        return weights, 0

    def _tensor(self, ids: IntArray) -> Tensor:
        if ids.shape[1] > self.module.shape.window:
            raise OutputError(
                f"{ids.shape[1]} tokens are more than the model's window of"
                f" {self.module.shape.window}.",
                "Ask for shorter sequences, or train with a larger Shape(window=...).",
            )
        return torch.from_numpy(np.ascontiguousarray(ids)).to(self.module.positions.device)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """One safetensors file that holds weights, sizes and words."""
        facts = {
            "shape": json.dumps(dataclasses.asdict(self.module.shape)),
            "words": json.dumps(self.words.known),
            "about": json.dumps([self.name, *self.labels]),
        }
        tensors = {name: value.contiguous() for name, value in self.module.state_dict().items()}
        return write_atomic(path, save(tensors, metadata=facts))


def load_single_layer(path: str | os.PathLike[str]) -> SingleLayerClassifier:
    """What `SingleLayerClassifier.save` wrote."""
    try:
        with safetensors.safe_open(path, framework="pt") as stream:
            facts = {key: json.loads(value) for key, value in stream.metadata().items()}
        words, (name, *labels) = WordTokenizer(tuple(facts["words"])), facts["about"]
        state = load_file(path)
        module = SingleLayer(len(words), Shape(**facts["shape"])).to(state["last"].dtype)
        module.load_state_dict(state)
    except Exception as error:  # a damaged file fails in a way of its own in every reader
        raise FileError(
            f"Cannot read {os.fspath(path)!r} as a single-layer classifier: {error}.",
            "Give a file that SingleLayerClassifier.save wrote.",
        ) from error
    return SingleLayerClassifier(module.eval(), words, name, (labels[0], labels[1]))


Course = Callable[[SingleLayerClassifier, Training, Tensor, Tensor], None]


def train(
    texts: Sequence[str],
    labels: Sequence[int],
    *,
    shape: Shape = PAPER,
    epochs: int = 10,
    rate: float = 1e-4,
    batch: int = 16,
    most_words: int = 20_000,
    seed: int = 0,
    course: Course | None = None,
) -> SingleLayerClassifier:
    """A classifier trained on texts and their labels (0 or 1), with AdamW; the paper's defaults.

    A `course` runs the training in place of `epochs`: it may stop, look, and resume.
    """
    _check_training(texts, labels)
    words = WordTokenizer.learn(texts, most_words)
    with seeded(seed):
        classifier = SingleLayerClassifier(SingleLayer(len(words), shape), words)
        truth = torch.tensor(labels, dtype=torch.get_default_dtype())
        training, rows = Training(classifier.module, rate, batch), padded(classifier, texts)
        if course is None:
            training.run(rows, truth, epochs)
        else:
            course(classifier, training, rows, truth)
    return classifier


def padded(classifier: SingleLayerClassifier, texts: Sequence[str]) -> Tensor:
    """Texts as ids [texts, window], [CLS] first."""
    window = classifier.module.shape.window
    rows = torch.full((len(texts), window), UNK)
    rows[:, 0] = CLS
    for row, text in zip(rows, texts, strict=True):
        ids = torch.tensor(classifier.encode(text).ids, dtype=torch.long)
        row[1 : 1 + len(ids)] = ids
    return rows


def _check_training(texts: Sequence[str], labels: Sequence[int]) -> None:
    if isinstance(texts, str) or len(texts) != len(labels) or set(labels) != {0, 1}:
        raise SettingError(
            f"Cannot train on {len(texts)} texts with {len(labels)} labels"
            f" of the kinds {sorted(set(labels))[:5]}.",
            "Give a list of texts, and for each the label 0 or 1; both must occur.",
        )


def _notes(ids: Sequence[int], used: int) -> tuple[str, ...]:
    notes = []
    if len(ids) > used:
        notes.append(f"The text has {len(ids):,} words; the model reads the first {used:,} only.")
    unknown = ids[:used].count(UNK)
    if unknown:
        notes.append(
            f"{unknown:,} of {min(len(ids), used):,} words are unknown to the model: it reads each"
            " as [UNK], and cannot tell them apart."
        )
    return tuple(notes)


def _numpy(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
