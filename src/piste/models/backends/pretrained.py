"""What every model in torch shares: its tokenizer, files, device and limits."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoTokenizer

from piste.arrays import FloatArray
from piste.errors import ModelError
from piste.models import loading_errors
from piste.models.backends.reading import Reader
from piste.models.hub import check_connection
from piste.threads import Switch, lock_for

# Left unsaid, transformers asks on standard input whether to run the model's own code.
NO_CODE: Mapping[str, bool] = {"trust_remote_code": False}


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


class QuietReader(Reader):
    """Reads with a tokenizer of transformers, which remarks on every long text."""

    def _encoded(self, text: str, pair: str | None) -> Any:
        with quiet:
            return super()._encoded(text, pair)

    def _special(self, name: str) -> int | None:
        with quiet:
            return super()._special(name)


def read(what: str, source: str, reader: Any) -> Any:
    """Call a `from_pretrained`, and say in one line what it could not find."""
    check_connection(source)
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


def named_tokenizer(model: str | os.PathLike[str]) -> Any:
    """The tokenizer of a model by its name or folder, as for `piste.load`."""
    return load_tokenizer(loading_errors.model_source(os.fspath(model)))


def given_tokenizer(tokenizer: Any, model: Any, code: Mapping[str, bool] = NO_CODE) -> Any:
    if tokenizer is not None:
        return load_tokenizer(tokenizer, code)
    if not model.config.name_or_path:
        raise ModelError(
            f"A model object ({type(model).__name__}) needs its tokenizer.",
            "Pass it too: piste.load(model, tokenizer).",
        )
    try:
        return load_tokenizer(model.config.name_or_path, code)
    except ModelError as error:
        raise ModelError(
            f"A model object ({type(model).__name__}) came without its tokenizer, and where the"
            f" model is from there is none: {error.cause}",
            "Pass it too: piste.load(model, tokenizer).",
        ) from error


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
