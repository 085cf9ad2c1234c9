"""What a language model says may come next; a beginning that sequences share is read once."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

TOGETHER = 2048  # tokens at once where keys and values are kept: they take memory in every layer
SHORTEST = 8  # a beginning of fewer tokens is not worth two passes
NEAR = {torch.float32: 1e-3, torch.float64: 1e-3}  # log-probabilities that are the same
NEAR_IN_HALF = 0.1  # as much as another batch may change them in half precision


@dataclass
class NextTokens:
    """A causal language model and the tokens that its sequences usually begin with.

    Nothing is kept between calls: the weights may change. Models that keep something else than the
    keys and values of every token, or answer otherwise from them, are asked in full.
    """

    model: Any  # PreTrainedModel
    beginning: tuple[int, ...]
    shares: bool | None = None  # whether the beginning can be read once; None: not tried yet

    def log_probabilities(self, ids: torch.Tensor, places: int) -> torch.Tensor:
        """For sequences [rows, tokens]: of every token after each of the last places.

        That is [rows, places, vocabulary].
        """
        if not self._worth(ids, places):
            return self._in_full(ids, places)
        if self.shares is None:
            self.shares = self._same(ids[:2], places)
        return self._from_beginning(ids, places) if self.shares else self._in_full(ids, places)

    def _worth(self, ids: torch.Tensor, places: int) -> bool:
        length = len(self.beginning)
        if len(ids) < 2 or length < SHORTEST or ids.shape[1] - length < places:
            return False
        return bool((ids[:, :length] == self._start(ids)).all())

    def _same(self, ids: torch.Tensor, places: int) -> bool:
        """Whether both ways lead to the same answer, tried once."""
        try:
            short, full = self._from_beginning(ids, places), self._in_full(ids, places)
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            return False
        return bool((short - full).abs().max() <= NEAR.get(self.model.dtype, NEAR_IN_HALF))

    def _in_full(self, ids: torch.Tensor, places: int) -> torch.Tensor:
        return self._call(ids, torch.ones_like(ids), places, use_cache=False)[0]

    def _from_beginning(self, ids: torch.Tensor, places: int) -> torch.Tensor:
        start = self._start(ids)
        _, kept = self._call(start, torch.ones_like(start), 1, use_cache=True)
        if not _is_plain(kept):
            raise TypeError("the model keeps something other than keys and values")
        parts = []
        for rows in torch.split(ids, max(1, TOGETHER // ids.shape[1])):
            rest, mask = rows[:, start.shape[1] :], torch.ones_like(rows)
            past = _repeated(kept, len(rows))
            logits, _ = self._call(rest, mask, places, use_cache=True, past_key_values=past)
            parts.append(logits)
        return torch.cat(parts)

    def _call(
        self, ids: torch.Tensor, mask: torch.Tensor, places: int, **settings: Any
    ) -> tuple[torch.Tensor, Any]:
        # Where the model allows it, the other places' logits (vocabulary times) are not made.
        wanted = {"logits_to_keep": places, **settings}
        taken = {name: value for name, value in wanted.items() if name in self._takes}
        answer = self.model(input_ids=ids, attention_mask=mask, **taken)
        logits: torch.Tensor = answer.logits[:, -places:]
        logs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
        return logs, getattr(answer, "past_key_values", None)

    def _start(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.tensor([self.beginning], dtype=ids.dtype, device=ids.device)

    @cached_property
    def _takes(self) -> frozenset[str]:
        return frozenset(inspect.signature(self.model.forward).parameters)


def _is_plain(kept: Any) -> bool:
    """Keys and values of all tokens in every layer: no sliding window, no state of another kind."""
    return isinstance(kept, DynamicCache) and all(type(x) is DynamicLayer for x in kept.layers)


def _repeated(kept: DynamicCache, rows: int) -> DynamicCache:
    """The keys and values of one beginning for several sequences; the model adds to its own."""
    copy = DynamicCache()
    for index, layer in enumerate(kept.layers):
        shape = (rows, -1, -1, -1)
        copy.update(layer.keys.expand(shape), layer.values.expand(shape), index)
    return copy
