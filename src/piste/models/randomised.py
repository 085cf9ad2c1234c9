"""A model with the same architecture and randomised weights."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, cast

import torch

from piste.errors import SettingError
from piste.models.protocol import Classifier


def redrawn(classifier: Classifier, seed: int = 0) -> Classifier:
    """A copy whose every weight matrix is normal noise with the mean and spread it had.

    Biases and the scales of layer norms stay. The classifier itself is not touched.
    """
    origin: Any = getattr(classifier, "origin", classifier)  # what a compiled model was made from
    origin = getattr(origin, "torch", origin)  # loaded only now
    model = getattr(origin, "model", None)
    if not isinstance(model, torch.nn.Module) or not dataclasses.is_dataclass(origin):
        raise SettingError(
            f"The weights of {classifier.name!r} cannot be redrawn at random.",
            "Load the model itself with piste.load(), or leave the randomisation metric out.",
        )
    fresh = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in fresh.parameters():
            if weights.dim() > 1:
                noise = torch.randn(weights.shape, generator=generator).to(weights)
                weights.copy_(weights.mean() + weights.std() * noise)
    forgetful: Any = dataclasses.replace(origin, model=fresh)  # type: ignore[type-var]
    return cast(Classifier, forgetful)
