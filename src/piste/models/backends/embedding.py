"""The similarity of two texts as a classifier: the cosine of their embeddings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from piste.arrays import FloatArray
from piste.errors import ModelError, OutputError, SettingError, several
from piste.models.backends.function import FunctionClassifier, from_function

Embed = Callable[[list[str]], Any]  # texts -> vectors [texts, width]
LABEL = "similarity"
POOLED = ("Transformer", "Pooling", "Normalize")  # the parts of a model that averages its tokens


def from_embedding(
    encoder: Any, tokenizer: Any = None, *, to: str | None = None, name: str | None = None
) -> FunctionClassifier:
    """A classifier whose answer is how similar two texts are: the cosine of their embeddings.

    encoder: a function from a list of texts to vectors [n, width]; a `SentenceTransformer`; or an
    encoder of transformers (a name, a directory, a model), whose last hidden states are averaged
    over all tokens, special ones included. A directory made for another pooling is refused; of a
    name on the hub that is not looked up: pass a `SentenceTransformer` where it pools otherwise.
    tokenizer: of a model object, where its configuration does not say where it came from.
    to: the text that all others are compared with. Without it, two texts are explained together:
    `explain(text, from_embedding(encoder), pair=other)`.
    """
    embed, called = _embed(encoder, tokenizer)
    similarity = Similarity(embed, to)
    made = from_function(similarity, [LABEL], outputs="raw", name=name or f"similarity ({called})")
    made.text_remarks = similarity.remarks
    return made


@dataclass
class Similarity:
    """The cosine of two texts' embeddings, from -1 to 1; 0 where a vector is all zeros."""

    embed: Embed
    to: str | None = None

    def __call__(self, given: Sequence[str | tuple[str, str]]) -> FloatArray:
        pairs = [self._pair(one) for one in given]
        distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = _unit(_as_vectors(self.embed(distinct), len(distinct)))
        place = {text: row for row, text in enumerate(distinct)}
        first, second = (vectors[[place[pair[side]] for pair in pairs]] for side in (0, 1))
        return np.asarray((first * second).sum(axis=1))

    def remarks(self, text: str) -> tuple[str, ...]:
        """What the explanation of this text should say of its embedding, and of the other's."""
        remarks: Callable[[str], tuple[str, ...]] | None = getattr(self.embed, "remarks", None)
        if remarks is None:
            return ()
        return remarks(text) or (() if self.to is None else remarks(self.to))

    def _pair(self, given: str | tuple[str, str]) -> tuple[str, str]:
        if isinstance(given, str) and self.to is not None:
            return given, self.to
        if isinstance(given, str):
            raise SettingError(
                "A similarity needs two texts, and only one is given.",
                "Give the other: explain(text, classifier, pair=other), or"
                " from_embedding(encoder, to=other) for all texts.",
            )
        if self.to is not None:
            raise SettingError(
                "This similarity compares with a fixed text, but a pair is given.",
                "Leave pair out, or make it without `to`.",
            )
        return given


def _embed(encoder: Any, tokenizer: Any) -> tuple[Embed, str]:
    """The function from texts to vectors, and what it is called."""
    if isinstance(encoder, str | os.PathLike):
        _check_pooling(Path(encoder))
        return _mean_pooled(encoder, tokenizer), os.fspath(encoder)
    if hasattr(encoder, "config") and hasattr(encoder, "get_input_embeddings"):
        if not hasattr(encoder, "encode"):
            called = encoder.config.name_or_path or type(encoder).__name__
            return _mean_pooled(encoder, tokenizer), str(called)
    if hasattr(encoder, "encode") and hasattr(encoder, "similarity"):  # a SentenceTransformer
        return _SentenceTransformer(encoder), type(encoder).__name__
    if callable(encoder):
        return encoder, str(getattr(encoder, "__name__", type(encoder).__name__))
    raise SettingError(
        f"A {type(encoder).__name__} makes no embeddings that piste can ask for.",
        "Give a function from a list of texts to vectors, a SentenceTransformer, or an encoder of"
        " transformers.",
    )


def _mean_pooled(model: Any, tokenizer: Any) -> Embed:
    from piste.models.backends.mean_pooled import load_encoder  # torch

    return load_encoder(model, tokenizer)


@dataclass(frozen=True)
class _SentenceTransformer:
    """Its own way from texts to vectors."""

    model: Any

    def __call__(self, texts: list[str]) -> Any:
        return self.model.encode(texts, show_progress_bar=False, convert_to_numpy=True)


def _check_pooling(folder: Path) -> None:
    """Refuse a folder of sentence-transformers that makes its vectors in another way."""
    file = folder.expanduser() / "modules.json"
    if not file.is_file():
        return
    try:
        parts = json.loads(file.read_text(encoding="utf-8"))
        kinds = [str(part["type"]).rpartition(".")[2] for part in parts]
        pooling = next(part for part in parts if str(part["type"]).endswith("Pooling"))
        path = file.parent / str(pooling["path"]) / "config.json"
        modes = json.loads(path.read_text(encoding="utf-8"))
        used = [name for name, on in modes.items() if name.startswith("pooling_mode") and on]
        means = used == ["pooling_mode_mean_tokens"] or modes.get("pooling_mode") == "mean"
    except (OSError, ValueError, LookupError, TypeError, StopIteration, AttributeError) as error:
        raise ModelError(
            f"Cannot tell how {str(folder)!r} makes one vector of its tokens: {error}.", PASS_OBJECT
        ) from error
    if not means or not set(kinds) <= set(POOLED):
        raise ModelError(
            f"{str(folder)!r} does not average its tokens ({', '.join(kinds)}).", PASS_OBJECT
        )


PASS_OBJECT = (
    "Load it with sentence-transformers, and pass from_embedding(SentenceTransformer(...))."
)


def _as_vectors(given: Any, count: int) -> FloatArray:
    """What the encoder returned, as an array [texts, width]."""
    if hasattr(given, "detach"):  # a torch tensor, without importing torch
        given = given.detach().cpu().double()
    try:
        vectors = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise OutputError(
            f"The encoder returned something that is not numbers: {error}.",
            "Return an array of vectors: [texts, width].",
        ) from error
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
        raise OutputError(
            f"The encoder was given {several(count, 'text')} and returned shape {vectors.shape}.",
            f"Return one vector per text: shape ({count}, width).",
        )
    return vectors


def _unit(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1; those of length 0 stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
