"""The tokenizer of the theory's own models: lower-cased words with numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from piste.text.encoding import Span
from piste.text.units import word_spans

SPECIAL = ("[UNK]", "[CLS]")  # the numbers `single_layer.UNK` and `single_layer.CLS`


@dataclass(frozen=True)
class Words:
    """A vocabulary: two special tokens, then words by falling frequency."""

    known: tuple[str, ...]

    @classmethod
    def learn(cls, texts: Iterable[str], most: int = 20_000) -> Words:
        """The `most` frequent words of the texts; equally frequent ones in alphabetical order."""
        counts = Counter(word for text in texts for word, _ in _split(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((*SPECIAL, *ranked[:most]))

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.known)}

    def encode(self, text: str) -> tuple[list[int], list[Span]]:
        """The number of each word, 0 for an unknown one, and where it stands."""
        pairs = _split(text)
        return [self.numbers.get(word, 0) for word, _ in pairs], [span for _, span in pairs]


def _split(text: str) -> list[tuple[str, Span]]:
    return [(text[start:end].lower(), (start, end)) for start, end in word_spans(text)]
