"""Whether a model was trained on two texts at once, where its labels tell."""

from collections.abc import Sequence

ONE_TEXT = "trained on pairs of texts"  # in the note on a text that was explained by itself
# Labels that only say how two texts relate. "duplicate" by itself may be a kind of text.
RELATIONS = frozenset(
    {"entailment", "contradiction", "not_entailment"}
    | {"not_duplicate", "not_paraphrase", "not_equivalent"}
)


def one_text_note(labels: Sequence[str] | None) -> tuple[str, ...]:
    """What to say of one text in front of a model whose labels relate two."""
    named = [label for label in labels or () if label.strip().lower() in RELATIONS]
    if not named:
        return ()
    return (
        f"The label {named[0]!r} tells of a model {ONE_TEXT}, and it read one: its answer may"
        " mean nothing. Give the second text with pair=... (--pair).",
    )
