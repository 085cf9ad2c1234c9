"""The scores of players as scores of tokens, of any tokenizer: one number for each token.

Public evaluation scripts want an array as long as `input_ids`. Where the tokenizer is another than
the model's, words and tokens are matched by the characters that they cover, never by their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from piste.arrays import FloatArray, IntArray
from piste.errors import InputError, SettingError, choices
from piste.result.explanation import Explanation
from piste.text.token_alignment import complete, stripped
from piste.text.units import Span

SPREADS = ("split", "repeat")
UNKNOWN = "[UNK]"  # stands for whatever a tokenizer calls it
# What else the tokenizer would return, or in which form: it changes none of the tokens.
NO_MATTER = ("return_tensors", "return_offsets_mapping", "return_special_tokens_mask")


# What cuts a text off, or lengthens it: without it, the tokenizer sees all of the text.
LIMITS = ("truncation", "max_length", "stride", "padding", "pad_to_multiple_of")
Tokens = tuple[Span | None, ...]  # of the explained text; None where a token stands for no text


def token_scores(
    explanation: Explanation, tokenizer: Any, name: str, spread: str, options: dict[str, Any]
) -> FloatArray:
    """Scores [tokens]; see `Explanation.token_scores`."""
    if name not in explanation.scores:
        raise choices("score", name, list(explanation.scores))
    if spread not in SPREADS:
        raise choices("spread", spread, list(SPREADS))
    tokens = tokenised(explanation, tokenizer, options)
    scores = explanation.scores[name]
    places = [(player.start, player.end) for player in explanation.players]
    covered = overlaps(places, tokens)
    if spread == "repeat":
        owner = covered.argmax(axis=0)
        return np.asarray(np.where(covered.any(axis=0), scores[owner], 0.0))
    members = (covered > 0).astype(np.float64)  # [players, tokens]
    lost = np.flatnonzero(~members.any(axis=1)).tolist()
    if lost:
        whole = tokenised(explanation, tokenizer, options, whole=True)
        seen = np.flatnonzero(overlaps(places, whole).sum(axis=1))
        for player in sorted(set(lost) - set(seen.tolist())):  # others are cut off
            nearest = _nearest(whole, places[player][0], explanation)
            if nearest is not None and nearest in tokens:
                members[player, tokens.index(nearest)] = 1.0
    counts = members.sum(axis=1)
    shares = scores / np.where(counts > 0, counts, 1.0)
    return np.asarray(shares @ members)


def overlaps(players: Sequence[Span], tokens: Sequence[Span | None]) -> IntArray:
    """How many characters each player shares with each token [players, tokens]."""
    spans = [(0, 0) if span is None else span for span in tokens]
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    left, right = np.array(players, dtype=np.int64).reshape(-1, 2).T[:, :, None]
    return np.asarray(np.clip(np.minimum(right, ends) - np.maximum(left, starts), 0, None))


def _nearest(whole: Tokens, start: int, explanation: Explanation) -> Span | None:
    """The token that takes the score of a player which the tokenizer does not see, in its text."""
    second = len(explanation.text) if explanation.second is None else explanation.second
    own = [span for span in whole if span and (span[0] >= second) == (start >= second)]
    return min(own, key=lambda span: abs(span[0] - start), default=None)


def tokenised(
    explanation: Explanation, tokenizer: Any, options: dict[str, Any], whole: bool = False
) -> Tokens:
    """The tokens of the explained text, by this tokenizer; whole: with nothing cut off."""
    if options.get("return_overflowing_tokens"):
        raise SettingError(
            "With return_overflowing_tokens a text has several rows of tokens, and scores are one.",
            "Leave it out, and max_length with it for the whole text.",
        )
    dropped = (*NO_MATTER, *LIMITS) if whole else NO_MATTER
    options = {name: value for name, value in options.items() if name not in dropped}
    text, pair = explanation.text, None
    if explanation.second is not None:
        text, pair = text[: explanation.second - 1], text[explanation.second :]
    if not callable(tokenizer):
        return _of_library(tokenizer, text, pair, explanation.second or 0, options, whole)
    if getattr(tokenizer, "is_fast", True):
        encoded = tokenizer(text, pair, return_offsets_mapping=True, **options)
        owners = encoded.sequence_ids(0)
        return _placed(encoded["offset_mapping"], owners, explanation.second or 0)
    return _aligned(explanation, tokenizer, text, pair, options)


def _of_library(
    tokenizer: Any,
    text: str,
    pair: str | None,
    second: int,
    options: dict[str, Any],
    whole: bool,
) -> Tokens:
    """By a tokenizer of the library `tokenizers`, which has its settings in itself."""
    if not hasattr(tokenizer, "to_str") or options:
        what = ", ".join(options) or "texts"
        raise SettingError(
            f"{type(tokenizer).__name__} is no tokenizer that takes {what}.",
            "Give one of transformers: AutoTokenizer.from_pretrained(...).",
        )
    if whole and tokenizer.truncation is not None:
        tokenizer = type(tokenizer).from_str(tokenizer.to_str())  # the given one stays as it is
        tokenizer.no_truncation()
    encoded = tokenizer.encode(text, pair)
    return _placed(encoded.offsets, encoded.sequence_ids, second)


def _placed(offsets: Sequence[Span], owners: Sequence[int | None], second: int) -> Tokens:
    """Places in the whole text; special tokens and padding, which belong to no text, have none."""
    return tuple(
        None if owner is None or start == end else (start + second * owner, end + second * owner)
        for (start, end), owner in zip(offsets, owners, strict=True)
    )


def _aligned(
    explanation: Explanation, tokenizer: Any, text: str, pair: str | None, options: dict[str, Any]
) -> Tokens:
    """By a slow tokenizer, which gives no offsets: its tokens are looked for in the text."""
    encoded = tokenizer(text, pair, return_special_tokens_mask=True, **options)
    tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    unknown = getattr(tokenizer, "unk_token", None)
    tokens = [UNKNOWN if token == unknown else token for token in tokens]
    special = encoded["special_tokens_mask"]
    # A tokenizer may take what it does not know for special, too.
    inside = [i for i, token in enumerate(tokens) if not special[i] or token == UNKNOWN]
    own = [tokens[index] for index in inside]
    until = len(explanation.text)
    found = _of_bytes(own, explanation)
    if found is None:
        if options.get("truncation"):
            until = _reached(own, explanation.text)
        found = complete(own, explanation.text, until)
    if found is None:
        raise InputError(
            f"{type(tokenizer).__name__} says nothing of where its tokens stand, and they cannot be"
            " found in the text.",
            "Use the fast tokenizer: AutoTokenizer.from_pretrained(name, use_fast=True).",
        )
    spans: list[Span | None] = [None] * len(tokens)
    for index, span in zip(inside, found, strict=True):
        spans[index] = span
    return tuple(spans)


def _of_bytes(tokens: Sequence[str], explanation: Explanation) -> list[Span | None] | None:
    """Where every token is one byte of the text (ByT5): the letter that the byte is of."""
    between = -1 if explanation.second is None else explanation.second - 1
    letters = [(i, letter) for i, letter in enumerate(explanation.text) if i != between]
    owners = [i for i, letter in letters for _ in letter.encode("utf-8", "surrogatepass")]
    if not tokens or any(len(token) != 1 or ord(token) > 255 for token in tokens):
        return None
    written = "".join(letter for _, letter in letters).encode("utf-8", "surrogatepass")
    if not written.startswith(bytes(map(ord, tokens))):
        return None
    return [(owner, owner + 1) for owner in owners[: len(tokens)]]


def _reached(tokens: Sequence[str], text: str) -> int:
    """How far a text goes that was cut off: as far as all of the tokens are found, and no more."""
    visible = [bool(stripped(token)) for token in tokens]
    for until in range(1, len(text) + 1):
        found = complete(tokens, text[:until], until)
        if found is not None and all(
            span is not None for span, shows in zip(found, visible, strict=True) if shows
        ):
            return until
    return len(text)
