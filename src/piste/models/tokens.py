"""A Hugging Face tokenizer as piste uses it: ids with offsets, types and the frame around them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import transformers

from piste.arrays import IntArray
from piste.errors import choices
from piste.models import checks
from piste.models.protocol import REPLACEMENTS
from piste.text.encoding import BETWEEN, TYPE, Encoding, Frame, Span
from piste.threads import Switch, lock_for

ANY_TYPE = 2**16  # token types of a model that does not say how many it knows


@dataclass(frozen=True)
class Reader:
    """What turns texts into ids that a model can read."""

    tokenizer: Any  # PreTrainedTokenizerFast
    limit: int  # the longest sequence the model reads, special tokens included
    vocabulary: int | None = None  # how many ids the model knows, where that is known
    types: int = 0  # how many token types it knows; 0 and 1 alike: it takes none
    notice: str = ""  # something the user should know with every explanation

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """The whole text, or both texts of a pair, however long."""
        with quiet, lock_for(self.tokenizer):  # used twice at once, a fast tokenizer refuses
            encoded = self.tokenizer(text, pair, return_offsets_mapping=True)
        owners: list[int | None] = encoded.sequence_ids(0)
        body = [index for index, owner in enumerate(owners) if owner is not None]
        ids = encoded["input_ids"]
        checks.check_ids(ids, self.vocabulary)
        frame = _frame(ids, self._types(encoded), owners)
        kept = tuple(ids[index] for index in body)
        return Encoding(
            text=text if pair is None else text + BETWEEN + pair,
            ids=kept,
            spans=_spans(encoded["offset_mapping"], owners, len(text + BETWEEN)),
            keys=kept,
            frame=frame,
            notes=checks.unknown(kept, self.tokenizer) + ((self.notice,) if self.notice else ()),
            limit=max(0, self.limit - frame.size),
            second=None if pair is None else len(text + BETWEEN),
        )

    def token_id(self, name: str) -> int | None:
        """The id of the "unk", "mask" or "pad" token; None where the model has no such token."""
        if name not in REPLACEMENTS:
            raise choices("token", name, REPLACEMENTS)
        with quiet:
            found = getattr(self.tokenizer, f"{name}_token_id")
        # A token that was added to the tokenizer alone means nothing to the model.
        unknown = found is not None and self.vocabulary is not None and found >= self.vocabulary
        return None if found is None or unknown else int(found)

    def show(self, ids: IntArray) -> str:
        """One sequence as readable text."""
        with lock_for(self.tokenizer):
            return str(self.tokenizer.decode(plain(ids).tolist()))

    def _types(self, encoded: Any) -> Sequence[int]:
        types = list(encoded.get("token_type_ids", ()))
        if self.types < 2 or not types:
            return [0] * len(encoded["input_ids"])
        checks.check_types(types, self.types)
        return types


def plain(ids: IntArray) -> IntArray:
    """The ids without the types that travel in them."""
    return np.asarray(ids % TYPE)


def types_of(ids: IntArray) -> IntArray | None:
    """The types that travel in ids; None where all are 0, which models assume by themselves."""
    types = ids // TYPE
    return types if types.any() else None


def _spans(offsets: Sequence[Span], owners: Sequence[int | None], shift: int) -> tuple[Span, ...]:
    """Where each token of the text or texts stands; those of a second text come `shift` later."""
    return tuple(
        (start + shift * owner, end + shift * owner)
        for (start, end), owner in zip(offsets, owners, strict=True)
        if owner is not None
    )


def _frame(ids: Sequence[int], types: Sequence[int], owners: Sequence[int | None]) -> Frame:
    """The tokens around those of the text, and of a pair between them, with their types."""
    packed = [token + TYPE * kind for token, kind in zip(ids, types, strict=True)]
    places = [[i for i, owner in enumerate(owners) if owner == segment] for segment in (0, 1)]
    body = places[0] + places[1]
    if not body:
        return Frame(tuple(packed))
    between = packed[places[0][-1] + 1 : places[1][0]] if all(places) else []
    kinds = [types[place[0]] if place else 0 for place in places]
    return Frame(
        prefix=tuple(packed[: body[0]]),
        suffix=tuple(packed[body[-1] + 1 :]),
        between=tuple(between),
        types=(kinds[0], kinds[1]),
    )


def _without_notices() -> Callable[[], None]:
    """Turn the libraries' progress bars and notices off; returns what turns them on again."""
    settings, hub = transformers.utils.logging, logging.getLogger("huggingface_hub")
    verbosity, bars, level = settings.get_verbosity(), settings.is_progress_bar_enabled(), hub.level
    settings.set_verbosity(settings.CRITICAL)
    settings.disable_progress_bar()
    hub.setLevel(logging.CRITICAL)

    def restore() -> None:
        settings.set_verbosity(verbosity)
        hub.setLevel(level)
        if bars:
            settings.enable_progress_bar()

    return restore


quiet = Switch(_without_notices)
