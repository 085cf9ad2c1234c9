"""Embeddings of an encoder in torch: its last hidden states, averaged over the tokens."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoModel

from piste.arrays import FloatArray
from piste.errors import ModelError
from piste.models import loading_errors
from piste.models.backends.pretrained import (
    NO_CODE,
    array,
    check_tokenizer,
    evaluating,
    given_tokenizer,
    limit_of,
    load_tokenizer,
    quiet,
    read,
)
from piste.options import BATCH_TOKENS
from piste.threads import lock_for


@dataclass
class MeanPooled:
    """Texts -> vectors [texts, width]. Texts of equal length share a batch: nothing is padded."""

    model: Any
    tokenizer: Any
    limit: int

    def __call__(self, texts: list[str]) -> FloatArray:
        rows = [self._ids(text) for text in texts]
        vectors = np.zeros((len(rows), int(self.model.config.hidden_size)))
        lengths = np.array([len(row) for row in rows])
        for length in np.unique(lengths[lengths > 0]).tolist():
            places = np.flatnonzero(lengths == length)
            size = max(1, BATCH_TOKENS // length)
            for start in range(0, len(places), size):
                some = places[start : start + size]
                vectors[some] = self._means(np.array([rows[place] for place in some]))
        return vectors

    def remarks(self, text: str) -> tuple[str, ...]:
        """That this text is longer than the model reads, if it is."""
        with lock_for(self.tokenizer), quiet:
            if len(self.tokenizer(text)["input_ids"]) <= self.limit:
                return ()
        return (f"Texts of more than {self.limit} tokens were cut before they were embedded.",)

    def _ids(self, text: str) -> list[int]:
        with lock_for(self.tokenizer), quiet:
            ids: list[int] = self.tokenizer(text)["input_ids"]
            if len(ids) > self.limit:
                ids = self.tokenizer(text, truncation=True, max_length=self.limit)["input_ids"]
        return ids

    def _means(self, ids: Any) -> FloatArray:
        inputs = torch.from_numpy(ids).to(self.model.device)
        with torch.inference_mode(), evaluating(self.model):
            mask = torch.ones_like(inputs)
            states = self.model(input_ids=inputs, attention_mask=mask).last_hidden_state
        return array(states.mean(dim=1))


def load_encoder(model: Any, tokenizer: Any = None) -> MeanPooled:
    """The encoder behind `piste.from_embedding`: a name, a directory, or an object."""
    if isinstance(model, str | os.PathLike):
        source = loading_errors.model_source(os.fspath(model))
        make = partial(AutoModel.from_pretrained, dtype=torch.float32, weights_only=True, **NO_CODE)
        loaded = read(loading_errors.WEIGHTS, source, make)
        tokenizer = load_tokenizer(source if tokenizer is None else tokenizer)
    else:
        loaded = model
        tokenizer = given_tokenizer(tokenizer, loaded)
    check_tokenizer(tokenizer)
    encoder = loaded.get_encoder() if loaded.config.is_encoder_decoder else loaded
    if not isinstance(encoder, transformers.PreTrainedModel) or not hasattr(
        encoder.config, "hidden_size"
    ):
        raise ModelError(
            f"A {type(encoder).__name__} has no hidden states to average.",
            "Give an encoder (AutoModel), or a function from texts to vectors.",
        )
    return MeanPooled(encoder, tokenizer, limit_of(encoder, tokenizer))
