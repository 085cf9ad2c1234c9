"""From texts to ids and back, and what the outputs of a pretrained model mean: without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from piste.arrays import IntArray
from piste.errors import ModelError, choices, few, several
from piste.models.protocol import REPLACEMENTS, Outputs
from piste.text.encoding import BETWEEN, TYPE, UNTOLD, Encoding, Frame
from piste.text.units import Span
from piste.threads import lock_for

ANY_TYPE = 2**16  # token types of a model that does not say how many it knows


@dataclass(frozen=True)
class Reader:
    """What turns texts into ids that a model can read."""

    tokenizer: Any  # TokenizerFile, or a PreTrainedTokenizerFast
    limit: int  # the longest sequence the model reads, special tokens included
    vocabulary: int | None = None  # how many ids the model knows, where that is known
    types: int = 0  # how many token types it knows; 0 and 1 alike: it takes none
    notice: str = ""  # something the user should know with every explanation

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """The whole text, or both texts of a pair, however long."""
        encoded = self._encoded(text, pair)
        owners: list[int | None] = encoded.sequence_ids(0)
        body = [index for index, owner in enumerate(owners) if owner is not None]
        ids = encoded["input_ids"]
        check_ids(ids, self.vocabulary)
        frame = _frame(ids, self._types(encoded), owners)
        kept = tuple(ids[index] for index in body)
        return Encoding(
            text=text if pair is None else text + BETWEEN + pair,
            ids=kept,
            spans=_spans(encoded["offset_mapping"], owners, len(text + BETWEEN)),
            keys=kept,
            frame=frame,
            notes=unknown(kept, self.tokenizer) + ((self.notice,) if self.notice else ()),
            limit=max(0, self.limit - frame.size),
            second=None if pair is None else len(text + BETWEEN),
        )

    def token_id(self, name: str) -> int | None:
        """The id of the "unk", "mask" or "pad" token; None where the model has no such token."""
        if name not in REPLACEMENTS:
            raise choices("token", name, REPLACEMENTS)
        token = self._special(name)
        # A token that was added to the tokenizer alone means nothing to the model.
        unknown = token is not None and self.vocabulary is not None and token >= self.vocabulary
        return None if token is None or unknown else int(token)

    def show(self, ids: IntArray) -> str:
        """One sequence as readable text."""
        with lock_for(self.tokenizer):
            return str(self.tokenizer.decode(plain(ids).tolist()))

    def _encoded(self, text: str, pair: str | None) -> Any:
        with lock_for(self.tokenizer):  # used twice at once, a fast tokenizer refuses
            return self.tokenizer(text, pair, return_offsets_mapping=True)

    def _special(self, name: str) -> int | None:
        token: int | None = getattr(self.tokenizer, f"{name}_token_id")
        return token

    def _types(self, encoded: Any) -> Sequence[int]:
        types = list(encoded.get("token_type_ids", ()))
        if self.types < 2 or not types:
            return [0] * len(encoded["input_ids"])
        check_types(types, self.types)
        return types


def check_types(types: Sequence[int], known: int) -> None:
    """Refuse token types that the model has no embedding for."""
    if max(types, default=0) >= known:
        raise ModelError(
            f"The tokenizer gives token type {max(types)}, but the model knows only {known}.",
            "They do not belong together: pass the tokenizer the model was trained with.",
        )


def check_ids(ids: Sequence[int], known: int | None) -> None:
    """Refuse ids that the model has no embedding for."""
    if known is not None and max(ids, default=0) >= known:
        raise ModelError(
            f"The tokenizer gives id {max(ids)}, but the model knows only {known} tokens.",
            "They do not belong together: pass the tokenizer the model was trained with.",
        )


def unknown(ids: tuple[int, ...], tokenizer: Any) -> tuple[str, ...]:
    """The note on tokens that the model cannot tell apart."""
    count = ids.count(tokenizer.unk_token_id)
    if not count:
        return ()
    many = UNTOLD if 2 * count > len(ids) else ""
    are = "is" if count == 1 else "are"
    return (
        f"{count:,} of {several(len(ids), 'token')} {are} unknown to the model: it reads each as"
        f" {tokenizer.unk_token} and cannot tell them apart.{many}",
    )


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


def labels_of(config: Any) -> tuple[str, ...]:
    """The names of the outputs, in their order. Keys of `id2label` may be numbers or their text."""
    names = {str(key): str(name) for key, name in config.id2label.items()}
    missing = [index for index in range(len(names)) if str(index) not in names]
    if missing:
        raise ModelError(
            f"The configuration's id2label has no name for output {missing[0]}: it names"
            f" {few(list(config.id2label), 12)}.",
            f"Number its {len(names)} labels from 0 to {len(names) - 1}.",
        )
    return tuple(names[str(index)] for index in range(len(names)))


def outputs_of(config: Any) -> Outputs:
    """What a classifier's outputs mean."""
    if config.problem_type == "multi_label_classification":
        return "labels"
    is_regression = config.num_labels == 1 or config.problem_type == "regression"
    return "raw" if is_regression else "classes"
