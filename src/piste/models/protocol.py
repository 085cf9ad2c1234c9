"""What piste needs of a model, and no more."""

from typing import Literal, Protocol, runtime_checkable

from piste.arrays import FloatArray, IntArray
from piste.errors import few
from piste.text.encoding import Encoding

Outputs = Literal["classes", "labels", "raw"]
"""classes: softmax over outputs; labels: a sigmoid each (multi-label); raw: regression."""

REPLACEMENTS = ("unk", "mask", "pad")
"""Tokens that may stand in a word's place."""


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

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """The text as ids with offsets, and the special tokens around them.

        All of it: who asks cuts it to `Encoding.limit`. pair: a second text, where the model
        classifies two at once.
        """
        ...

    def logits(self, ids: IntArray) -> FloatArray:
        """Scores [batch, outputs] of equally long sequences [batch, length], frame included."""
        ...

    def show(self, ids: IntArray) -> str:
        """One sequence as readable text, for messages."""
        ...


def described(classifier: Classifier) -> str:
    """The `repr` of a classifier: name, labels and backend in one line that is safe to print."""
    labels = few(classifier.labels or ("labels not known yet",), 8)
    return f"<{few((classifier.name,))}: {labels}; {classifier.backend}>"


@runtime_checkable
class WithNotes(Protocol):
    """A classifier that adds notes to explanations."""

    def notes(self, may_ask: bool = True, whole: FloatArray | None = None) -> tuple[str, ...]:
        """The notes for one explanation.

        may_ask: whether one more question is allowed for them.
        whole: the answer [outputs] to the longest sequence of the explanation.
        """
        ...


@runtime_checkable
class MayVary(Protocol):
    """A classifier whose answers to the same text may differ."""

    varies: float  # how far two of them were apart; 0 where they were not, or nobody has asked


@runtime_checkable
class MayReadNothing(Protocol):
    """A classifier without special tokens that may answer an empty text all the same."""

    reads_nothing: bool | None  # None: it has not been tried


@runtime_checkable
class Verifiable(Protocol):
    """A classifier that stands in for an original that may change later."""

    def verify(self, ids: IntArray | None) -> str:
        """Compare the answers of both to one sequence [1, tokens], or with None their weights, and
        use the original's from now on where they differ. Returns a note on a difference, else "".
        """
        ...


@runtime_checkable
class WithTokens(Protocol):
    """A classifier whose tokens can be replaced in place."""

    def token_id(self, name: str) -> int | None:
        """The id of the "unk", "mask" or "pad" token; None where the model has no such token."""
        ...


@runtime_checkable
class WithGradients(Protocol):
    """A classifier that takes embeddings in place of tokens and returns gradients."""

    def embed(self, ids: IntArray) -> FloatArray:
        """What the model takes in place of ids: [rows, tokens] -> [rows, tokens, width]."""
        ...

    def gradients(
        self,
        embeddings: FloatArray,
        index: int,
        types: IntArray | None = None,
        against: int | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Margins [rows] towards output `index` on the scale of `decision.margins`, and their
        gradients with respect to the embeddings; both [rows, tokens, width].

        types [rows, tokens]: of the tokens, where they are not all 0.
        against: the output whose logit is subtracted, in place of those of all others.
        """
        ...


@runtime_checkable
class WithAttention(Protocol):
    """A classifier that exposes its attention weights."""

    def attentions(self, ids: IntArray) -> tuple[FloatArray, int]:
        """Weights [layers, rows, heads, tokens, tokens] for ids [rows, tokens], and the position
        that the classification is read from (0 for a [CLS], the last for a decoder).

        `weights[..., i, j]` is how much position i attends to position j.
        """
        ...
