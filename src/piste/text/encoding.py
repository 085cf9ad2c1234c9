"""What a tokenizer tells about a text, and the checks before it is asked."""

from dataclasses import dataclass

from piste.errors import InputError

Span = tuple[int, int]
# A token's type (the segment number that BERT adds to it) travels in its id: id + TYPE * type.
# So a sequence stays a row of plain numbers, and two that differ in types differ.
TYPE = 2**32
BETWEEN = "\n"  # stands between the two texts of a pair in `Encoding.text`


@dataclass(frozen=True)
class Frame:
    """The special tokens a model wants around every sequence. They are never scored."""

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    between: tuple[int, ...] = ()  # the two texts of a pair
    types: tuple[int, int] = (0, 0)  # of the tokens of the first text and of the second

    @property
    def size(self) -> int:
        return len(self.prefix) + len(self.between) + len(self.suffix)


@dataclass(frozen=True)
class Encoding:
    """A text as the model reads it. `spans[i]` is where token i stands in `text`.

    Tokens with equal `keys` count as the same token when players share scores: for a tokenizer
    they are the ids themselves. The two texts of a pair stand in `text` one after the other,
    `BETWEEN` between them.
    """

    text: str
    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    keys: tuple[int, ...]
    frame: Frame = Frame()
    notes: tuple[str, ...] = ()
    limit: int | None = None  # the most of these tokens that the model reads at once
    second: int | None = None  # where in `text` the second text of a pair begins

    @property
    def segments(self) -> tuple[int, ...]:
        """0 for a token of the first text, 1 for one of the second."""
        second = len(self.text) + 1 if self.second is None else self.second
        return tuple(int(start >= second) for start, _ in self.spans)


def texts(text: object, pair: object = None) -> list[str]:
    """The text, or both of a pair, checked."""
    return [check_text(text)] if pair is None else [check_text(text), check_text(pair)]


def check_text(text: object) -> str:
    """The text, or an error that says why there is nothing to explain."""
    if not isinstance(text, str):
        raise InputError(
            f"The text is a {type(text).__name__}, not a string.",
            "Pass one string; for many texts, call explain() once for each.",
        )
    if not text.strip():
        raise InputError("The text is empty.", "Give at least one word to explain.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"The text has half a character (a lone surrogate) at position {error.start}.",
            "Clean it first: text.encode('utf-8', 'replace').decode().",
        ) from None
    return text
