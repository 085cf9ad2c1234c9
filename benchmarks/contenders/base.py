"""What the peers share: the model as their users have it (eager torch), metered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

BATCH = 32  # sequences a forward pass, for every peer that lets its user choose
Span = tuple[int, int, float]  # characters from, to, score towards the target class


@dataclass
class Answer:
    """One explanation. `scores` rank; the others say what a removal would change, if they can."""

    scores: list[Span]
    removal: list[Span] | None = None  # None: the scores themselves add up
    slalom: list[tuple[int, int, float, float]] | None = None  # value and importance of a token
    explanation: dict[str, Any] | None = None  # piste's, whose players are those of `scores`
    tokens: int | None = None  # for explainers with a meter of their own
    sequences: int | None = None


class Explainer(Protocol):
    """What the runner drives. `samples` None is the library's own default."""

    def explain(self, text: str, target: int, samples: int | None) -> Answer: ...

    def samples_for(self, text: str, budget: float) -> int:
        """How many samples cost `budget` times the tokens of the text."""
        ...

    def calibrate(self, text: str, samples: int, tokens: int) -> None:
        """Learn from the warm-up, where so many samples have cost so many tokens."""
        ...


@dataclass
class Meter:
    """Counts what goes through the model, padding included."""

    tokens: int = 0
    sequences: int = 0

    def __call__(self, _: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        ids = named["input_ids"] if "input_ids" in named else positional[0]
        self.tokens += ids.numel()
        self.sequences += len(ids)


@dataclass
class Encoded:
    """A text as ids without special tokens, and its words as the tokenizer splits them."""

    ids: list[int]
    spans: list[tuple[int, int]]  # of tokens
    words: list[list[int]]  # tokens of each word
    before: list[int]  # special tokens that open every sequence
    after: list[int]

    def word_spans(self) -> list[tuple[int, int]]:
        return [(self.spans[word[0]][0], self.spans[word[-1]][1]) for word in self.words]

    def with_only(self, mask: np.ndarray) -> list[int]:
        """The ids of the words where `mask` [words] is true, special tokens around them."""
        chosen = [word for word, keep in zip(self.words, mask, strict=True) if keep]
        inside = [self.ids[token] for word in chosen for token in word]
        return [*self.before, *inside, *self.after]


@dataclass
class TorchModel:
    """The classifier, evaluated without gradients; answers are log-odds of the target class."""

    folder: str
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        self.model = AutoModelForSequenceClassification.from_pretrained(self.folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.model.register_forward_pre_hook(self.meter, with_kwargs=True)

    def encode(self, text: str) -> Encoded:
        coded = self.tokenizer(text, truncation=True, return_offsets_mapping=True)
        ids, owners = coded["input_ids"], coded.word_ids()
        kept = [i for i, word in enumerate(owners) if word is not None]
        words: dict[int, list[int]] = {}
        for position, index in enumerate(kept):
            words.setdefault(owners[index], []).append(position)
        spans = [tuple(coded["offset_mapping"][i]) for i in kept]
        first, last = kept[0], kept[-1]
        inside = ids[first : last + 1]
        return Encoded(inside, spans, list(words.values()), ids[:first], ids[last + 1 :])

    def length(self, text: str) -> int:
        """Tokens of the text, special ones included."""
        return len(self.tokenizer(text, truncation=True)["input_ids"])

    def of_texts(self, texts: Sequence[str], target: int) -> np.ndarray:
        """Log-odds of many texts [texts]."""
        coded = self.tokenizer(list(texts), truncation=True)["input_ids"]
        return self._ask(coded, target)

    def of_masks(self, encoded: Encoded, masks: np.ndarray, target: int) -> np.ndarray:
        """Log-odds of the text with only the words where `masks` [rows, words] is 1.

        The other words' ids are deleted, as in the deletion test.
        """
        rows = [encoded.with_only(mask) for mask in np.asarray(masks) > 0.5]
        return self._ask(rows, target)

    def _ask(self, rows: list[list[int]], target: int) -> np.ndarray:
        """Sorted by length before they are cut into batches: a kindness, it spares padding."""
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        answers = np.empty(len(rows))
        for start in range(0, len(rows), BATCH):
            chosen = order[start : start + BATCH]
            padded = self.tokenizer.pad(
                {"input_ids": [rows[row] for row in chosen]}, return_tensors="pt"
            )
            with torch.no_grad():
                logits = self.model(**padded).logits
            answers[chosen] = (logits[:, target] - logits[:, 1 - target]).numpy()
        return answers


@dataclass
class Calibrated:
    """For samples that cost a share of the text: the share is measured on the warm-up text."""

    model: TorchModel
    share: float = 1.0

    def calibrate(self, text: str, samples: int, tokens: int) -> None:
        self.share = tokens / samples / self.model.length(text)

    def samples_for(self, text: str, budget: float) -> int:
        return max(2, round(budget / self.share))


def spans_of(places: Sequence[tuple[int, int]], scores: Sequence[float]) -> list[Span]:
    return [(start, end, float(s)) for (start, end), s in zip(places, scores, strict=True)]
