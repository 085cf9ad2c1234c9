"""What a tokenizer tells about a text, and the checks before it is asked."""

from dataclasses import dataclass

from piste.errors import InputError

Span = tuple[int, int]


@dataclass(frozen=True)
class Frame:
    """The special tokens a model wants around every sequence. They are never scored."""

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True)
class Encoding:
    """A text as the model reads it. `spans[i]` is where token i stands in `text`.

    Tokens with equal `keys` count as the same token when players share scores: for a tokenizer
    they are the ids themselves.
    """

    text: str
    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    keys: tuple[int, ...]
    frame: Frame = Frame()
    notes: tuple[str, ...] = ()


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
