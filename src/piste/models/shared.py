"""A classifier that several threads may ask: one question at a time.

Models and tokenizers are not made for it. Gradients change a model's settings while they run, and
a fast tokenizer that is used twice at once refuses.
"""

from __future__ import annotations

import threading
from typing import Any

from piste.arrays import FloatArray, IntArray
from piste.models.protocol import (
    Classifier,
    Outputs,
    Verifiable,
    WithAttention,
    WithGradients,
    WithNotes,
    WithTokens,
)
from piste.text.encoding import Encoding


class Shared:
    """The classifier behind a lock, held for a batch, so that a short question gets in between."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier: Any = classifier
        self.lock = threading.Lock()

    @property
    def name(self) -> str:
        return str(self.classifier.name)

    @property
    def backend(self) -> str:
        return str(self.classifier.backend)

    @property
    def labels(self) -> tuple[str, ...] | None:
        labels: tuple[str, ...] | None = self.classifier.labels
        return labels

    @property
    def outputs(self) -> Outputs:
        outputs: Outputs = self.classifier.outputs
        return outputs

    def _locked(self, verb: str, *given: Any, **named: Any) -> Any:
        with self.lock:
            return getattr(self.classifier, verb)(*given, **named)

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        encoding: Encoding = self._locked("encode", text, pair)
        return encoding

    def logits(self, ids: IntArray) -> FloatArray:
        logits: FloatArray = self._locked("logits", ids)
        return logits

    def show(self, ids: IntArray) -> str:
        return str(self._locked("show", ids))


# A classifier is asked for what it can do by its verbs: the shared one has those of its own only.
class _Notes(Shared):
    def notes(self, may_ask: bool = True, whole: FloatArray | None = None) -> tuple[str, ...]:
        notes: tuple[str, ...] = self._locked("notes", may_ask, whole)
        return notes


class _Verified(Shared):
    def verify(self, ids: IntArray | None) -> str:
        return str(self._locked("verify", ids))


class _Tokens(Shared):
    def token_id(self, name: str) -> int | None:
        found: int | None = self._locked("token_id", name)
        return found


class _Gradients(Shared):
    def embed(self, ids: IntArray) -> FloatArray:
        embeddings: FloatArray = self._locked("embed", ids)
        return embeddings

    def gradients(
        self, embeddings: FloatArray, index: int, types: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        more = {} if types is None else {"types": types}
        found: tuple[FloatArray, FloatArray] = self._locked(
            "gradients", embeddings, index=index, **more
        )
        return found


class _Attention(Shared):
    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        found: tuple[FloatArray, int] = self._locked("attentions", ids)
        return found


_VERBS: tuple[tuple[type, type[Shared]], ...] = (
    (WithNotes, _Notes),
    (Verifiable, _Verified),
    (WithTokens, _Tokens),
    (WithGradients, _Gradients),
    (WithAttention, _Attention),
)


def shared(classifier: Classifier) -> Shared:
    """The classifier for several threads, with all it can do and no more."""
    kinds = [kind for verbs, kind in _VERBS if isinstance(classifier, verbs)] or [Shared]
    made: Shared = type("SharedClassifier", tuple(kinds), {})(classifier)
    return made
