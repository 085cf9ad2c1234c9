"""What every pretrained model shares: reading its files, its device, its limits, its labels."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from piste.arrays import FloatArray
from piste.errors import ModelError, few
from piste.models import checks, loading_errors
from piste.models.protocol import Outputs
from piste.models.tokens import quiet
from piste.threads import lock_for


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


# Left unsaid, transformers asks on standard input whether to run the model's own code.
NO_CODE: Mapping[str, bool] = {"trust_remote_code": False}


def load_tokenizer(source: Any, code: Mapping[str, bool] = NO_CODE) -> Any:
    if not isinstance(source, str | os.PathLike):
        return source
    make = partial(AutoTokenizer.from_pretrained, **code)
    return read(loading_errors.TOKENIZER, str(source), make)


def given_tokenizer(tokenizer: Any, model: Any, code: Mapping[str, bool] = NO_CODE) -> Any:
    if tokenizer is not None:
        return load_tokenizer(tokenizer, code)
    if not model.config.name_or_path:
        raise ModelError("A model object needs its tokenizer.", "Pass it too: tokenizer=...")
    return load_tokenizer(model.config.name_or_path, code)


def devices() -> list[str]:
    """What torch can compute on here."""
    found = [f"cpu ({torch.get_num_threads()} threads)"]
    found += [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return found + (["mps"] if torch.backends.mps.is_available() else [])


def check_device(device: str | None) -> None:
    """Find out before anything is loaded whether the device is there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(
            f"Cannot use device {device!r}: {checks.first_line(error)}.",
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
