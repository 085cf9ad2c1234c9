"""A fast tokenizer without transformers: the same ids, offsets and special tokens, in milliseconds.

What transformers makes of a folder's tokenizer files differs from version to version and from class
to class: some read tokenizer.json as it is, others build the rules anew from its vocabulary. So
nothing is derived from those files here. Once transformers has made a tokenizer, its rules are
written down as they came out, tried against it, and read from then on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from piste.models.protocol import REPLACEMENTS

if TYPE_CHECKING:
    from piste.models.backends.reading import Reader

# What a class of transformers may do besides asking its rules; such a one is not written down.
ASKING = (
    "__call__",
    "_encode_plus",
    "_batch_encode_plus",
    "_convert_encoding",
    "set_truncation_and_padding",
    "decode",
    "_decode",
)
TEXTS = (
    "A short text, and then some more words: it's unbelievable, isn't it?",
    "  Naïve café — 3.14 €,\tÅngström…\n\nﬁn de siècle; İstanbul, ẞ, e\u0301  ",
    "不错的电影 とても良い 🙂👩‍👩‍👧 \u200bзамечательно جيد\u00a0x",
    "a",
    "x" * 120 + " https://example.org/a_b?c=d#e @user #tag <br /> &amp; C++ ##ing ▁ Ġ",
)


class Tokens(dict[str, Any]):
    """The tokens of a text or of a pair, in the form that transformers gives them."""

    def __init__(self, encoding: Any, types: bool) -> None:
        super().__init__(input_ids=encoding.ids, offset_mapping=encoding.offsets)
        if types:
            self["token_type_ids"] = encoding.type_ids
        self._owners = encoding.sequence_ids

    def sequence_ids(self, row: int = 0) -> list[int | None]:
        """Which text each token belongs to; None for special tokens."""
        return list(self._owners)


@dataclass(frozen=True, eq=False)
class TokenizerFile:
    """Stands in for a fast tokenizer of transformers wherever piste asks one."""

    rules: str  # tokenizer.json
    facts: dict[str, Any]  # what transformers knows besides: see `facts_of`

    @cached_property
    def backend_tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self.rules)
        tokenizer.no_truncation()  # set by whoever called the original last
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = self.facts["split_special_tokens"]
        return tokenizer

    def __call__(
        self, text: str, pair: str | None = None, return_offsets_mapping: bool = True
    ) -> Tokens:
        # As in transformers, an empty second text is none.
        return Tokens(self.backend_tokenizer.encode(text, pair or None), self.facts["types"])

    def decode(self, ids: list[int]) -> str:
        text = str(self.backend_tokenizer.decode(ids, skip_special_tokens=False))
        return _tidied(text) if self.facts["tidy"] else text

    @property
    def model_max_length(self) -> int:
        return int(self.facts["model_max_length"])

    @property
    def special_tokens_map(self) -> dict[str, Any]:
        return dict(self.facts["special_tokens_map"])

    @property
    def unk_token(self) -> str | None:
        token: str | None = self.facts["unk_token"]
        return token

    @property
    def unk_token_id(self) -> int | None:
        return self._id("unk")

    @property
    def mask_token_id(self) -> int | None:
        return self._id("mask")

    @property
    def pad_token_id(self) -> int | None:
        return self._id("pad")

    def _id(self, name: str) -> int | None:
        number: int | None = self.facts["ids"][name]
        return number


def written_down(tokenizer: Any) -> TokenizerFile | None:
    """What stands in for this tokenizer of transformers; None where it does more than its rules."""
    if not _asks_its_rules_only(tokenizer):
        return None
    return TokenizerFile(tokenizer.backend_tokenizer.to_str(), facts_of(tokenizer))


def facts_of(tokenizer: Any) -> dict[str, Any]:
    """What a tokenizer of transformers knows besides its rules, ready for JSON."""
    special = json.loads(json.dumps(tokenizer.special_tokens_map, default=str))
    tidy = bool(tokenizer.clean_up_tokenization_spaces)
    return {
        "model_max_length": int(tokenizer.model_max_length),
        "special_tokens_map": special,
        "ids": {name: getattr(tokenizer, f"{name}_token_id") for name in REPLACEMENTS},
        "unk_token": tokenizer.unk_token,
        "types": "token_type_ids" in tokenizer.model_input_names,
        "split_special_tokens": bool(getattr(tokenizer, "split_special_tokens", False)),
        "tidy": tidy and type(tokenizer.backend_tokenizer.model).__name__ != "BPE",
    }


def agree(one: Reader, other: Reader) -> bool:
    """Whether two readers read texts and pairs alike, special tokens that are spelled out too."""
    marks = " ".join(str(mark) for mark in one.tokenizer.special_tokens_map.values())
    texts = [*TEXTS, f"before {marks} after{marks}", " ".join(TEXTS[:2] * 40)]
    for text, pair in zip(texts, texts[1:] + texts[:1], strict=True):
        for asked in ((text, None), (text, pair)):
            if one.encode(*asked) != other.encode(*asked):
                return False
        ids = one.tokenizer(text, None)["input_ids"]
        if one.tokenizer.decode(ids) != other.tokenizer.decode(ids):
            return False
    return all(one.token_id(name) == other.token_id(name) for name in REPLACEMENTS)


def _asks_its_rules_only(tokenizer: Any) -> bool:
    from transformers import PreTrainedTokenizerFast

    kind = type(tokenizer)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return False
    plain = PreTrainedTokenizerFast
    return all(getattr(kind, name, None) is getattr(plain, name, None) for name in ASKING)


def _tidied(text: str) -> str:
    """Without blanks before punctuation, as transformers shows words that were cut apart."""
    for mark in (".", "?", "!", ","):
        text = text.replace(f" {mark}", mark)
    text = text.replace(" ' ", "'")
    for ending in ("n't", "'m", "'s", "'ve", "'re"):
        text = text.replace(f" {ending}", ending)
    return text
