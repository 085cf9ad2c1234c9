"""What piste needs of a model, and no more."""

from typing import Literal, Protocol

from piste.explanation import FloatArray
from piste.ragged import IntArray
from piste.text.encoding import Encoding

Outputs = Literal["classes", "labels", "raw"]
"""classes: softmax over outputs; labels: a sigmoid each (multi-label); raw: regression."""


class Classifier(Protocol):
    """A text classifier. Only `Query` calls `logits`."""

    @property
    def name(self) -> str: ...

    @property
    def backend(self) -> str:
        """What computes the answers, for the record."""
        ...

    @property
    def labels(self) -> tuple[str, ...] | None:
        """Names of the outputs; None while a function has not said how many it has."""
        ...

    @property
    def outputs(self) -> Outputs: ...

    def encode(self, text: str) -> Encoding:
        """The text as ids with offsets, and the special tokens around them."""
        ...

    def logits(self, ids: IntArray) -> FloatArray:
        """Scores [batch, outputs] of equally long sequences [batch, length], frame included."""
        ...

    def show(self, ids: IntArray) -> str:
        """One sequence as readable text, for messages."""
        ...
