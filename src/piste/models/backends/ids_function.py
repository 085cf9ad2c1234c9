"""A function of token ids as a classifier: for models that no library of ours can load."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from piste.arrays import IntArray
from piste.models.backends.function import FunctionClassifier
from piste.models.backends.pretrained import QuietReader, check_tokenizer, load_tokenizer
from piste.models.backends.reading import Reader, plain
from piste.text.encoding import Encoding


def reader_for(tokenizer: Any) -> Reader:
    """What reads texts for a function of ids. It knows no types: ids are all that is passed on."""
    loaded = load_tokenizer(tokenizer)
    check_tokenizer(loaded)
    return QuietReader(loaded, int(loaded.model_max_length))


@dataclass(repr=False, eq=False)
class IdsFunctionClassifier(FunctionClassifier):
    """A function from an array of ids [n, tokens] to scores. `from_function` builds it."""

    reader: Reader = field(kw_only=True)

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        return self.reader.encode(text, pair)

    def token_id(self, name: str) -> int | None:
        return self.reader.token_id(name)

    def show(self, ids: IntArray) -> str:
        return self.reader.show(ids)

    def _given(self, ids: IntArray) -> IntArray:
        return np.ascontiguousarray(plain(ids))
