"""The classes of a run: how often each is predicted and right, and which mistakes are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from piste.runs.excerpts import Excerpt, Place

EXAMPLES = 2  # of the surest texts, and of the least sure
DECIDING = 5  # words


@dataclass(frozen=True)
class Side:
    """Towards what the scores of a text are told, and the sign that they get by it."""

    name: str  # a label, or a contrast: "NUM rather than LOC"
    label: str
    sign: float


@dataclass(frozen=True)
class ReadText:
    """What a summary reads of a text's row."""

    index: int
    id: str
    target: str  # whom its scores speak for
    predicted: str | None  # None where the run explains a class that need not be the predicted one
    label: str | None  # of the data, by the model's name for it
    given: str | None  # of the data, as it is written there
    score: float
    probability: float | None
    tells_pairs: bool
    side: Side
    checkable: bool  # whether the prediction can be compared with a label of the data

    @property
    def right(self) -> bool | None:
        known = self.label is not None and self.predicted is not None
        return self.label == self.predicted if known and self.checkable else None


@dataclass
class ClassCounts:
    """One class: texts that are predicted so, labelled so, both."""

    label: str
    predicted: int
    labelled: int
    right: int
    checked: int  # predicted so, and with a label in the data
    examples: list[Excerpt] = field(default_factory=list, repr=False)

    @property
    def precision(self) -> float | None:
        """The share of its predictions that are right; None where none can be checked."""
        return self.right / self.checked if self.checked else None

    @property
    def recall(self) -> float | None:
        """The share of the texts with this label that are predicted so."""
        return self.right / self.labelled if self.labelled else None


@dataclass
class Mistakes:
    """Texts of one label that are predicted as another, and the words that decided them."""

    label: str
    predicted: str
    texts: int
    words: list[tuple[str, int]]  # the strongest word for the prediction, and in how many texts
    examples: list[Excerpt] = field(default_factory=list, repr=False)


def counted(texts: Sequence[ReadText], labels: Sequence[str]) -> list[ClassCounts]:
    """Every class of the model, in its order; none where a run does not say what is predicted."""
    known = [text for text in texts if text.predicted is not None]
    if len(labels) < 2 or not known:
        return []
    predicted = Counter(text.predicted for text in known)
    labelled = Counter(text.label for text in known)
    checked = Counter(text.predicted for text in known if text.right is not None)
    right = Counter(text.predicted for text in known if text.right)
    return [
        ClassCounts(name, predicted[name], labelled[name], right[name], checked[name])
        for name in labels
    ]


def mistaken(texts: Sequence[ReadText], deciding: dict[int, str]) -> list[Mistakes]:
    """Each kind of mistake, most frequent first. deciding: the decisive word of a text."""
    words: dict[tuple[str, str], Counter[str]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        if text.right is False and text.label is not None and text.predicted is not None:
            kind = (text.label, text.predicted)
            counts[kind] += 1
            if text.index in deciding:
                words.setdefault(kind, Counter())[deciding[text.index]] += 1
    return [
        Mistakes(*kind, count, words.get(kind, Counter()).most_common(DECIDING))
        for kind, count in counts.most_common()
    ]


def _sureness(text: ReadText) -> float:
    """The score towards the predicted label."""
    return text.score if text.predicted == text.target else -text.score


def class_places(texts: Sequence[ReadText], label: str) -> list[Place]:
    """The texts predicted so of which the model is surest, and least sure."""
    ordered = sorted((t for t in texts if t.predicted == label), key=_sureness, reverse=True)
    chosen = [*ordered[:EXAMPLES], *ordered[-EXAMPLES:]]
    return [Place(index) for index in dict.fromkeys(text.index for text in chosen)]


def mistake_places(texts: Sequence[ReadText], mistakes: Mistakes) -> list[Place]:
    """The mistakes of this kind of which the model is surest."""
    kind = (mistakes.label, mistakes.predicted)
    chosen = [t for t in texts if t.right is False and (t.label, t.predicted) == kind]
    surest = sorted(chosen, key=_sureness, reverse=True)
    return [Place(text.index) for text in surest[: 2 * EXAMPLES]]
