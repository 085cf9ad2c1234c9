"""What every pretrained model shares: its tokenizer, files, device, limits and labels."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoTokenizer

from piste.arrays import FloatArray, IntArray
from piste.errors import ModelError, choices, few
from piste.models import loading_errors
from piste.models.protocol import REPLACEMENTS, Outputs
from piste.text.encoding import BETWEEN, TYPE, Encoding, Frame
from piste.text.units import Span
from piste.threads import Switch, lock_for

ANY_TYPE = 2**16  # token types of a model that does not say how many it knows
# Left unsaid, transformers asks on standard input whether to run the model's own code.
NO_CODE: Mapping[str, bool] = {"trust_remote_code": False}


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
        with quiet:
            token = getattr(self.tokenizer, f"{name}_token_id")
        # A token that was added to the tokenizer alone means nothing to the model.
        unknown = token is not None and self.vocabulary is not None and token >= self.vocabulary
        return None if token is None or unknown else int(token)

    def show(self, ids: IntArray) -> str:
        """One sequence as readable text."""
        with lock_for(self.tokenizer):
            return str(self.tokenizer.decode(plain(ids).tolist()))

    def _types(self, encoded: Any) -> Sequence[int]:
        types = list(encoded.get("token_type_ids", ()))
        if self.types < 2 or not types:
            return [0] * len(encoded["input_ids"])
        check_types(types, self.types)
        return types


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer without offsets, or without words."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"The tokenizer {type(tokenizer).__name__} cannot tell where its tokens stand.",
            "Use the fast tokenizer of this model (tokenizer.json).",
        )
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        # transformers makes an empty tokenizer when it finds no files for one
        raise ModelError(
            f"The tokenizer of {tokenizer.name_or_path!r} knows no words.",
            "Put the model's tokenizer.json beside its weights, or pass load(model, tokenizer).",
        )


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
    return (
        f"{count:,} of {len(ids):,} tokens are unknown to the model: it reads each as"
        f" {tokenizer.unk_token}, and cannot tell them apart.",
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


def read(what: str, source: str, reader: Any) -> Any:
    """Call a `from_pretrained`, and say in one line what it could not find."""
    try:
        with quiet:
            return reader(source)
    except Exception as error:  # a damaged file fails in a way of its own in every reader
        raise loading_errors.loading_error(what, source, error) from error


def load_tokenizer(source: Any, code: Mapping[str, bool] = NO_CODE) -> Any:
    if not isinstance(source, str | os.PathLike):
        return source
    make = partial(AutoTokenizer.from_pretrained, **code)
    return read(loading_errors.TOKENIZER, str(source), make)


def given_tokenizer(tokenizer: Any, model: Any, code: Mapping[str, bool] = NO_CODE) -> Any:
    if tokenizer is not None:
        return load_tokenizer(tokenizer, code)
    if not model.config.name_or_path:
        raise ModelError(
            f"A model object ({type(model).__name__}) needs its tokenizer.",
            "Pass it too: tokenizer=...",
        )
    return load_tokenizer(model.config.name_or_path, code)


def devices() -> list[str]:
    """What torch can compute on here."""
    names = [f"cpu ({torch.get_num_threads()} threads)"]
    names += [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return names + (["mps"] if torch.backends.mps.is_available() else [])


def check_device(device: str | None) -> None:
    """Find out before anything is loaded whether the device is there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(
            f"Cannot use device {device!r}: {loading_errors.first_line(error)}.",
            'Give "cpu", or "cuda" or "mps" if you have it.',
        ) from error


def loading_type(device: str | None) -> Any:
    """Half precision is slow and coarse on a CPU; on an accelerator the checkpoint decides."""
    return torch.float32 if torch.device(device or "cpu").type == "cpu" else "auto"


def positions(model: Any) -> int | None:
    """How many positions the model has, less those that its padding scheme keeps for itself."""
    known = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(known, int) or known <= 0:
        return None
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            return known - (0 if module.padding_idx is None else module.padding_idx + 1)
    return known


def limit_of(model: Any, tokenizer: Any) -> int:
    """The longest sequence the model reads, special tokens included."""
    stated = int(tokenizer.model_max_length)
    return min(stated, positions(model) or stated)


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """One thread at a time, dropout off; a model in training comes back in training.

    Whoever changes a model for the time of a question does so inside of this.
    """
    with lock_for(model):
        training = [module for module in model.modules() if module.training]
        model.eval()
        try:
            yield
        finally:
            for module in training:
                module.training = True


def array(tensor: torch.Tensor) -> FloatArray:
    return np.asarray(tensor.detach().cpu().double().numpy(), dtype=np.float64)
