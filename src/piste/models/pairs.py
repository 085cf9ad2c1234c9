"""Whether a model was trained on two texts at once, and what its pairs are called."""

from collections.abc import Sequence

from piste.models.protocol import Classifier

MISREAD = "its answer may mean nothing"  # in the note on a text, or two, that the model is not for
EMBEDDED, FUNCTION = "demo", "function"  # the name of the embedded model; a backend
# Labels that only say how two texts relate. "duplicate" by itself may be a kind of text.
RELATIONS = frozenset(
    {"entailment", "contradiction", "not_entailment"}
    | {"not_duplicate", "not_paraphrase", "not_equivalent"}
)
INFERENCE = ("premise", "hypothesis")


def names_of(labels: Sequence[str]) -> tuple[str, str]:
    """What the two texts are called: by their roles where the labels tell that these have any.

    "entailment" beside "not_entailment" does not: a question and a sentence may have those, too.
    """
    known = {label.strip().lower() for label in labels}
    return INFERENCE if {"entailment", "contradiction"} <= known else ("text 1", "text 2")


def text_notes(classifier: Classifier, paired: bool) -> tuple[str, ...]:
    """What to say of one text in front of a model of pairs, or of a pair where it is none.

    Of most models nobody knows that: labels tell of some, and the embedded one is our own.
    """
    return _pair_note(classifier) if paired else _one_text_note(classifier.labels)


def _pair_note(classifier: Classifier) -> tuple[str, ...]:
    if classifier.name != EMBEDDED or classifier.backend == FUNCTION:
        return ()
    return (
        f"The embedded model was trained on single film reviews and read two texts: {MISREAD}."
        " Name a model of pairs with --model (piste.load(name)), or leave the second text out.",
    )


def _one_text_note(labels: Sequence[str] | None) -> tuple[str, ...]:
    named = [label for label in labels or () if label.strip().lower() in RELATIONS]
    if not named:
        return ()
    return (
        f"The label {named[0]!r} tells of a model trained on pairs of texts, and it read one:"
        f" {MISREAD}. Give the second text with pair=... (--pair).",
    )
